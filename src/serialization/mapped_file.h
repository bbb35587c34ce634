#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace edgefx::detail {

// A whole file in memory, mapped private and writable: a kernel that works in place on a mapped weight
// changes this process's copy of the page, never the file. Cutting the file short while it is mapped is fatal
// (SIGBUS); replacing it by rename is harmless.
class MappedFile {
 public:
  // Throws ParseError, naming the file and the system's reason, if it is no readable regular file.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::byte* mutableData() const { return data_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::byte* data, size_t size);

  std::string path_;
  std::byte* data_;
  size_t size_;
};

}  // namespace edgefx::detail

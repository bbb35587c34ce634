#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Writes an archive of stored records whose data start at multiples of 64 bytes, so that readers can map
// them. The same records give the same bytes: times are fixed, and zip64 structures appear only where sizes,
// offsets or counts need them.
//
// The archive grows in a temporary file beside `target` and takes its place in finish(); until then, and for
// good if finish() is never reached, an existing `target` stays as it was. So the records may be spans of a
// mapping of `target` itself. A symbolic link is followed. Failed system calls throw Error with the path and
// the reason; after one, the writer can only be destroyed.
class ZipWriter {
 public:
  // `root` is the folder that all records go under, empty for none.
  // Throws UsageError if `root` is more than one folder or unsafe, Error if `target` exists and is no regular
  // file or the temporary file cannot be made.
  explicit ZipWriter(std::filesystem::path target, std::string root = {});
  // Appends the archive to `*memory`, which must outlive the writer.
  ZipWriter(std::string* memory, std::string root);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  // `name` is without the root. Throws UsageError if it is unsafe, too long or was added before. Only small
  // payloads are copied. Returns the CRC-32 of the bytes. O(bytes.size()).
  uint32_t add(std::string_view name, std::span<const std::byte> bytes);

  // Throws UsageError when called twice or after a failure.
  void finish();

 private:
  void openRoot();
  void createTemporary();
  void put(std::string_view bytes);
  void flush();
  void writeAll(const char* data, size_t size);
  [[noreturn]] void ioFailure(std::string_view action, int code);
  void discard() noexcept;
  void requireOpen(std::string_view call) const;

  std::filesystem::path target_;
  std::string root_;
  std::filesystem::path temporary_;
  int fd_ = -1;
  std::string* memory_ = nullptr;  // null if a file is written
  std::string pending_;            // headers and small payloads not yet written
  uint64_t position_ = 0;          // end of the archive so far, pending_ included
  std::string directory_;          // encoded central directory
  std::set<std::string, std::less<>> names_;
};

}  // namespace edgefx::detail

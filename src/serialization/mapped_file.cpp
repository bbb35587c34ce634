#include "serialization/mapped_file.h"

#include <edgefx/support/error.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>
#include <utility>

namespace edgefx::detail {

namespace {

[[noreturn]] void cannotRead(const std::string& path, const std::string& reason) {
  Diagnostic diagnostic("cannot read: " + reason);
  diagnostic.file = path;
  throw ParseError(std::move(diagnostic));
}

[[noreturn]] void cannotReadErrno(const std::string& path, int code) {
  cannotRead(path, std::generic_category().message(code));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile::MappedFile(std::string path, std::byte* data, size_t size)
    : path_(std::move(path)), data_(data), size_(size) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  std::string name = path.string();
  // Without O_NONBLOCK, opening a FIFO would wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) cannotReadErrno(name, errno);

  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) cannotReadErrno(name, errno);
  if (S_ISDIR(status.st_mode)) cannotReadErrno(name, EISDIR);
  if (!S_ISREG(status.st_mode)) cannotRead(name, "not a regular file");
  const auto fileSize = static_cast<uint64_t>(status.st_size);
  if (fileSize > std::numeric_limits<size_t>::max()) cannotReadErrno(name, EFBIG);

  const auto size = static_cast<size_t>(fileSize);
  // The object exists before the mapping, so that no exception can leak the latter.
  std::shared_ptr<MappedFile> mapped(new MappedFile(std::move(name), nullptr, 0));
  if (size == 0) return mapped;  // mmap refuses empty ranges
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) cannotReadErrno(mapped->path_, errno);
  mapped->data_ = static_cast<std::byte*>(data);
  mapped->size_ = size;
  return mapped;
}

}  // namespace edgefx::detail

#include "serialization/zip_writer.h"

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "serialization/crc32.h"
#include "serialization/zip_format.h"
#include "support/fail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

namespace edgefx::detail {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPendingLimit = 256 * 1024;
constexpr size_t kCopiedPayload = 16 * 1024;  // above, a payload is written from where it lies

constexpr uint16_t kVersionBasic = 20;
constexpr uint16_t kVersionZip64 = 45;
constexpr uint16_t kDosTime = 0;
constexpr uint16_t kDosDate = 1 << 5 | 1;  // 1980-01-01, the earliest there is
constexpr uint16_t kMadeByUnix = 3 << 8;
constexpr uint32_t kRegularFile = 0100644u << 16;

struct EntrySizes {
  uint64_t headerOffset = 0;
  uint64_t size = 0;
  uint32_t crc = 0;

  bool isLarge() const { return size >= zip::kIn64; }
  bool isFar() const { return headerOffset >= zip::kIn64; }
  uint32_t shortSize() const { return isLarge() ? zip::kIn64 : static_cast<uint32_t>(size); }
  uint32_t shortOffset() const { return isFar() ? zip::kIn64 : static_cast<uint32_t>(headerOffset); }
};

// The part that local headers and directory entries have in common, up to the length of the name.
void appendShared(std::string& to, const EntrySizes& entry, std::string_view name) {
  // A name that is not UTF-8 comes from an archive with an older encoding and keeps its bytes.
  const uint16_t flags = isUtf8(name) ? zip::kFlagUtf8 : uint16_t{0};
  zip::append(to, entry.isLarge() || entry.isFar() ? kVersionZip64 : kVersionBasic);
  zip::append(to, flags);
  zip::append(to, zip::kMethodStored);
  zip::append(to, kDosTime);
  zip::append(to, kDosDate);
  zip::append(to, entry.crc);
  zip::append(to, entry.shortSize());
  zip::append(to, entry.shortSize());
  zip::append(to, static_cast<uint16_t>(name.size()));
}

std::string localHeader(const EntrySizes& entry, std::string_view name) {
  std::string extra;
  if (entry.isLarge()) {
    zip::append(extra, zip::kExtraZip64);
    zip::append(extra, uint16_t{16});
    zip::append(extra, entry.size);
    zip::append(extra, entry.size);
  }
  const uint64_t unpadded = entry.headerOffset + zip::kLocalHeaderSize + name.size() + extra.size() + 4;
  const size_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  zip::append(extra, zip::kExtraPadding);
  zip::append(extra, static_cast<uint16_t>(padding));
  extra.append(padding, 'Z');

  std::string header;
  zip::append(header, zip::kLocalHeaderSignature);
  appendShared(header, entry, name);
  zip::append(header, static_cast<uint16_t>(extra.size()));
  header.append(name).append(extra);
  return header;
}

void appendDirectoryEntry(std::string& to, const EntrySizes& entry, std::string_view name) {
  std::string extra;
  if (entry.isLarge() || entry.isFar()) {
    zip::append(extra, zip::kExtraZip64);
    zip::append(extra, static_cast<uint16_t>((entry.isLarge() ? 16 : 0) + (entry.isFar() ? 8 : 0)));
    if (entry.isLarge()) {
      zip::append(extra, entry.size);
      zip::append(extra, entry.size);
    }
    if (entry.isFar()) zip::append(extra, entry.headerOffset);
  }
  zip::append(to, zip::kDirectoryEntrySignature);
  zip::append(to, static_cast<uint16_t>(kMadeByUnix | kVersionZip64));
  appendShared(to, entry, name);
  zip::append(to, static_cast<uint16_t>(extra.size()));
  zip::append(to, uint16_t{0});  // comment
  zip::append(to, uint16_t{0});  // disk
  zip::append(to, uint16_t{0});  // internal attributes
  zip::append(to, kRegularFile);
  zip::append(to, entry.shortOffset());
  to.append(name).append(extra);
}

std::string endRecords(uint64_t count, uint64_t size, uint64_t offset) {
  std::string end;
  if (count >= zip::kIn64Short || size >= zip::kIn64 || offset >= zip::kIn64) {
    zip::append(end, zip::kZip64EndSignature);
    zip::append(end, uint64_t{zip::kZip64EndSize - 12});
    zip::append(end, static_cast<uint16_t>(kMadeByUnix | kVersionZip64));
    zip::append(end, kVersionZip64);
    zip::append(end, uint32_t{0});  // this disk
    zip::append(end, uint32_t{0});  // disk of the directory
    zip::append(end, count);
    zip::append(end, count);
    zip::append(end, size);
    zip::append(end, offset);
    zip::append(end, zip::kZip64LocatorSignature);
    zip::append(end, uint32_t{0});
    zip::append(end, offset + size);
    zip::append(end, uint32_t{1});  // disks
  }
  const auto shortCount = static_cast<uint16_t>(std::min<uint64_t>(count, zip::kIn64Short));
  zip::append(end, zip::kEndSignature);
  zip::append(end, uint16_t{0});
  zip::append(end, uint16_t{0});
  zip::append(end, shortCount);
  zip::append(end, shortCount);
  zip::append(end, static_cast<uint32_t>(std::min<uint64_t>(size, zip::kIn64)));
  zip::append(end, static_cast<uint32_t>(std::min<uint64_t>(offset, zip::kIn64)));
  zip::append(end, uint16_t{0});  // comment
  return end;
}

[[noreturn]] void cannotWrite(const std::filesystem::path& target, std::string_view action,
                              std::string_view reason) {
  Diagnostic diagnostic(fmt::format("cannot {}: {}", action, reason));
  diagnostic.file = target.string();
  throw Error(std::move(diagnostic));
}

}  // namespace

ZipWriter::ZipWriter(std::filesystem::path target, std::string root)
    : target_(std::move(target)), root_(std::move(root)) {
  openRoot();
  createTemporary();
}

ZipWriter::ZipWriter(std::string* memory, std::string root) : root_(std::move(root)), memory_(memory) {
  openRoot();
}

void ZipWriter::openRoot() {
  if (root_.empty()) return;
  const std::string_view fault = zip::nameFault(root_);
  if (!fault.empty()) fail<UsageError>("root folder '{}' {}", printable(root_), fault);
  if (root_.find('/') != std::string::npos) {
    fail<UsageError>("root folder '{}' is more than one folder", printable(root_));
  }
  root_ += '/';
}

ZipWriter::~ZipWriter() {
  discard();
}

void ZipWriter::createTemporary() {
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(target_, code);
  const bool exists = std::filesystem::exists(status);
  // Renaming over a device or a FIFO would replace it.
  if (exists && !std::filesystem::is_regular_file(status))
    cannotWrite(target_, "write", "not a regular file");
  if (!target_.has_filename()) cannotWrite(target_, "write", "not the name of a file");
  if (exists) target_ = std::filesystem::canonical(target_, code);
  if (code && exists) cannotWrite(target_, "write", code.message());

  // The name needs no secrecy, only to be unused, which O_EXCL ensures.
  static std::atomic<uint64_t> counter{0};
  constexpr int kAttempts = 100;
  int reason = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto ticks = std::chrono::steady_clock::now().time_since_epoch().count();
    std::filesystem::path candidate = target_;
    candidate.replace_filename(fmt::format(".edgefx-{}-{}-{}.tmp", ::getpid(), counter++, ticks));
    fd_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) {
      temporary_ = std::move(candidate);
      break;
    }
    reason = errno;
    if (reason != EEXIST) break;
  }
  if (fd_ < 0) {
    cannotWrite(target_, "create a temporary file beside it", std::generic_category().message(reason));
  }
  if (exists) {
    // Best effort: a file system may not know permissions.
    const auto mode = static_cast<mode_t>(status.permissions() & std::filesystem::perms::all);
    static_cast<void>(::fchmod(fd_, mode));
  }
}

uint32_t ZipWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  requireOpen("add");
  const std::string_view fault = zip::nameFault(name);
  if (!fault.empty()) fail<UsageError>("record name '{}' {}", printable(name), fault);
  if (name.back() == '/') fail<UsageError>("record name '{}' names a folder", printable(name));
  std::string fullName = root_ + std::string(name);
  if (fullName.size() > std::numeric_limits<uint16_t>::max()) {
    fail<UsageError>("record name '{}' is longer than the 65535 bytes of the format", printable(name));
  }
  const auto [stored, isNew] = names_.insert(std::move(fullName));
  if (!isNew) fail<UsageError>("record '{}' was added before", printable(name));

  const EntrySizes entry{position_, bytes.size(), crc32Of(bytes)};
  put(localHeader(entry, *stored));
  const std::string_view payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (payload.size() <= kCopiedPayload) {
    put(payload);
  } else {
    flush();
    writeAll(payload.data(), payload.size());
    position_ += payload.size();
  }
  appendDirectoryEntry(directory_, entry, *stored);
  return entry.crc;
}

void ZipWriter::finish() {
  requireOpen("finish");
  const uint64_t directoryOffset = position_;
  flush();
  writeAll(directory_.data(), directory_.size());
  put(endRecords(names_.size(), directory_.size(), directoryOffset));
  flush();
  if (memory_ != nullptr) {
    memory_ = nullptr;
    return;
  }
  // The descriptor is gone even if close fails.
  if (::close(std::exchange(fd_, -1)) != 0) ioFailure("write", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) ioFailure("rename the temporary file to it", errno);
  temporary_.clear();
}

void ZipWriter::put(std::string_view bytes) {
  pending_.append(bytes);
  position_ += bytes.size();
  if (pending_.size() >= kPendingLimit) flush();
}

void ZipWriter::flush() {
  writeAll(pending_.data(), pending_.size());
  pending_.clear();
}

void ZipWriter::writeAll(const char* data, size_t size) {
  if (memory_ != nullptr) {
    memory_->append(data, size);
    return;
  }
  while (size > 0) {
    const ssize_t written = ::write(fd_, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ioFailure("write", written < 0 ? errno : EIO);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void ZipWriter::ioFailure(std::string_view action, int code) {
  discard();
  cannotWrite(target_, action, std::generic_category().message(code));
}

void ZipWriter::discard() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void ZipWriter::requireOpen(std::string_view call) const {
  if (fd_ < 0 && memory_ == nullptr) fail<UsageError>("{} on an archive that is finished or failed", call);
}

}  // namespace edgefx::detail

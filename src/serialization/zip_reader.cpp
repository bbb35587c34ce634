#include "serialization/zip_reader.h"

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "serialization/crc32.h"
#include "serialization/zip_format.h"
#include "support/fail.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace edgefx::detail {

namespace {

using Bytes = std::span<const std::byte>;

// Deflate gives at most 258 bytes for two bits.
constexpr uint64_t kMaxDeflateRatio = 1032;

[[noreturn]] void refuse(const std::string& file, const std::string& outerRecord, std::string_view name,
                         std::string message) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.file = printable(file);
  diagnostic.record = outerRecord;
  if (!outerRecord.empty() && !name.empty()) diagnostic.record += '/';
  diagnostic.record += printable(name);
  throw ParseError(std::move(diagnostic));
}

struct Directory {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t count = 0;
  uint64_t end = 0;  // where the end records begin
};

struct Entry {
  ZipRecord record;
  uint64_t headerOffset = 0;
  uint16_t method = 0;
};

// The content of the extra field block `id`, if `extra` is well formed up to it.
std::optional<Bytes> findExtra(Bytes extra, uint16_t id) {
  while (extra.size() >= 4) {
    const size_t length = zip::load<uint16_t>(extra.data() + 2);
    if (length > extra.size() - 4) return std::nullopt;
    if (zip::load<uint16_t>(extra.data()) == id) return extra.subspan(4, length);
    extra = extra.subspan(4 + length);
  }
  return std::nullopt;
}

// Takes the 64-bit values of a zip64 extra field, which holds only those whose short field is all ones.
class Zip64Fields {
 public:
  explicit Zip64Fields(Bytes extra) : extra_(extra) {}

  // False if the value should be in the extra field and is not.
  bool resolve(uint64_t& value) {
    if (value != zip::kIn64) return true;
    return take(value);
  }

 private:
  bool take(uint64_t& value) {
    if (!isFound_) {
      rest_ = findExtra(extra_, zip::kExtraZip64).value_or(Bytes());
      isFound_ = true;
    }
    if (rest_.size() < sizeof(uint64_t)) return false;
    value = zip::load<uint64_t>(rest_.data());
    rest_ = rest_.subspan(sizeof(uint64_t));
    return true;
  }

  Bytes extra_;
  Bytes rest_;
  bool isFound_ = false;
};

class DirectoryParser {
 public:
  DirectoryParser(Bytes bytes, const std::string& file, const std::string& outerRecord)
      : bytes_(bytes), file_(file), outerRecord_(outerRecord) {}

  std::vector<ZipRecord> parse() {
    directory_ = findDirectory();
    parseEntries();
    checkLocalHeaders();

    std::vector<ZipRecord> records;
    records.reserve(entries_.size());
    for (Entry& entry : entries_) records.push_back(std::move(entry.record));
    return records;
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuseArchive(fmt::format_string<Args...> format, Args&&... args) const {
    refuse(file_, outerRecord_, {}, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename... Args>
  [[noreturn]] void refuseRecord(std::string_view name, fmt::format_string<Args...> format,
                                 Args&&... args) const {
    refuse(file_, outerRecord_, name, fmt::format(format, std::forward<Args>(args)...));
  }

  [[noreturn]] void refuseTruncated(std::string_view reason) const {
    refuseArchive("not a zip file or truncated ({} bytes): {}", bytes_.size(), reason);
  }

  // The last place where an end record fits exactly. Archives nest, so signatures before it prove nothing.
  uint64_t findEndRecord() const {
    if (bytes_.size() < zip::kEndSize) refuseTruncated("no room for the end of the central directory");
    const uint64_t last = bytes_.size() - zip::kEndSize;
    const uint64_t first = last - std::min<uint64_t>(last, std::numeric_limits<uint16_t>::max());
    for (uint64_t at = last + 1; at-- > first;) {
      const std::byte* record = bytes_.data() + at;
      if (zip::load<uint32_t>(record) != zip::kEndSignature) continue;
      if (zip::load<uint16_t>(record + 20) == last - at) return at;
    }
    refuseTruncated("no end of the central directory");
  }

  Directory findDirectory() const {
    const uint64_t endAt = findEndRecord();
    const std::byte* end = bytes_.data() + endAt;
    const auto disk = zip::load<uint16_t>(end + 4);
    const auto directoryDisk = zip::load<uint16_t>(end + 6);
    const auto countHere = zip::load<uint16_t>(end + 8);
    const auto count = zip::load<uint16_t>(end + 10);
    const auto size = zip::load<uint32_t>(end + 12);
    const auto offset = zip::load<uint32_t>(end + 16);

    Directory directory{offset, size, count, endAt};
    if (const std::optional<uint64_t> at = findZip64End(endAt)) {
      const std::byte* end64 = bytes_.data() + *at;
      const auto countHere64 = zip::load<uint64_t>(end64 + 24);
      directory = {zip::load<uint64_t>(end64 + 48), zip::load<uint64_t>(end64 + 40),
                   zip::load<uint64_t>(end64 + 32), *at};
      if (zip::load<uint32_t>(end64 + 16) != 0 || zip::load<uint32_t>(end64 + 20) != 0 ||
          countHere64 != directory.count) {
        refuseArchive("spans several disks, expected one file");
      }
      auto agrees = [](uint64_t shortField, uint64_t in64, uint64_t value) {
        return shortField == in64 || shortField == value;
      };
      if (!agrees(count, zip::kIn64Short, directory.count) || !agrees(size, zip::kIn64, directory.size) ||
          !agrees(countHere, zip::kIn64Short, directory.count) ||
          !agrees(offset, zip::kIn64, directory.offset)) {
        refuseArchive(
            "zip64 fields inconsistent: the end record says {} entries in {} bytes at offset {}, the zip64 "
            "end "
            "record {} in {} at {}",
            count, size, offset, directory.count, directory.size, directory.offset);
      }
      if ((disk != 0 && disk != zip::kIn64Short) ||
          (directoryDisk != 0 && directoryDisk != zip::kIn64Short)) {
        refuseArchive("spans several disks, expected one file");
      }
    } else if (disk != 0 || directoryDisk != 0 || countHere != count) {
      refuseArchive("spans several disks, expected one file");
    }

    if (directory.offset > directory.end || directory.size != directory.end - directory.offset) {
      refuseTruncated(
          fmt::format("central directory of {} bytes at offset {} does not end at the end record at {}",
                      directory.size, directory.offset, directory.end));
    }
    if (directory.count > directory.size / zip::kDirectoryEntrySize) {
      refuseArchive("central directory of {} bytes cannot hold the {} entries it declares", directory.size,
                    directory.count);
    }
    return directory;
  }

  std::optional<uint64_t> findZip64End(uint64_t endAt) const {
    if (endAt < zip::kZip64LocatorSize) return std::nullopt;
    const uint64_t locatorAt = endAt - zip::kZip64LocatorSize;
    const std::byte* locator = bytes_.data() + locatorAt;
    if (zip::load<uint32_t>(locator) != zip::kZip64LocatorSignature) return std::nullopt;
    if (zip::load<uint32_t>(locator + 4) != 0 || zip::load<uint32_t>(locator + 16) > 1) {
      refuseArchive("spans several disks, expected one file");
    }
    const auto at = zip::load<uint64_t>(locator + 8);
    if (locatorAt < zip::kZip64EndSize || at > locatorAt - zip::kZip64EndSize) {
      refuseArchive("zip64 fields inconsistent: zip64 end record at offset {}, its locator at {}", at,
                    locatorAt);
    }
    const std::byte* end64 = bytes_.data() + at;
    const auto size = zip::load<uint64_t>(end64 + 4);  // does not count itself and the signature
    if (zip::load<uint32_t>(end64) != zip::kZip64EndSignature || size != locatorAt - at - 12) {
      refuseArchive("zip64 fields inconsistent: no zip64 end record of the right size at offset {}", at);
    }
    return at;
  }

  void parseEntries() {
    entries_.reserve(directory_.count);
    uint64_t at = directory_.offset;
    for (uint64_t i = 0; i < directory_.count; ++i) at = parseEntry(i, at);
    if (at != directory_.end) {
      refuseArchive("central directory holds {} bytes after the {} entries it declares", directory_.end - at,
                    directory_.count);
    }
  }

  uint64_t parseEntry(uint64_t index, uint64_t at) {
    const uint64_t room = directory_.end - at;
    const std::byte* header = bytes_.data() + at;
    if (room < zip::kDirectoryEntrySize || zip::load<uint32_t>(header) != zip::kDirectoryEntrySignature) {
      refuseArchive("no central directory entry {} of {} at offset {}", index, directory_.count, at);
    }
    const size_t nameLength = zip::load<uint16_t>(header + 28);
    const size_t extraLength = zip::load<uint16_t>(header + 30);
    const size_t commentLength = zip::load<uint16_t>(header + 32);
    const size_t length = zip::kDirectoryEntrySize + nameLength + extraLength + commentLength;
    if (room < length) {
      refuseArchive("central directory entry {} at offset {} takes {} bytes, the directory has {} left",
                    index, at, length, room);
    }

    Entry entry;
    ZipRecord& record = entry.record;
    record.name.assign(reinterpret_cast<const char*>(header + zip::kDirectoryEntrySize), nameLength);
    record.crc = zip::load<uint32_t>(header + 16);
    record.storedSize = zip::load<uint32_t>(header + 20);
    record.size = zip::load<uint32_t>(header + 24);
    entry.headerOffset = zip::load<uint32_t>(header + 42);
    entry.method = zip::load<uint16_t>(header + 10);
    record.deflated = entry.method == zip::kMethodDeflated;

    Zip64Fields fields(bytes_.subspan(at + zip::kDirectoryEntrySize + nameLength, extraLength));
    const bool isComplete = fields.resolve(record.size) && fields.resolve(record.storedSize) &&
                            fields.resolve(entry.headerOffset);
    checkEntry(entry, zip::load<uint16_t>(header + 8), zip::load<uint16_t>(header + 34), isComplete);
    entries_.push_back(std::move(entry));
    return at + length;
  }

  void checkEntry(const Entry& entry, uint16_t flags, uint16_t disk, bool isComplete) const {
    const ZipRecord& record = entry.record;
    const std::string_view fault = zip::nameFault(record.name);
    if (!fault.empty()) refuseRecord(record.name, "the record's name {}", fault);
    if (!isComplete) refuseRecord(record.name, "zip64 fields inconsistent: sizes or offset missing");
    if (disk != 0 && disk != zip::kIn64Short) {
      refuseRecord(record.name, "lies on disk {}, expected one file", disk);
    }
    if (isEncrypted(flags)) refuseRecord(record.name, "the record is encrypted");
    if (entry.method != zip::kMethodStored && entry.method != zip::kMethodDeflated) {
      refuseRecord(record.name, "compression method {}, expected stored (0) or deflated (8)", entry.method);
    }
    if (!record.deflated && record.size != record.storedSize) {
      refuseRecord(record.name, "stored record of {} bytes in {}", record.size, record.storedSize);
    }
    if (record.deflated && record.size / kMaxDeflateRatio > record.storedSize) {
      refuseRecord(record.name, "declares {} bytes from {} deflated ones, more than deflate can give",
                   record.size, record.storedSize);
    }
    if (record.name.back() == '/' && record.size != 0) {
      refuseRecord(record.name, "names a folder and holds {} bytes", record.size);
    }
    if (entry.headerOffset >= directory_.offset) {
      refuseRecord(
          record.name,
          "entry points outside the file's records: local header at offset {}, central directory at {}, "
          "file of {} bytes",
          entry.headerOffset, directory_.offset, bytes_.size());
    }
  }

  static bool isEncrypted(uint16_t flags) {
    return (flags & (zip::kFlagEncrypted | zip::kFlagStrongEncryption | zip::kFlagMaskedHeaders)) != 0;
  }

  void checkLocalHeaders() {
    std::vector<uint32_t> order(entries_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return std::pair(entries_[a].headerOffset, a) < std::pair(entries_[b].headerOffset, b);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      const bool isLast = i + 1 == order.size();
      checkLocalHeader(entries_[order[i]], isLast ? directory_.offset : entries_[order[i + 1]].headerOffset);
    }
  }

  // `limit` is where the next record or the directory begins.
  void checkLocalHeader(Entry& entry, uint64_t limit) const {
    ZipRecord& record = entry.record;
    const uint64_t at = entry.headerOffset;
    const std::byte* header = bytes_.data() + at;
    // The signature is looked at only once its bytes are known to lie before the central directory.
    if (directory_.offset - at < zip::kLocalHeaderSize ||
        zip::load<uint32_t>(header) != zip::kLocalHeaderSignature) {
      refuseRecord(record.name, "local header missing at offset {} of a file of {} bytes", at, bytes_.size());
    }
    const size_t nameLength = zip::load<uint16_t>(header + 26);
    const size_t extraLength = zip::load<uint16_t>(header + 28);
    const uint64_t headerLength = zip::kLocalHeaderSize + nameLength + extraLength;
    const uint64_t space = limit - at;
    const uint64_t room = space - std::min(space, headerLength);
    if (headerLength > space || record.storedSize > room) {
      refuseRecord(
          record.name,
          "record of {} bytes at offset {} overlaps what follows: there is room for {} before offset {}",
          record.storedSize, at + headerLength, room, limit);
    }

    const std::string_view name(reinterpret_cast<const char*>(header + zip::kLocalHeaderSize), nameLength);
    if (name != record.name) {
      refuseRecord(record.name, "local header at offset {} names '{}'", at, printable(name));
    }
    const auto method = zip::load<uint16_t>(header + 8);
    if (method != entry.method) {
      refuseRecord(record.name, "local header has compression method {}, central directory {}", method,
                   entry.method);
    }
    const auto flags = zip::load<uint16_t>(header + 6);
    if (isEncrypted(flags)) refuseRecord(record.name, "the record is encrypted");
    // With a data descriptor the local sizes are commonly 0 and mean nothing.
    if ((flags & zip::kFlagDataDescriptor) == 0) {
      checkLocalSizes(record, header, bytes_.subspan(at + zip::kLocalHeaderSize + nameLength, extraLength));
    }
    record.offset = at + headerLength;
  }

  void checkLocalSizes(const ZipRecord& record, const std::byte* header, Bytes extra) const {
    uint64_t storedSize = zip::load<uint32_t>(header + 18);
    uint64_t size = zip::load<uint32_t>(header + 22);
    Zip64Fields fields(extra);
    if (!fields.resolve(size) || !fields.resolve(storedSize)) {
      refuseRecord(record.name, "zip64 fields inconsistent: sizes missing in the local header");
    }
    if (size != record.size || storedSize != record.storedSize) {
      refuseRecord(record.name, "local header says {} bytes in {}, central directory {} in {}", size,
                   storedSize, record.size, record.storedSize);
    }
  }

  Bytes bytes_;
  const std::string& file_;
  const std::string& outerRecord_;
  Directory directory_;
  std::vector<Entry> entries_;
};

class InflateStream {
 public:
  InflateStream() {
    constexpr int kRawDeflate = -15;
    if (::inflateInit2(&stream_, kRawDeflate) != Z_OK) fail<InternalError>("zlib cannot start inflating");
  }
  ~InflateStream() { ::inflateEnd(&stream_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;
  z_stream* operator->() { return &stream_; }
  int step() { return ::inflate(&stream_, Z_NO_FLUSH); }

 private:
  z_stream stream_ = {};
};

// Inflates `from` to exactly `size` bytes; on failure leaves why in `fault`.
std::vector<std::byte> inflateTo(Bytes from, uint64_t size, std::string& fault) {
  constexpr uint64_t kFirstBuffer = 64 * 1024;
  constexpr size_t kMostAtOnce = std::numeric_limits<uInt>::max();

  std::vector<std::byte> content(std::min(size, kFirstBuffer));
  size_t produced = 0;
  std::byte excess{};  // catches output beyond `size`
  InflateStream stream;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream->avail_in == 0) {
      const size_t piece = std::min(from.size(), kMostAtOnce);
      // zlib's interface predates const; it does not write to its input.
      stream->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
      stream->avail_in = static_cast<uInt>(piece);
      from = from.subspan(piece);
    }
    if (produced == content.size() && produced < size) {
      content.resize(std::min<uint64_t>(size, 2 * uint64_t{produced}));
    }
    const bool isFull = produced == content.size();
    const size_t room = isFull ? 1 : std::min(content.size() - produced, kMostAtOnce);
    stream->next_out = reinterpret_cast<Bytef*>(isFull ? &excess : content.data() + produced);
    stream->avail_out = static_cast<uInt>(room);

    status = stream.step();
    const size_t given = room - stream->avail_out;
    if (isFull && given != 0) {
      fault = fmt::format("inflates to more than the {} bytes declared", size);
      return {};
    }
    produced += isFull ? 0 : given;
    if (status == Z_BUF_ERROR || (status == Z_OK && given == 0 && stream->avail_in == 0 && from.empty())) {
      fault = fmt::format("deflated data ends early, after {} of {} bytes", produced, size);
      return {};
    }
    if (status != Z_OK && status != Z_STREAM_END) {
      fault =
          fmt::format("deflated data is damaged: {}", stream->msg != nullptr ? stream->msg : "unknown fault");
      return {};
    }
  }
  if (produced != size) {
    fault = fmt::format("inflates to {} bytes, {} were declared", produced, size);
  } else if (stream->avail_in != 0 || !from.empty()) {
    fault = fmt::format("{} bytes follow the deflated data", stream->avail_in + from.size());
  }
  return content;
}

}  // namespace

ZipReader::ZipReader(std::span<const std::byte> bytes, std::string file, std::string outerRecord)
    : bytes_(bytes), file_(std::move(file)), outerRecord_(std::move(outerRecord)) {
  records_ = DirectoryParser(bytes_, file_, outerRecord_).parse();
  std::erase_if(records_, [](const ZipRecord& record) { return record.name.back() == '/'; });

  byName_.resize(records_.size());
  std::iota(byName_.begin(), byName_.end(), 0u);
  std::sort(byName_.begin(), byName_.end(),
            [this](uint32_t a, uint32_t b) { return records_[a].name < records_[b].name; });
  for (size_t i = 1; i < byName_.size(); ++i) {
    const std::string& name = records_[byName_[i]].name;
    if (name == records_[byName_[i - 1]].name) refuse(file_, outerRecord_, name, "duplicate record name");
  }
}

const ZipRecord* ZipReader::find(std::string_view name) const {
  const auto at = std::lower_bound(
      byName_.begin(), byName_.end(), name,
      [this](uint32_t index, std::string_view key) { return std::string_view(records_[index].name) < key; });
  return at != byName_.end() && records_[*at].name == name ? &records_[*at] : nullptr;
}

const ZipRecord& ZipReader::record(std::string_view name, std::string_view neededBy) const {
  if (const ZipRecord* found = find(name)) return *found;
  refuse(file_, outerRecord_, {},
         fmt::format("missing record '{}', needed by {}", printable(name), printable(neededBy)));
}

RecordBytes ZipReader::read(const ZipRecord& record) const {
  const Bytes stored = bytes_.subspan(record.offset, record.storedSize);
  RecordBytes content(stored);
  if (record.deflated) {
    std::string fault;
    content = RecordBytes(inflateTo(stored, record.size, fault));
    if (!fault.empty()) refuse(file_, outerRecord_, record.name, std::move(fault));
  }
  const uint32_t crc = crc32Of(content.bytes());
  if (crc != record.crc) {
    refuse(file_, outerRecord_, record.name,
           fmt::format("checksum mismatch: expected CRC-32 {:08x}, found {:08x}", record.crc, crc));
  }
  return content;
}

void ZipReader::checkCrc(const ZipRecord& record) const {
  read(record);
}

std::span<const std::byte> ZipReader::mapped(const ZipRecord& record) const {
  if (record.deflated) fail<InternalError>("record '{}' is deflated and cannot be mapped", record.name);
  return bytes_.subspan(record.offset, record.storedSize);
}

}  // namespace edgefx::detail

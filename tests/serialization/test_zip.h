#pragma once

#include "serialization/crc32.h"
#include "serialization/expect_error.h"
#include "serialization/zip_format.h"

#include <zlib.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Archives made by hand, so that a test can get any field wrong.
namespace edgefx::test {

inline std::string deflate(std::string_view content) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct TestRecord {
  std::string name;
  std::string content = {};
  uint16_t method = 0;
  uint16_t flags = 0;
  bool hasDescriptor = false;  // sizes after the data instead of in the local header
  bool isZip64 = false;        // sizes and offset in zip64 extra fields
  bool lacksZip64Extra = false;
  uint16_t disk = 0;

  // In place of the true ones.
  std::optional<std::string> stored = {};  // bytes in the archive
  std::optional<std::string> localName = {};
  std::optional<uint16_t> localMethod = {};
  std::optional<uint64_t> size = {};  // in the directory
  std::optional<uint64_t> storedSize = {};
  std::optional<uint32_t> crc = {};
  std::optional<uint64_t> headerOffset = {};
};

struct TestZip {
  std::vector<TestRecord> records = {};
  std::string comment = {};
  bool hasZip64End = false;
  std::optional<uint64_t> zip64Count = {};
  std::optional<uint16_t> count = {};
  uint16_t disk = 0;

  std::string bytes() const {
    using namespace detail::zip;
    std::string out;
    std::string directory;
    for (const TestRecord& record : records) {
      const std::string stored =
          record.stored.value_or(record.method == kMethodDeflated ? deflate(record.content) : record.content);
      const uint32_t crc = record.crc.value_or(detail::crc32Of(asBytes(record.content)));
      const uint64_t offset = record.headerOffset.value_or(out.size());
      const uint16_t flags = record.flags | (record.hasDescriptor ? kFlagDataDescriptor : 0);
      const std::string localName = record.localName.value_or(record.name);
      std::string localExtra;
      if (record.isZip64) {
        append(localExtra, kExtraZip64);
        append(localExtra, uint16_t{16});
        append(localExtra, uint64_t{record.content.size()});
        append(localExtra, uint64_t{stored.size()});
      }
      auto shortSize = [&](size_t size) {
        return record.isZip64 ? kIn64 : record.hasDescriptor ? 0 : static_cast<uint32_t>(size);
      };
      append(out, kLocalHeaderSignature);
      append(out, uint16_t{20});
      append(out, flags);
      append(out, record.localMethod.value_or(record.method));
      append(out, uint32_t{0});
      append(out, record.hasDescriptor ? 0 : crc);
      append(out, shortSize(stored.size()));
      append(out, shortSize(record.content.size()));
      append(out, static_cast<uint16_t>(localName.size()));
      append(out, static_cast<uint16_t>(localExtra.size()));
      out += localName + localExtra + stored;
      if (record.hasDescriptor) {
        append(out, uint32_t{0x08074b50});
        append(out, crc);
        append(out, static_cast<uint32_t>(stored.size()));
        append(out, static_cast<uint32_t>(record.content.size()));
      }

      const uint64_t size = record.size.value_or(record.content.size());
      const uint64_t storedSize = record.storedSize.value_or(stored.size());
      std::string extra;
      if (record.isZip64 && !record.lacksZip64Extra) {
        append(extra, kExtraZip64);
        append(extra, uint16_t{24});
        append(extra, size);
        append(extra, storedSize);
        append(extra, offset);
      }
      append(directory, kDirectoryEntrySignature);
      append(directory, uint16_t{20});
      append(directory, uint16_t{20});
      append(directory, flags);
      append(directory, record.method);
      append(directory, uint32_t{0});
      append(directory, crc);
      append(directory, record.isZip64 ? kIn64 : static_cast<uint32_t>(storedSize));
      append(directory, record.isZip64 ? kIn64 : static_cast<uint32_t>(size));
      append(directory, static_cast<uint16_t>(record.name.size()));
      append(directory, static_cast<uint16_t>(extra.size()));
      append(directory, uint16_t{0});
      append(directory, record.disk);
      append(directory, uint16_t{0});
      append(directory, uint32_t{0});
      append(directory, record.isZip64 ? kIn64 : static_cast<uint32_t>(offset));
      directory += record.name + extra;
    }

    const uint64_t directoryOffset = out.size();
    out += directory;
    if (hasZip64End) {
      const uint64_t endOffset = out.size();
      append(out, kZip64EndSignature);
      append(out, uint64_t{44});
      append(out, uint16_t{45});
      append(out, uint16_t{45});
      append(out, uint64_t{0});  // both disks
      append(out, zip64Count.value_or(records.size()));
      append(out, zip64Count.value_or(records.size()));
      append(out, uint64_t{directory.size()});
      append(out, directoryOffset);
      append(out, kZip64LocatorSignature);
      append(out, uint32_t{0});
      append(out, endOffset);
      append(out, uint32_t{1});
    }
    const uint16_t shortCount = count.value_or(static_cast<uint16_t>(records.size()));
    append(out, kEndSignature);
    append(out, disk);
    append(out, disk);
    append(out, shortCount);
    append(out, shortCount);
    append(out, static_cast<uint32_t>(directory.size()));
    append(out, static_cast<uint32_t>(directoryOffset));
    append(out, static_cast<uint16_t>(comment.size()));
    return out + comment;
  }
};

}  // namespace edgefx::test

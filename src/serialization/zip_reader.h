#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::detail {

struct ZipRecord {
  std::string name;
  uint64_t offset = 0;      // of the stored bytes in the archive
  uint64_t storedSize = 0;  // bytes in the archive
  uint64_t size = 0;        // bytes of the content; equals storedSize unless deflated
  uint32_t crc = 0;         // CRC-32 of the content
  bool deflated = false;
};

// The content of a record: in place for a stored one, else in a buffer of its own.
class RecordBytes {
 public:
  explicit RecordBytes(std::span<const std::byte> inPlace) : inPlace_(inPlace) {}
  explicit RecordBytes(std::vector<std::byte> owned) : owned_(std::move(owned)), isOwned_(true) {}

  std::span<const std::byte> bytes() const {
    return isOwned_ ? std::span<const std::byte>(owned_) : inPlace_;
  }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes().data()), bytes().size()}; }
  bool isOwned() const { return isOwned_; }

 private:
  std::span<const std::byte> inPlace_;
  std::vector<std::byte> owned_;
  bool isOwned_ = false;
};

// Strict reader of a zip archive in memory, which must outlive it. Everything but the checksums is verified
// at construction, after which each record's bytes are known to lie in the archive and to overlap no others.
// Immutable, so safe to share between threads. All members that throw, throw ParseError.
class ZipReader {
 public:
  // `file` names the archive in errors. For an archive inside a record, `outerRecord` is that record's name
  // and goes before the inner names; `file` may then be empty for the caller to fill in. O(n log n) in the
  // records.
  explicit ZipReader(std::span<const std::byte> bytes, std::string file, std::string outerRecord = {});

  // In the order of the directory. Entries for folders are checked as all others and then left out.
  std::span<const ZipRecord> records() const { return records_; }

  const ZipRecord* find(std::string_view name) const;  // O(log n)
  // The one that must exist; `neededBy` says in the error who refers to it.
  const ZipRecord& record(std::string_view name, std::string_view neededBy) const;

  // The content, its checksum verified. Memory grows with what the compressed bytes really give.
  RecordBytes read(const ZipRecord& record) const;
  void checkCrc(const ZipRecord& record) const;
  // The bytes of a stored record where they lie, checksum not verified; InternalError for a deflated one.
  std::span<const std::byte> mapped(const ZipRecord& record) const;

 private:
  std::span<const std::byte> bytes_;
  std::string file_;
  std::string outerRecord_;
  std::vector<ZipRecord> records_;
  std::vector<uint32_t> byName_;  // indices of records_, sorted by name
};

}  // namespace edgefx::detail

#include "serialization/zip_reader.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/test_zip.h"
#include "serialization/zip_format.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

namespace edgefx::detail {
namespace {

using test::asBytes;
using test::asText;
using test::errorOf;
using test::TestRecord;
using test::TestZip;

std::string readerError(const std::string& bytes) {
  return errorOf<ParseError>([&] { ZipReader(asBytes(bytes), "m.pt2"); });
}

std::string readerError(const TestZip& zip) {
  return readerError(zip.bytes());
}

std::string recordError(TestRecord record) {
  return readerError(TestZip{.records = {std::move(record)}});
}

std::string readError(TestRecord record) {
  const std::string bytes = TestZip{.records = {std::move(record)}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  return errorOf<ParseError>([&] { reader.read(reader.records()[0]); });
}

TEST(ZipReader, ReadsStoredAndDeflatedRecords) {
  const std::string bytes =
      TestZip{.records = {{.name = "b/stored", .content = "plain"},
                          {.name = "a", .content = std::string(5000, 'x'), .method = 8}}}
          .bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  ASSERT_EQ(reader.records().size(), 2u);
  EXPECT_EQ(reader.records()[0].name, "b/stored");
  EXPECT_EQ(reader.records()[1].name, "a");

  const RecordBytes stored = reader.read(*reader.find("b/stored"));
  EXPECT_FALSE(stored.isOwned());
  EXPECT_EQ(stored.text(), "plain");
  EXPECT_EQ(stored.bytes().data(), reader.mapped(*reader.find("b/stored")).data());

  const RecordBytes inflated = reader.read(*reader.find("a"));
  EXPECT_TRUE(inflated.isOwned());
  EXPECT_EQ(inflated.text(), std::string(5000, 'x'));
  EXPECT_THROW(reader.mapped(*reader.find("a")), InternalError);
}

TEST(ZipReader, InflatesMoreThanItsFirstBuffer) {
  std::string content;
  for (int i = 0; i < 100'000; ++i) content += std::to_string(i * 7919);
  const std::string bytes = TestZip{.records = {{.name = "a", .content = content, .method = 8}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  EXPECT_EQ(reader.read(reader.records()[0]).text(), content);
}

TEST(ZipReader, ReadsEmptyArchivesRecordsAndDeflatedNothing) {
  const std::string none = TestZip{}.bytes();
  EXPECT_TRUE(ZipReader(asBytes(none), "m.pt2").records().empty());
  const std::string bytes =
      TestZip{.records = {{.name = "a"}, {.name = "b", .method = 8}, {.name = "c"}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  for (const ZipRecord& record : reader.records()) EXPECT_EQ(reader.read(record).text(), "");
}

TEST(ZipReader, TrustsTheDirectoryWhereSizesFollowTheData) {
  const std::string bytes =
      TestZip{
          .records = {{.name = "a", .content = "first", .hasDescriptor = true},
                      {.name = "b", .content = std::string(100, 'y'), .method = 8, .hasDescriptor = true}}}
          .bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  EXPECT_EQ(reader.read(*reader.find("a")).text(), "first");
  EXPECT_EQ(reader.read(*reader.find("b")).text(), std::string(100, 'y'));
}

TEST(ZipReader, ReadsZip64Fields) {
  const std::string bytes =
      TestZip{.records = {{.name = "x", .content = "before"},
                          {.name = "a", .content = "large in name only", .isZip64 = true}},
              .hasZip64End = true}
          .bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  EXPECT_EQ(reader.read(*reader.find("a")).text(), "large in name only");
}

TEST(ZipReader, TakesTheCountFromZip64WhereTheShortOneIsAllOnes) {
  const std::string bytes =
      TestZip{.records = {{.name = "a", .content = "x"}}, .hasZip64End = true, .count = 0xffff}.bytes();
  EXPECT_EQ(ZipReader(asBytes(bytes), "m.pt2").records().size(), 1u);
}

TEST(ZipReader, FindsTheOuterDirectoryWhenArchivesNest) {
  const std::string inner = TestZip{.records = {{.name = "inner", .content = "x"}}}.bytes();
  const std::string bytes = TestZip{.records = {{.name = "last", .content = inner}}, .comment = "hi"}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  ASSERT_EQ(reader.records().size(), 1u);
  EXPECT_EQ(reader.records()[0].name, "last");
  EXPECT_EQ(reader.read(reader.records()[0]).text(), inner);
}

TEST(ZipReader, LeavesFoldersOut) {
  const std::string bytes = TestZip{.records = {{.name = "m/"}, {.name = "m/a", .content = "x"}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  ASSERT_EQ(reader.records().size(), 1u);
  EXPECT_EQ(reader.records()[0].name, "m/a");
  EXPECT_NE(reader.find("m/a"), nullptr);
  EXPECT_EQ(reader.find("m/"), nullptr);
}

TEST(ZipReader, NamesTheMissingRecordAndWhoNeedsIt) {
  const std::string bytes = TestZip{.records = {{.name = "a", .content = "x"}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  EXPECT_EQ(&reader.record("a", "nobody"), reader.find("a"));
  EXPECT_EQ(errorOf<ParseError>([&] { reader.record("weight_7", "'fc.weight'"); }),
            "edgefx: file 'm.pt2': missing record 'weight_7', needed by 'fc.weight'");
}

TEST(ZipReader, NamesTheOuterRecordOfANestedArchive) {
  const std::string bytes = TestZip{.records = {{.name = "data/0", .content = "x", .crc = 1u}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2", "state_dict.pt");
  const std::string error = errorOf<ParseError>([&] { reader.read(reader.records()[0]); });
  EXPECT_MENTIONS(error, "file 'm.pt2', record 'state_dict.pt/data/0': checksum mismatch");
}

TEST(ZipReader, RefusesWhatIsNoZipFile) {
  EXPECT_MENTIONS(readerError(std::string()), "file 'm.pt2': not a zip file or truncated (0 bytes)");
  EXPECT_MENTIONS(readerError(std::string("PK\3\4")), "not a zip file or truncated (4 bytes)");
  EXPECT_MENTIONS(readerError(std::string(200'000, 'P')), "not a zip file or truncated (200000 bytes)");
}

TEST(ZipReader, RefusesEveryTruncation) {
  const std::string bytes =
      TestZip{.records = {{.name = "a", .content = "first"}, {.name = "b", .content = "second"}},
              .hasZip64End = true}
          .bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_MENTIONS(readerError(bytes.substr(0, size)), "not a zip file or truncated");
  }
}

TEST(ZipReader, RefusesATruncationThatEndsWithANestedArchive) {
  const std::string inner = TestZip{.records = {{.name = "inner", .content = "x"}}}.bytes();
  const std::string bytes = TestZip{.records = {{.name = "outer", .content = inner}}}.bytes();
  const size_t innerEnd = bytes.find(inner) + inner.size();
  EXPECT_MENTIONS(readerError(bytes.substr(0, innerEnd)), "not a zip file or truncated");
}

TEST(ZipReader, RefusesBytesAroundTheArchive) {
  const std::string bytes = TestZip{.records = {{.name = "a", .content = "x"}}}.bytes();
  EXPECT_MENTIONS(readerError(bytes + "x"), "not a zip file or truncated");
  EXPECT_MENTIONS(readerError("x" + bytes), "does not end at the end record");
}

TEST(ZipReader, SurvivesEverySingleByteChange) {
  const std::string good = TestZip{.records = {{.name = "a", .content = "first", .isZip64 = true},
                                               {.name = "b", .content = "second second", .method = 8}},
                                   .hasZip64End = true}
                               .bytes();
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      try {
        const ZipReader reader(asBytes(bad), "m.pt2");
        for (const ZipRecord& record : reader.records()) reader.read(record);
      } catch (const ParseError&) {
      }
    }
  }
}

TEST(ZipReader, RefusesADamagedRecordNamingBothChecksums) {
  const std::string bytes =
      TestZip{.records = {{.name = "w", .content = "123456789", .crc = 0xdeadbeef}}}.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  const std::string expected =
      "edgefx: file 'm.pt2', record 'w': checksum mismatch: expected CRC-32 deadbeef, found cbf43926";
  EXPECT_EQ(errorOf<ParseError>([&] { reader.read(reader.records()[0]); }), expected);
  EXPECT_EQ(errorOf<ParseError>([&] { reader.checkCrc(reader.records()[0]); }), expected);
  EXPECT_EQ(asText(reader.mapped(reader.records()[0])), "123456789");
}

TEST(ZipReader, RefusesAnEntryOutsideTheFile) {
  const std::string error = recordError({.name = "a", .content = "x", .headerOffset = 1u << 30});
  EXPECT_MENTIONS(error,
                  "record 'a': entry points outside the file's records: local header at offset 1073741824");
  EXPECT_MENTIONS(error, "file of 101 bytes");
}

TEST(ZipReader, RefusesAMissingLocalHeader) {
  EXPECT_MENTIONS(
      recordError({.name = "a", .content = "some content that is long enough", .headerOffset = 3}),
      "record 'a': local header missing at offset 3 of a file of");
}

TEST(ZipReader, RefusesALocalHeaderThatDiffers) {
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .localName = "b"}),
                  "record 'a': local header at offset 0 names 'b'");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .localMethod = uint16_t{8}}),
                  "record 'a': local header has compression method 8, central directory 0");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "xy", .size = 1, .storedSize = 1}),
                  "record 'a': local header says 2 bytes in 2, central directory 1 in 1");
}

TEST(ZipReader, RefusesARecordThatReachesIntoTheNext) {
  const TestZip zip{.records = {{.name = "a", .content = "1234", .size = 5, .storedSize = 5},
                                {.name = "b", .content = "neighbour"}}};
  EXPECT_MENTIONS(readerError(zip),
                  "record 'a': record of 5 bytes at offset 31 overlaps what follows: there is room for 4");
}

TEST(ZipReader, RefusesARecordThatReachesIntoTheDirectory) {
  EXPECT_MENTIONS(
      recordError({.name = "a", .content = "1234", .hasDescriptor = true, .size = 21, .storedSize = 21}),
      "record of 21 bytes at offset 31 overlaps what follows: there is room for 20");
  EXPECT_MENTIONS(
      recordError(
          {.name = "a", .content = "1234", .isZip64 = true, .size = UINT64_MAX, .storedSize = UINT64_MAX}),
      "record of 18446744073709551615 bytes");
}

TEST(ZipReader, RefusesTwoEntriesForOneRecord) {
  const TestZip zip{
      .records = {{.name = "a", .content = "x"}, {.name = "a", .content = "x", .headerOffset = 0}}};
  EXPECT_MENTIONS(readerError(zip), "record 'a': record of 1 bytes at offset 31 overlaps what follows");
}

TEST(ZipReader, RefusesDuplicateNames) {
  const TestZip zip{.records = {{.name = "a", .content = "x"}, {.name = "b"}, {.name = "a", .content = "y"}}};
  EXPECT_MENTIONS(readerError(zip), "record 'a': duplicate record name");
}

TEST(ZipReader, RefusesUnsafeNames) {
  EXPECT_MENTIONS(recordError({.name = ""}), "the record's name is empty");
  EXPECT_MENTIONS(recordError({.name = "/etc/passwd"}),
                  "record '/etc/passwd': the record's name is absolute");
  EXPECT_MENTIONS(recordError({.name = "a/../b"}), "the record's name holds a '..' component");
  EXPECT_MENTIONS(recordError({.name = ".."}), "the record's name holds a '..' component");
  EXPECT_MENTIONS(recordError({.name = "a\\b"}), "the record's name holds a backslash");
  EXPECT_MENTIONS(recordError({.name = std::string("a\0b", 3)}),
                  "record 'a\\x00b': the record's name holds a NUL");
  EXPECT_MENTIONS(recordError({.name = "folder/", .content = "x"}), "names a folder and holds 1 bytes");
  EXPECT_EQ(recordError({.name = "a/..b/c..", .content = "x"}), "no exception");
}

TEST(ZipReader, RefusesEncryptionAndOtherMethods) {
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .flags = 1}),
                  "record 'a': the record is encrypted");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .flags = 1 << 6}), "the record is encrypted");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .method = 12}),
                  "record 'a': compression method 12, expected stored (0) or deflated (8)");
}

TEST(ZipReader, RefusesInconsistentSizes) {
  EXPECT_MENTIONS(recordError({.name = "a", .content = "xy", .size = 3, .storedSize = 2}),
                  "record 'a': stored record of 3 bytes in 2");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .isZip64 = true, .lacksZip64Extra = true}),
                  "record 'a': zip64 fields inconsistent: sizes or offset missing");
}

TEST(ZipReader, RefusesInconsistentEndRecords) {
  const TestRecord record{.name = "a", .content = "x"};
  EXPECT_MENTIONS(readerError(TestZip{.records = {record}, .hasZip64End = true, .count = 2}),
                  "zip64 fields inconsistent: the end record says 2 entries");
  EXPECT_MENTIONS(readerError(TestZip{.records = {record}, .count = 0}),
                  "central directory holds 47 bytes after the 0 entries it declares");
  EXPECT_MENTIONS(readerError(TestZip{.records = {record}, .disk = 1}), "spans several disks");
  EXPECT_MENTIONS(recordError({.name = "a", .content = "x", .disk = 1}), "record 'a': lies on disk 1");
  std::string misplaced = TestZip{.records = {record}, .hasZip64End = true}.bytes();
  misplaced[misplaced.size() - zip::kEndSize - zip::kZip64LocatorSize + 8] ^= 1;
  EXPECT_MENTIONS(readerError(misplaced), "zip64 fields inconsistent: no zip64 end record");
}

TEST(ZipReader, RefusesCountsThatTheDirectoryCannotHold) {
  const TestZip zip{.records = {{.name = "a", .content = "x"}},
                    .hasZip64End = true,
                    .zip64Count = uint64_t{1} << 60,
                    .count = 0xffff};
  EXPECT_MENTIONS(readerError(zip), "cannot hold the 1152921504606846976 entries it declares");
}

TEST(ZipReader, RefusesDeflatedDataOfAnotherSize) {
  const std::string content(1000, 'x');
  auto record = [&](uint64_t declared) {
    return TestRecord{.name = "a", .content = content, .method = 8, .hasDescriptor = true, .size = declared};
  };
  EXPECT_MENTIONS(readError(record(999)), "record 'a': inflates to more than the 999 bytes declared");
  EXPECT_MENTIONS(readError(record(0)), "inflates to more than the 0 bytes declared");
  EXPECT_MENTIONS(readError(record(1001)), "inflates to 1000 bytes, 1001 were declared");
  EXPECT_MENTIONS(recordError(record(uint64_t{1} << 31)), "more than deflate can give");
}

TEST(ZipReader, RefusesDamagedDeflatedData) {
  const std::string content = "some words that deflate has to keep: 0123456789 abcdefghijklmnopqrstuvwxyz";
  const std::string deflated = test::deflate(content);
  auto record = [&](std::string stored) {
    return TestRecord{.name = "a", .content = content, .method = 8, .stored = std::move(stored)};
  };
  EXPECT_EQ(readError(record(deflated)), "no exception");
  EXPECT_MENTIONS(readError(record(deflated.substr(0, deflated.size() / 2))), "deflated data ends early");
  EXPECT_MENTIONS(readError(record(deflated + "more")), "4 bytes follow the deflated data");
  EXPECT_MENTIONS(readError(record("\x07" + deflated)), "deflated data is damaged: invalid block type");
}

TEST(ZipReader, OpensManyRecords) {
  TestZip zip{.hasZip64End = true, .zip64Count = 100'000, .count = 0xffff};
  for (int i = 0; i < 100'000; ++i) zip.records.push_back({.name = "r/" + std::to_string(i), .content = "x"});
  const std::string bytes = zip.bytes();
  const ZipReader reader(asBytes(bytes), "m.pt2");
  ASSERT_EQ(reader.records().size(), 100'000u);
  for (int i = 0; i < 100'000; i += 997) {
    EXPECT_EQ(reader.find("r/" + std::to_string(i)), &reader.records()[static_cast<size_t>(i)]);
  }
  EXPECT_EQ(reader.find("r/100000"), nullptr);
}

TEST(ZipReader, ReadsAnArchiveOfTorch) {
  const auto file = MappedFile::open(test::fixture("linear_atan_relu_core/program.pt2"));
  const ZipReader reader(file->bytes(), file->path());
  ASSERT_EQ(reader.records().size(), 11u);
  EXPECT_EQ(reader.records()[0].name, "program/data/weights/weight_0");
  EXPECT_EQ(reader.records()[0].size, 64u);
  EXPECT_EQ(reader.read(*reader.find("program/archive_format")).text(), "pt2");
  for (const ZipRecord& record : reader.records()) {
    EXPECT_NO_THROW(reader.checkCrc(record));
    EXPECT_EQ(record.offset % 64, 0u);
  }
}

TEST(ZipReader, ReadsAFlatFileOfTorch) {
  const auto file = MappedFile::open(test::fixture("torch-2.6/linear_atan_relu.pt2"));
  const ZipReader reader(file->bytes(), file->path());
  ASSERT_EQ(reader.records().size(), 5u);
  EXPECT_EQ(reader.records()[0].name, "serialized_exported_program.json");
  EXPECT_EQ(reader.read(*reader.find("version")).text(), "8.2");
  const RecordBytes inner = reader.read(*reader.find("serialized_state_dict.pt"));
  EXPECT_NE(ZipReader(inner.bytes(), file->path(), "serialized_state_dict.pt").find("archive/data.pkl"),
            nullptr);
}

}  // namespace
}  // namespace edgefx::detail

#include "serialization/zip_writer.h"

#include <edgefx/support/error.h>

#include "serialization/crc32.h"
#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/zip_format.h"
#include "serialization/zip_reader.h"
#include "support/test_data.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>

namespace edgefx::detail {
namespace {

using test::asBytes;
using test::errorOf;

size_t fileCount(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

std::string writeSample(const std::filesystem::path& path, const std::string& root = {}) {
  ZipWriter writer(path, root);
  writer.add("small", asBytes("abc"));
  writer.add("empty", {});
  writer.add("folder/large", asBytes(std::string(1'000'000, 'L')));
  writer.add("n\xc3\xa4me", asBytes("utf-8"));
  writer.finish();
  return test::readFile(path);
}

// Limits the size of files for as long as it lives, so that writing fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : oldHandler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, oldHandler_);
  }

 private:
  rlimit old_ = {};
  void (*oldHandler_)(int);
};

TEST(ZipWriter, WritesRecordsThatReadBackAligned) {
  test::TempDir dir;
  const std::string bytes = writeSample(dir / "a.pt2", "we ird.root");
  const ZipReader reader(asBytes(bytes), "a.pt2");
  ASSERT_EQ(reader.records().size(), 4u);
  EXPECT_EQ(reader.records()[0].name, "we ird.root/small");
  EXPECT_EQ(reader.records()[3].name, "we ird.root/n\xc3\xa4me");
  EXPECT_EQ(reader.read(reader.records()[0]).text(), "abc");
  EXPECT_EQ(reader.read(reader.records()[1]).text(), "");
  EXPECT_EQ(reader.read(reader.records()[2]).text(), std::string(1'000'000, 'L'));
  for (const ZipRecord& record : reader.records()) EXPECT_EQ(record.offset % 64, 0u) << record.name;
  EXPECT_EQ(fileCount(dir.path()), 1u);
}

TEST(ZipWriter, WritesTheSameBytesForTheSameRecords) {
  test::TempDir dir;
  EXPECT_EQ(writeSample(dir / "a.pt2"), writeSample(dir / "b.pt2"));
}

TEST(ZipWriter, PadsLikePyTorchAndPutsSizesInLocalHeaders) {
  test::TempDir dir;
  const std::string bytes = writeSample(dir / "a.pt2");
  const std::string extra = bytes.substr(30 + 5, 64 - 35);  // after the name "small"
  EXPECT_EQ(extra.substr(0, 4), std::string("FB\x19\0", 4));
  EXPECT_EQ(extra.substr(4), std::string(25, 'Z'));
  const std::byte* header = asBytes(bytes).data();
  EXPECT_EQ(zip::load<uint16_t>(header + 6), zip::kFlagUtf8);
  EXPECT_EQ(zip::load<uint16_t>(header + 12), 0x21);  // 1980-01-01
  EXPECT_EQ(zip::load<uint32_t>(header + 14), crc32Of(asBytes("abc")));
  EXPECT_EQ(zip::load<uint32_t>(header + 22), 3u);
}

TEST(ZipWriter, UsesZip64OnlyForManyRecords) {
  test::TempDir dir;
  auto write = [&](int count) {
    ZipWriter writer(dir / "a.pt2", "r");
    for (int i = 0; i < count; ++i) writer.add(std::to_string(i), asBytes("x"));
    writer.finish();
    const auto file = MappedFile::open(dir / "a.pt2");
    EXPECT_EQ(ZipReader(file->bytes(), "a.pt2").records().size(), static_cast<size_t>(count));
    const std::byte* end = file->bytes().data() + file->bytes().size() - zip::kEndSize;
    return zip::load<uint32_t>(end - zip::kZip64LocatorSize) == zip::kZip64LocatorSignature;
  };
  EXPECT_FALSE(write(65534));
  EXPECT_TRUE(write(65535));
  EXPECT_TRUE(write(70000));
}

TEST(ZipWriter, WritesAnEmptyArchive) {
  test::TempDir dir;
  ZipWriter(dir / "a.pt2").finish();
  const std::string bytes = test::readFile(dir / "a.pt2");
  EXPECT_TRUE(ZipReader(asBytes(bytes), "a.pt2").records().empty());
}

TEST(ZipWriter, KeepsNamesThatAreNotUtf8) {
  test::TempDir dir;
  ZipWriter writer(dir / "a.pt2");
  writer.add("caf\xe9", asBytes("x"));
  writer.finish();
  const std::string bytes = test::readFile(dir / "a.pt2");
  EXPECT_EQ(ZipReader(asBytes(bytes), "a.pt2").records()[0].name, "caf\xe9");
  EXPECT_EQ(zip::load<uint16_t>(asBytes(bytes).data() + 6), 0);
}

TEST(ZipWriter, RefusesUnsafeAndRepeatedNames) {
  test::TempDir dir;
  ZipWriter writer(dir / "a.pt2", "root");
  writer.add("a", asBytes("first"));
  auto addError = [&](std::string_view name) {
    return errorOf<UsageError>([&] { writer.add(name, asBytes("x")); });
  };
  EXPECT_EQ(addError("a"), "edgefx: record 'a' was added before");
  EXPECT_EQ(addError(""), "edgefx: record name '' is empty");
  EXPECT_EQ(addError("/a"), "edgefx: record name '/a' is absolute");
  EXPECT_EQ(addError("x/../y"), "edgefx: record name 'x/../y' holds a '..' component");
  EXPECT_EQ(addError("x\\y"), "edgefx: record name 'x\\y' holds a backslash");
  EXPECT_EQ(addError(std::string_view("x\0y", 3)), "edgefx: record name 'x\\x00y' holds a NUL");
  EXPECT_EQ(addError("x/"), "edgefx: record name 'x/' names a folder");
  EXPECT_MENTIONS(addError(std::string(65531, 'n')), "longer than the 65535 bytes");
  writer.add(std::string(65530, 'n'), asBytes("x"));  // 65535 with the root
  writer.finish();

  const std::string bytes = test::readFile(dir / "a.pt2");
  const ZipReader reader(asBytes(bytes), "a.pt2");
  ASSERT_EQ(reader.records().size(), 2u);
  EXPECT_EQ(reader.read(reader.records()[0]).text(), "first");
}

TEST(ZipWriter, RefusesUnsafeRoots) {
  test::TempDir dir;
  for (const char* root : {"..", "/", "a/b", "a\\b"}) {
    EXPECT_THROW(ZipWriter(dir / "a.pt2", root), UsageError) << root;
  }
  EXPECT_EQ(fileCount(dir.path()), 0u);
}

TEST(ZipWriter, LeavesNothingBehindWhenUnfinished) {
  test::TempDir dir;
  test::writeFile(dir / "a.pt2", "old");
  {
    ZipWriter writer(dir / "a.pt2");
    writer.add("a", asBytes(std::string(1'000'000, 'x')));
    EXPECT_EQ(fileCount(dir.path()), 2u);
  }
  EXPECT_EQ(fileCount(dir.path()), 1u);
  EXPECT_EQ(test::readFile(dir / "a.pt2"), "old");
}

TEST(ZipWriter, ReplacesTheFileItsRecordsAreMappedFrom) {
  test::TempDir dir;
  writeSample(dir / "a.pt2", "r");
  const auto file = MappedFile::open(dir / "a.pt2");
  const ZipReader reader(file->bytes(), file->path());
  ZipWriter writer(dir / "a.pt2", "s");
  for (const ZipRecord& record : reader.records()) writer.add(record.name.substr(2), reader.mapped(record));
  writer.finish();
  EXPECT_EQ(reader.read(reader.records()[2]).text(), std::string(1'000'000, 'L'));
  EXPECT_EQ(test::readFile(dir / "a.pt2"), writeSample(dir / "b.pt2", "s"));
}

TEST(ZipWriter, KeepsPermissionsAndFollowsLinks) {
  test::TempDir dir;
  test::writeFile(dir / "real.pt2", "old");
  ASSERT_EQ(::chmod((dir / "real.pt2").c_str(), 0640), 0);
  std::filesystem::create_symlink("real.pt2", dir / "link.pt2");
  writeSample(dir / "link.pt2");
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link.pt2"));
  EXPECT_TRUE(test::readFile(dir / "real.pt2").starts_with("PK"));
  EXPECT_EQ(std::filesystem::status(dir / "real.pt2").permissions(), std::filesystem::perms{0640});
}

TEST(ZipWriter, RefusesTargetsThatAreNoFiles) {
  test::TempDir dir;
  EXPECT_EQ(errorOf<Error>([&] { ZipWriter writer(dir.path()); }),
            "edgefx: file '" + dir.path().string() + "': cannot write: not a regular file");
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  EXPECT_MENTIONS(errorOf<Error>([&] { ZipWriter writer(dir / "pipe"); }), "not a regular file");
  EXPECT_MENTIONS(errorOf<Error>([&] { ZipWriter writer(dir / "absent/a.pt2"); }),
                  "absent/a.pt2': cannot create a temporary file beside it: No such file or directory");
}

TEST(ZipWriter, ReportsAFullDiskAndCleansUp) {
  test::TempDir dir;
  test::writeFile(dir / "a.pt2", "old");
  ZipWriter writer(dir / "a.pt2");
  const std::string payload(1'000'000, 'x');
  {
    const FileSizeLimit limit(100'000);
    const std::string error = errorOf<Error>([&] { writer.add("a", asBytes(payload)); });
    EXPECT_MENTIONS(error, "a.pt2': cannot write: File too large") << error;
  }
  EXPECT_EQ(fileCount(dir.path()), 1u);
  EXPECT_EQ(test::readFile(dir / "a.pt2"), "old");
  EXPECT_THROW(writer.add("b", asBytes("x")), UsageError);
  EXPECT_THROW(writer.finish(), UsageError);
}

TEST(ZipWriter, ReportsAFullDiskInFinish) {
  test::TempDir dir;
  ZipWriter writer(dir / "a.pt2");
  writer.add("a", asBytes("small enough to be kept in memory"));
  {
    const FileSizeLimit limit(10);
    EXPECT_MENTIONS(errorOf<Error>([&] { writer.finish(); }), "cannot write: File too large");
  }
  EXPECT_EQ(fileCount(dir.path()), 0u);
}

TEST(ZipWriter, ReportsATargetThatCannotBeReplaced) {
  test::TempDir dir;
  ZipWriter writer(dir / "a.pt2");
  std::filesystem::create_directory(dir / "a.pt2");
  EXPECT_MENTIONS(errorOf<Error>([&] { writer.finish(); }), "cannot rename the temporary file to it");
  EXPECT_EQ(fileCount(dir.path()), 1u);
}

TEST(ZipWriter, RefusesToFinishTwice) {
  test::TempDir dir;
  ZipWriter writer(dir / "a.pt2");
  writer.finish();
  EXPECT_THROW(writer.finish(), UsageError);
  EXPECT_THROW(writer.add("a", {}), UsageError);
}

}  // namespace
}  // namespace edgefx::detail

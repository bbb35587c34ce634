#include "serialization/mapped_file.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "support/test_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace edgefx::detail {
namespace {

using test::asText;
using test::errorOf;

TEST(MappedFile, GivesTheBytesOfAFile) {
  test::TempDir dir;
  test::writeFile(dir / "a.bin", std::string("a\0b", 3));
  const auto file = MappedFile::open(dir / "a.bin");
  EXPECT_EQ(asText(file->bytes()), std::string("a\0b", 3));
  EXPECT_EQ(file->path(), (dir / "a.bin").string());
}

TEST(MappedFile, WritesStayInTheProcess) {
  test::TempDir dir;
  test::writeFile(dir / "a.bin", "weights");
  {
    const auto file = MappedFile::open(dir / "a.bin");
    file->mutableData()[0] = std::byte{'W'};
    EXPECT_EQ(asText(file->bytes()), "Weights");
  }
  EXPECT_EQ(test::readFile(dir / "a.bin"), "weights");
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  test::TempDir dir;
  test::writeFile(dir / "empty", "");
  EXPECT_TRUE(MappedFile::open(dir / "empty")->bytes().empty());
}

TEST(MappedFile, OutlivesTheRemovalOfItsFile) {
  test::TempDir dir;
  test::writeFile(dir / "a.bin", "still here");
  const auto file = MappedFile::open(dir / "a.bin");
  std::filesystem::remove(dir / "a.bin");
  EXPECT_EQ(asText(file->bytes()), "still here");
}

TEST(MappedFile, NamesAMissingFileAndTheReason) {
  test::TempDir dir;
  const std::string path = (dir / "absent.pt2").string();
  EXPECT_EQ(errorOf<ParseError>([&] { MappedFile::open(path); }),
            "edgefx: file '" + path + "': cannot read: No such file or directory");
}

TEST(MappedFile, RefusesAFolder) {
  test::TempDir dir;
  const std::string error = errorOf<ParseError>([&] { MappedFile::open(dir.path()); });
  EXPECT_NE(error.find("Is a directory"), std::string::npos) << error;
}

TEST(MappedFile, RefusesAPipeInsteadOfWaitingForIt) {
  test::TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  const std::string error = errorOf<ParseError>([&] { MappedFile::open(dir / "pipe"); });
  EXPECT_NE(error.find("not a regular file"), std::string::npos) << error;
}

}  // namespace
}  // namespace edgefx::detail

#include "serialization/torch_save_archive.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/test_zip.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

namespace edgefx::detail {
namespace {

using test::asBytes;
using test::errorOf;
using test::TestRecord;
using test::TestZip;

// The state dict of a flat file in tests/data.
class StateDict {
 public:
  explicit StateDict(std::string_view program)
      : file_(MappedFile::open(test::fixture(program))),
        outer_(file_->bytes(), file_->path()),
        bytes_(outer_.read(*outer_.find("serialized_state_dict.pt"))),
        archive_(bytes_.bytes(), file_->path(), "serialized_state_dict.pt") {}

  const TorchSaveArchive& archive() const { return archive_; }

  const PickledTensor& tensor(std::string_view name) const {
    for (const auto& [key, value] : archive_.value().dict()->entries) {
      if (*key.string() == name) return *value.tensor();
    }
    throw std::runtime_error("no tensor " + std::string(name));
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  ZipReader outer_;
  RecordBytes bytes_;
  TorchSaveArchive archive_;
};

TestZip emptyDictZip() {
  return {.records = {{.name = "any/data.pkl", .content = "\x80\x02}."},
                      {.name = "any/byteorder", .content = "little"},
                      {.name = "any/data/0", .content = std::string(16, '\1')}}};
}

std::string openError(const TestZip& zip) {
  const std::string bytes = zip.bytes();
  return errorOf<ParseError>([&] { TorchSaveArchive(asBytes(bytes), "m.pt2", "s.pt"); });
}

TEST(TorchSaveArchive, ReadsTheStateDictOfAFlatFile) {
  const StateDict state("torch-2.6/linear_atan_relu.pt2");
  ASSERT_NE(state.archive().value().dict(), nullptr);
  ASSERT_EQ(state.archive().value().dict()->entries.size(), 2u);
  const PickledTensor& weight = state.tensor("linear.weight");
  EXPECT_EQ(weight.sizes, (std::vector<int64_t>{4, 4}));
  EXPECT_TRUE(weight.isParameter);
  EXPECT_TRUE(weight.requiresGrad);
  const ZipRecord& record = state.archive().storage(weight);
  EXPECT_EQ(record.name, "archive/data/0");
  EXPECT_EQ(state.archive().zip().read(record).bytes().size(), 64u);
}

TEST(TorchSaveArchive, ReadsEveryDtype) {
  const StateDict mixed("torch-2.6/mixed_dtypes.pt2");
  for (const auto& [key, value] : mixed.archive().value().dict()->entries) {
    ASSERT_NE(value.tensor(), nullptr) << *key.string();
    EXPECT_NO_THROW(mixed.archive().storage(*value.tensor())) << *key.string();
  }
  const StateDict uint16("torch-2.6/uint16.pt2");
  EXPECT_EQ(uint16.archive().value().dict()->entries.at(0).second.tensor()->dtype, Dtype::UInt16);
}

TEST(TorchSaveArchive, TiedTensorsShareAStorage) {
  const StateDict tied("torch-2.6/tied_weights.pt2");
  const auto& entries = tied.archive().value().dict()->entries;
  bool isShared = false;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      isShared |= &tied.archive().storage(*entries[i].second.tensor()) ==
                  &tied.archive().storage(*entries[j].second.tensor());
    }
  }
  EXPECT_TRUE(isShared);
}

TEST(TorchSaveArchive, AcceptsAnyRootAndNoByteOrder) {
  TestZip zip = emptyDictZip();
  EXPECT_EQ(openError(zip), "no exception");
  zip.records.erase(zip.records.begin() + 1);
  EXPECT_EQ(openError(zip), "no exception");
}

TEST(TorchSaveArchive, RefusesWhatIsNoArchive) {
  EXPECT_MENTIONS(errorOf<ParseError>([] { TorchSaveArchive({}, "m.pt2", "s.pt"); }),
                  "file 'm.pt2', record 's.pt': not a zip file or truncated (0 bytes)");
  EXPECT_MENTIONS(openError(TestZip{}), "found an empty archive");
}

TEST(TorchSaveArchive, RefusesRecordsOutsideTheRoot) {
  TestZip zip = emptyDictZip();
  zip.records.push_back({.name = "other/x"});
  EXPECT_MENTIONS(openError(zip), "record 's.pt/other/x': the record lies outside the root folder 'any/'");
  EXPECT_MENTIONS(openError(TestZip{.records = {{.name = "data.pkl"}}}), "expected a root folder");
}

TEST(TorchSaveArchive, RefusesTheOtherByteOrder) {
  TestZip zip = emptyDictZip();
  zip.records[1].content = "big";
  EXPECT_MENTIONS(openError(zip),
                  "record 's.pt/any/byteorder': byte order 'big', this machine's is 'little'");
}

TEST(TorchSaveArchive, NamesTheRecordOfAPickleFault) {
  TestZip zip = emptyDictZip();
  zip.records[0].content =
      "\x80\x02"
      "cos\nsystem\n.";
  EXPECT_MENTIONS(openError(zip),
                  "file 'm.pt2', record 's.pt/any/data.pkl': refused pickle global 'os system', at byte 2");
  zip.records.erase(zip.records.begin());
  EXPECT_MENTIONS(openError(zip), "missing record 'any/data.pkl'");
}

TEST(TorchSaveArchive, RefusesTensorsThatReachPastTheirStorage) {
  const std::string bytes = emptyDictZip().bytes();
  const TorchSaveArchive archive(asBytes(bytes), "m.pt2", "s.pt");
  PickledTensor tensor{.storageKey = "0",
                       .dtype = Dtype::Float32,
                       .storageBytes = 16,
                       .offset = 0,
                       .sizes = {4},
                       .strides = {1},
                       .requiresGrad = false,
                       .isParameter = false,
                       .device = "cpu"};
  EXPECT_EQ(archive.storage(tensor).name, "any/data/0");
  auto error = [&] { return errorOf<ParseError>([&] { archive.storage(tensor); }); };

  tensor.offset = 1;
  EXPECT_MENTIONS(error(), "record 's.pt/any/data/0': the tensor needs 20 bytes, its storage has 16");
  tensor.storageBytes = 20;
  EXPECT_MENTIONS(error(), "the tensor needs 20 bytes of a storage of 20, the record has 16");
  tensor.offset = -1;
  EXPECT_MENTIONS(error(), "record 's.pt': negative number in sizes [4], strides [1], offset -1");
  tensor.storageKey = "9";
  EXPECT_MENTIONS(error(), "missing record 'any/data/9', needed by a tensor of data.pkl");
}

}  // namespace
}  // namespace edgefx::detail

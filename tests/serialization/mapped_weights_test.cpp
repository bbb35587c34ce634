#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "serialization/test_zip.h"
#include "serialization/zip_reader.h"
#include "support/allocation_meter.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <optional>
#include <string>

namespace edgefx::test {
namespace {

constexpr uint64_t kSide = 16384;                     // of the weight, float32
constexpr uint64_t kWeightBytes = kSide * kSide * 4;  // 1 GiB

void replaceAfter(std::string& text, std::string_view anchor, std::string_view from, std::string_view to) {
  size_t at = text.find(anchor);
  ASSERT_NE(at, std::string::npos) << anchor;
  at = text.find(from, at);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

// A file whose parameter "weight" is 1 GiB of zeros that take no room on the disk.
void writeBigFile(const std::filesystem::path& path, const std::filesystem::path& small) {
  saveProgram(tinyProgram(), small);
  std::string bytes = readFile(small);
  detail::ZipReader reader(asBytes(bytes), "small");
  TestZip zip;
  std::optional<TestRecord> weight;
  for (const detail::ZipRecord& record : reader.records()) {
    TestRecord copy{.name = record.name, .content = std::string(reader.read(record).text())};
    if (copy.name.ends_with("/weight_0")) {
      weight = copy;
      continue;
    }
    for (std::string_view anchor : {"\"p_weight\": {\"dtype\"", "\"weight\": {\"path_name\""}) {
      if (copy.content.find(anchor) == std::string::npos) continue;
      replaceAfter(copy.content, anchor, "[{\"as_int\": 4}, {\"as_int\": 4}]",
                   "[{\"as_int\": 16384}, {\"as_int\": 16384}]");
      replaceAfter(copy.content, anchor, "[{\"as_int\": 4}, {\"as_int\": 1}]",
                   "[{\"as_int\": 16384}, {\"as_int\": 1}]");
    }
    zip.records.push_back(copy);
  }
  ASSERT_TRUE(weight.has_value());

  // The hole goes between the last record's header and the descriptor behind it; its start has to be aligned.
  constexpr size_t kDescriptor = 16, kEnd = 22, kEndOffset = 16;
  weight->content.clear();
  weight->hasDescriptor = true;
  weight->size = weight->storedSize = kWeightBytes;
  zip.records.push_back({.name = weight->name.substr(0, weight->name.find('/')) + "/extra/pad"});
  zip.records.push_back(*weight);
  uint32_t directory = 0;
  do {
    zip.records[zip.records.size() - 2].content += '.';
    bytes = zip.bytes();
    std::memcpy(&directory, bytes.data() + bytes.size() - kEnd + kEndOffset, sizeof directory);
  } while ((directory - kDescriptor) % 64 != 0);
  auto moved = static_cast<uint32_t>(directory + kWeightBytes);
  std::memcpy(bytes.data() + bytes.size() - kEnd + kEndOffset, &moved, sizeof moved);

  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), directory - kDescriptor);
  file.seekp(static_cast<std::streamoff>(kWeightBytes), std::ios::cur);
  file.write(bytes.data() + directory - kDescriptor,
             static_cast<std::streamsize>(bytes.size() - directory + kDescriptor));
  ASSERT_TRUE(file.good());
}

class Identity final : public OpBackend {
 public:
  std::string_view name() const override { return "identity"; }
  ExportedProgram lower(ExportedProgram program, std::string_view) const override { return program; }
};

TEST(MappedWeights, OneGibibyteIsNeitherReadNorCopied) {
  TempDir dir;
  writeBigFile(dir / "big.pt2", dir / "small.pt2");
  WarningHandler old = setWarningHandler({});
  loadProgram(dir / "small.pt2");  // what is set up once is not counted

  constexpr size_t kRoom = size_t{16} << 20;
  size_t before = residentBytes();
  ExportedProgram program = loadProgram(dir / "big.pt2");
  EXPECT_LT(residentBytes(), before + kRoom);

  const at::Tensor& weight = program.stateDict().find("weight")->tensor();
  ASSERT_EQ(weight.nbytes(), kWeightBytes);
  const void* bytes = weight.data_ptr();
  EdgeProgramManager manager(std::move(program));
  EdgeProgramManager lowered = manager.toOpBackend(Identity());
  EXPECT_LT(residentBytes(), before + kRoom);
  EXPECT_EQ(manager.exportedProgram().stateDict().find("weight")->tensor().data_ptr(), bytes);
  EXPECT_EQ(lowered.exportedProgram().stateDict().find("weight")->tensor().data_ptr(), bytes);
  EXPECT_NE(&manager.exportedProgram(), &lowered.exportedProgram());
  setWarningHandler(old);
}

TEST(MappedWeights, LiveAsLongAsATensorOfTheFile) {
  TempDir dir;
  saveProgram(tinyProgram(), dir / "program.pt2");
  at::Tensor weight = loadProgram(dir / "program.pt2").stateDict().find("weight")->tensor();
  std::filesystem::remove(dir / "program.pt2");
  at::Tensor expected = sampleTensor({4, 4});
  ASSERT_EQ(weight.nbytes(), expected.nbytes());
  EXPECT_EQ(std::memcmp(weight.data_ptr(), expected.data_ptr(), expected.nbytes()), 0);
}

TEST(MappedWeights, AreWritableWithoutTouchingTheFile) {
  TempDir dir;
  saveProgram(tinyProgram(), dir / "program.pt2");
  std::string before = readFile(dir / "program.pt2");
  ExportedProgram program = loadProgram(dir / "program.pt2");
  program.stateDict().find("weight")->tensor().fill_(7);
  EXPECT_EQ(readFile(dir / "program.pt2"), before);
}

TEST(MappedWeights, WrongChecksumsAreFoundOnDemand) {
  TempDir dir;
  saveProgram(tinyProgram(), dir / "program.pt2");
  std::string bytes = readFile(dir / "program.pt2");
  detail::ZipReader zip(asBytes(bytes), "file");
  size_t offset = 0;
  for (const detail::ZipRecord& record : zip.records()) {
    if (record.name.ends_with("/weight_0")) offset = record.offset;
  }
  ASSERT_NE(offset, 0u);
  bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
  writeFile(dir / "program.pt2", bytes);
  loadProgram(dir / "program.pt2");
  EXPECT_MENTIONS(errorOf<ParseError>([&] { loadProgram(dir / "program.pt2", {}, {.checkWeights = true}); }),
                  "weight_0");
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/ir/fx_text.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>

#include "serialization/equal_programs.h"
#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/saved_json.h"
#include "serialization/zip_reader.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

// Programs of every kind that PyTorch writes, loaded and saved again.
namespace edgefx {
namespace {

using test::corpusFiles;
using test::expectEqualArchives;
using test::expectEqualPrograms;
using test::recordsOf;
using test::SavedJson;

bool isFlat(const std::filesystem::path& file) {
  return recordsOf(file).contains("serialized_exported_program.json");
}

class RoundTrip : public testing::Test {
 protected:
  // Files of newer releases and unknown members give warnings, which are not the point here.
  RoundTrip() : before_(setWarningHandler({})) {}
  ~RoundTrip() override { setWarningHandler(before_); }

  test::TempDir folder_;

 private:
  WarningHandler before_;
};

TEST_F(RoundTrip, NothingIsLost) {
  size_t count = 0;
  for (const std::filesystem::path& file : corpusFiles()) {
    SCOPED_TRACE(file.string());
    Archive before = loadArchive(file);
    saveArchive(before, folder_ / "saved.pt2");
    Archive after = loadArchive(folder_ / "saved.pt2", {.checkWeights = true});
    expectEqualArchives(before, after);
    saveArchive(after, folder_ / "again.pt2");
    std::map<std::string, std::string> first = recordsOf(folder_ / "saved.pt2");
    EXPECT_EQ(first, recordsOf(folder_ / "again.pt2")) << "saving what was saved changes nothing more";
    ++count;
    if (HasFailure()) break;
  }
  EXPECT_GT(count, 100u);
}

// A node whose only result is None loses its name in torch.export.load: "f" comes back as "f_unused". Changes
// the names in a model's JSON to those.
void renameNodesOfNone(std::string& json) {
  constexpr std::string_view kNone = R"("outputs": [{"as_none": true}], "metadata": )";
  constexpr std::string_view kName = R"("is_hop_single_tensor_return": null, "name": ")";
  for (size_t at = json.find(kNone); at != std::string::npos; at = json.find(kNone, at + 1)) {
    size_t name = json.find(kName, at) + kName.size();
    size_t end = json.find('"', name);
    size_t number = json.find_last_not_of("0123456789", end - 1) + 1;
    bool isNumbered = number < end && json[number - 1] == '_';
    json.insert(isNumbered ? number - 1 : end, "_unused");
  }
}

// The model's JSON comes back to the letter, but for the schema version of a newer minor and what torch
// renames.
TEST_F(RoundTrip, JsonOfTheSameSchemaIsTheSameText) {
  size_t count = 0;
  for (const std::filesystem::path& file : corpusFiles()) {
    SCOPED_TRACE(file.string());
    if (isFlat(file)) continue;
    std::map<std::string, std::string> records = recordsOf(file);
    for (const Archive::Model& model : loadArchive(file).models) {
      std::string original = records.at("models/" + model.name + ".json");
      constexpr std::string_view kNewer = R"("schema_version": {"major": 8, "minor": 999})";
      if (size_t at = original.find(kNewer); at != std::string::npos) {
        original.replace(at, kNewer.size(), R"("schema_version": {"major": 8, "minor": 20})");
      }
      renameNodesOfNone(original);
      SavedJson saved(model.program);
      auto [was, is] =
          std::mismatch(original.begin(), original.end(), saved.text().begin(), saved.text().end());
      if (was != original.end() || is != saved.text().end()) {
        size_t at = static_cast<size_t>(was - original.begin());
        size_t from = at < 200 ? 0 : at - 200;
        ADD_FAILURE() << "at byte " << at << "\nwas " << original.substr(from, 400) << "\nis  "
                      << saved.text().substr(from, 400);
      }
      ++count;
    }
  }
  EXPECT_GT(count, 100u);
}

TEST_F(RoundTrip, RecordsOfTheSameLayoutAreTheSameBytes) {
  for (const std::filesystem::path& file : corpusFiles()) {
    SCOPED_TRACE(file.string());
    if (isFlat(file)) continue;
    std::map<std::string, std::string> records = recordsOf(file);
    saveArchive(loadArchive(file), folder_ / "saved.pt2");
    std::map<std::string, std::string> saved = recordsOf(folder_ / "saved.pt2");
    for (auto* side : {&records, &saved}) {
      side->erase(".data/serialization_id");
      // One of the two names of the zip layer's version.
      side->erase("version");
      side->erase(".data/version");
      std::erase_if(*side, [](const auto& record) { return record.first.starts_with("models/"); });
    }
    EXPECT_TRUE(records == saved);
    for (const auto& [name, bytes] : records)
      EXPECT_TRUE(saved.contains(name) && saved.at(name) == bytes) << name;
  }
}

TEST_F(RoundTrip, SavingTwiceGivesEqualBytes) {
  for (const char* name :
       {"nested_cond_core/program.pt2", "shared_weights/program.pt2", "torch-2.6/mixed_dtypes.pt2"}) {
    std::filesystem::create_directory(folder_ / "a");
    std::filesystem::create_directory(folder_ / "b");
    saveArchive(loadArchive(test::fixture(name)), folder_ / "a/saved.pt2");
    saveArchive(loadArchive(test::fixture(name)), folder_ / "b/saved.pt2");
    EXPECT_EQ(test::readFile(folder_ / "a/saved.pt2"), test::readFile(folder_ / "b/saved.pt2")) << name;
  }
}

TEST_F(RoundTrip, EdgeProgramsKeepTheirDialect) {
  size_t count = 0;
  for (const std::filesystem::path& file : corpusFiles()) {
    SCOPED_TRACE(file.string());
    ExportedProgram before = std::move(loadArchive(file).models.front().program);
    wrapAsEdge(before);
    before.verifiers = {"ATEN"};
    // One operator stays as it is.
    for (Node& node : before.graph().nodes()) {
      if (!node.isCall() || node.target().kind() != TargetKind::EdgeOperator) continue;
      node.setTarget(node.target().toAten());
      break;
    }
    saveProgram(before, folder_ / "saved.pt2");
    ExportedProgram after = loadProgram(folder_ / "saved.pt2");
    expectEqualPrograms(before, after);
    ++count;
    if (HasFailure()) break;
  }
  EXPECT_GT(count, 100u);
}

// The tensors of a loaded program are views of its file: saving over that file must not disturb them.
TEST_F(RoundTrip, AFileCanBeSavedOverItself) {
  std::filesystem::path path = folder_ / "program.pt2";
  std::filesystem::copy_file(test::fixture("shared_weights/program.pt2"), path);
  Archive archive = loadArchive(path);
  saveArchive(archive, path);
  expectEqualArchives(archive, loadArchive(path));
}

}  // namespace
}  // namespace edgefx

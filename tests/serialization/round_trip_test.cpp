#include <edgefx/ir/fx_text.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>

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

using test::SavedJson;

std::string textOf(const NodeMeta& meta) {
  std::string text;
  for (const NodeMeta::Entry& entry : meta.entries()) text += entry.key + ": " + *entry.text + "\n";
  return text;
}

void expectEqualNodes(const GraphModule& before, const GraphModule& after) {
  std::vector<ConstNestedModule> first = namedModules(before), second = namedModules(after);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].path, second[i].path);
    const Node* other = second[i].module->graph().front();
    for (const Node& node : first[i].module->graph().nodes()) {
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(textOf(node.meta()), textOf(other->meta())) << node.name();
      ASSERT_EQ(node.value() == nullptr, other->value() == nullptr) << node.name();
      if (node.value() != nullptr) {
        EXPECT_EQ(node.value()->text(), other->value()->text()) << node.name();
        if (node.value()->tensor() != nullptr) {
          EXPECT_EQ(*node.value()->tensor(), *other->value()->tensor()) << node.name();
        }
      }
      other = other->next();
    }
  }
}

// Which earlier entry shares memory with each entry.
std::vector<size_t> sharingOf(const TensorTable& table) {
  std::map<std::pair<const void*, Dtype>, size_t> seen;
  std::vector<size_t> sharing;
  for (const auto& [name, stored] : table) {
    bool hasMemory = !stored.isOpaque() && !stored.storage().empty();
    size_t own = sharing.size();
    sharing.push_back(
        hasMemory ? seen.emplace(std::pair(stored.storage().data(), stored.meta()->dtype), own).first->second
                  : own);
  }
  return sharing;
}

void expectEqualTables(const TensorTable& before, const TensorTable& after) {
  ASSERT_EQ(before.size(), after.size());
  auto other = after.begin();
  for (const auto& [name, stored] : before) {
    EXPECT_EQ(name, other->name);
    const StoredTensor& again = other->value;
    EXPECT_EQ(stored.isParameter, again.isParameter) << name;
    EXPECT_EQ(stored.isTensor(), again.isTensor()) << name;
    EXPECT_EQ(stored.opaquePrefix(), again.opaquePrefix()) << name;
    EXPECT_EQ(stored.opaqueRecord().text(), again.opaqueRecord().text()) << name;
    ASSERT_EQ(stored.meta() == nullptr, again.meta() == nullptr) << name;
    if (stored.meta() != nullptr) {
      EXPECT_EQ(*stored.meta(), *again.meta()) << name;
    }
    EXPECT_EQ(test::asText(stored.storage()), test::asText(again.storage())) << name;
    ++other;
  }
  EXPECT_EQ(sharingOf(before), sharingOf(after));
}

void expectEqualPrograms(const ExportedProgram& before, const ExportedProgram& after) {
  EXPECT_EQ(fxText(before.graphModule()), fxText(after.graphModule()));
  expectEqualNodes(before.graphModule(), after.graphModule());
  EXPECT_EQ(before.graphModule().metadata, after.graphModule().metadata);
  EXPECT_EQ(before.signature, after.signature);
  EXPECT_EQ(text(before.signature), text(after.signature));
  expectEqualTables(before.stateDict(), after.stateDict());
  expectEqualTables(before.constants(), after.constants());
  EXPECT_EQ(before.rangeConstraints, after.rangeConstraints);
  EXPECT_EQ(before.moduleCallGraph, after.moduleCallGraph);
  EXPECT_EQ(before.namedTupleFields, after.namedTupleFields);
  EXPECT_EQ(before.opsetVersion, after.opsetVersion);
  EXPECT_EQ(before.torchVersion, after.torchVersion);
  EXPECT_EQ(before.guardsCode, after.guardsCode);
  EXPECT_EQ(before.dialect, after.dialect);
  EXPECT_EQ(before.verifiers, after.verifiers);
  EXPECT_EQ(before.exampleInputs.text(), after.exampleInputs.text());
  EXPECT_EQ(before.unknownMembers, after.unknownMembers);
  EXPECT_EQ(before.argumentNames, after.argumentNames);
  EXPECT_EQ(after.schemaVersion, (SchemaVersion{8, 20}));
}

void expectEqualArchives(const Archive& before, const Archive& after) {
  ASSERT_EQ(before.models.size(), after.models.size());
  for (size_t i = 0; i < before.models.size(); ++i) {
    EXPECT_EQ(before.models[i].name, after.models[i].name);
    expectEqualPrograms(before.models[i].program, after.models[i].program);
  }
  ASSERT_EQ(before.foreign.size(), after.foreign.size());
  for (size_t i = 0; i < before.foreign.size(); ++i) {
    EXPECT_EQ(before.foreign[i].name, after.foreign[i].name);
    EXPECT_EQ(before.foreign[i].bytes.text(), after.foreign[i].bytes.text()) << before.foreign[i].name;
  }
}

// The records of a file by name, without the root folder of the archive layout.
std::map<std::string, std::string> recordsOf(const std::filesystem::path& path) {
  auto file = detail::MappedFile::open(path);
  detail::ZipReader zip(file->bytes(), path.string());
  std::map<std::string, std::string> records;
  for (const auto& record : zip.records()) {
    records.emplace(record.name.substr(record.name.find('/') + 1), zip.read(record).text());
  }
  return records;
}

// Every .pt2 file of the corpus that edgefx reads.
std::vector<std::filesystem::path> corpusFiles() {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& root : test::corpusRoots()) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".pt2" || entry.path().stem() == "version_major_newer") continue;
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

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

#include "serialization/equal_programs.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/serialization/payloads.h>

#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/zip_reader.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace edgefx::test {

std::string textOf(const NodeMeta& meta) {
  std::string text;
  for (const NodeMeta::Entry& entry : meta.entries()) text += entry.key + ": " + *entry.text + "\n";
  return text;
}

namespace {

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

}  // namespace

std::vector<size_t> sharingOf(const std::vector<const TensorTable*>& tables) {
  std::map<std::pair<const void*, Dtype>, size_t> seen;
  std::vector<size_t> sharing;
  for (const TensorTable* table : tables) {
    for (const auto& [name, stored] : *table) {
      const bool hasMemory = !stored.isOpaque() && !stored.storage().empty();
      const size_t own = sharing.size();
      sharing.push_back(
          hasMemory
              ? seen.emplace(std::pair(stored.storage().data(), stored.meta()->dtype), own).first->second
              : own);
    }
  }
  return sharing;
}

namespace {

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
    EXPECT_EQ(asText(stored.storage()), asText(again.storage())) << name;
    ++other;
  }
}

// Of what the program calls: nobody writes the names of other arguments.
std::map<std::string, std::vector<std::string>> usedArgumentNames(const ExportedProgram& program) {
  std::map<std::string, std::vector<std::string>> used;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall()) continue;
      auto known = program.argumentNames.find(node.target().name());
      if (known == program.argumentNames.end()) continue;
      std::vector<std::string>& names = used[known->first];
      for (size_t i = names.size(); i < std::min(node.args().size(), known->second.size()); ++i)
        names.push_back(known->second[i]);
    }
  }
  return used;
}

void expectEqualContents(const ExportedProgram& before, const ExportedProgram& after) {
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
  EXPECT_EQ(usedArgumentNames(before), usedArgumentNames(after));
  EXPECT_EQ(after.schemaVersion, (SchemaVersion{8, 20}));
}

void expectEqualDelegates(const LoweredModule& before, const LoweredModule& after) {
  EXPECT_EQ(before.backendId, after.backendId);
  EXPECT_EQ(before.processedBytes.text(), after.processedBytes.text());
  EXPECT_EQ(before.compileSpecs, after.compileSpecs);
  EXPECT_EQ(before.debugHandleMap, after.debugHandleMap);
  ASSERT_EQ(before.namedData.size(), after.namedData.size());
  for (size_t i = 0; i < before.namedData.size(); ++i) {
    EXPECT_EQ(before.namedData[i].key, after.namedData[i].key);
    EXPECT_EQ(before.namedData[i].bytes.text(), after.namedData[i].bytes.text());
    EXPECT_EQ(before.namedData[i].alignment, after.namedData[i].alignment);
    EXPECT_EQ(before.namedData[i].externalTag, after.namedData[i].externalTag);
  }
  expectEqualContents(before.program, after.program);
}

struct Everything {
  explicit Everything(const ExportedProgram& program) : payloads(delegatePayloads(program, "m")) {
    add(program);
    for (const DelegatePayload& payload : payloads) {
      add(payload.module->program);
      const size_t own = sameModule.size();
      sameModule.push_back(modules.emplace(payload.module, own).first->second);
    }
  }
  void add(const ExportedProgram& program) {
    tables.push_back(&program.stateDict());
    tables.push_back(&program.constants());
  }

  std::vector<DelegatePayload> payloads;
  std::vector<const TensorTable*> tables;
  std::map<const LoweredModule*, size_t> modules;
  std::vector<size_t> sameModule;
};

}  // namespace

void expectEqualPrograms(const ExportedProgram& before, const ExportedProgram& after) {
  expectEqualContents(before, after);
  const Everything first(before), second(after);
  ASSERT_EQ(first.payloads.size(), second.payloads.size());
  for (size_t i = 0; i < first.payloads.size(); ++i) {
    SCOPED_TRACE(first.payloads[i].path);
    EXPECT_EQ(first.payloads[i].path, second.payloads[i].path);
    expectEqualDelegates(*first.payloads[i].module, *second.payloads[i].module);
  }
  EXPECT_EQ(first.sameModule, second.sameModule);
  EXPECT_EQ(sharingOf(first.tables), sharingOf(second.tables));
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

}  // namespace edgefx::test

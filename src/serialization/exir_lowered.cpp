#include "serialization/exir_lowered.h"

#include <edgefx/program/tensor_table.h>

#include "serialization/byte_text.h"
#include "serialization/edge_record.h"
#include "serialization/exir_json.h"
#include "serialization/lowered_record.h"
#include "serialization/read_program.h"
#include "serialization/torch_save_writer.h"
#include "support/base64.h"
#include "support/fail.h"
#include "support/json_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 7> kExirModuleMembers = {
    "backend_id",          "processed_bytes",    "compile_specs",   "original_module",
    "original_state_dict", "original_constants", "named_data_store"};
constexpr std::array<std::string_view, 2> kExirSpecMembers = {"key", "value"};
constexpr std::array<std::string_view, 3> kDataStoreMembers = {"buffers", "pte_data", "external_data"};
constexpr std::array<std::string_view, 3> kDataEntryMembers = {"buffer_index", "alignment", "tensor_layout"};
constexpr JsonStruct kExirModule{"LoweredBackendModule", kExirModuleMembers};
constexpr JsonStruct kExirSpec{"CompileSpec", kExirSpecMembers};
constexpr JsonStruct kDataStore{"NamedDataStoreOutput", kDataStoreMembers};
constexpr JsonStruct kDataEntry{"DataEntry", kDataEntryMembers};

void writeDataEntries(JsonWriter& json, const LoweredModule& module, std::string_view tag) {
  json.beginObject();
  for (size_t i = 0; i < module.namedData.size(); ++i) {
    const NamedData& data = module.namedData[i];
    if (data.externalTag != tag) continue;
    json.key(data.key);
    json.beginObject();
    json.key("buffer_index");
    json.integer(static_cast<int64_t>(i));
    json.key("alignment");
    json.integer(data.alignment);
    json.endObject();
  }
  json.endObject();
}

std::string namedDataStore(const LoweredModule& module) {
  JsonWriter json;
  json.beginObject();
  json.key("buffers");
  json.beginArray();
  for (const NamedData& data : module.namedData) json.string(base64Of(data.bytes.text()));
  json.endArray();
  json.key("pte_data");
  writeDataEntries(json, module, "");
  json.key("external_data");
  json.beginObject();
  std::vector<std::string_view> tags;
  for (const NamedData& data : module.namedData) {
    if (data.externalTag.empty() || std::find(tags.begin(), tags.end(), data.externalTag) != tags.end())
      continue;
    tags.push_back(data.externalTag);
    json.key(data.externalTag);
    writeDataEntries(json, module, data.externalTag);
  }
  json.endObject();
  json.endObject();
  return json.take();
}

// Reads the members of one LoweredBackendModule but its program.
class ExirModuleReader {
 public:
  explicit ExirModuleReader(std::string_view record) { json_.place.record = record; }

  // Everything of the delegate that does not need a reader of programs.
  struct Parts {
    std::string program;  // JSON text
    std::string stateDict, constants;
  };

  Parts read(JsonValue value, LoweredModule& into) {
    Parts parts;
    const uint32_t seen = json_.members(
        value, kExirModule,
        [&](size_t i, JsonValue member) {
          switch (i) {
            case 0:
              into.backendId = json_.string(member, "backend_id");
              break;
            case 1:
              into.processedBytes = SharedBytes::copyOf(bytes(member, "processed_bytes"));
              break;
            case 2:
              for (JsonValue item : json_.array(member, "compile_specs")) readSpec(item, into);
              break;
            case 3:
              parts.program = pythonJson(member);
              break;
            case 4:
              parts.stateDict = bytes(member, "original_state_dict");
              break;
            case 5:
              parts.constants = bytes(member, "original_constants");
              break;
            default:
              if (!member.is_null()) readStore(json_.string(member, "named_data_store"), into);
          }
        },
        kIgnore);
    json_.require(kExirModule, seen, kExirModuleMembers.size() - 1);
    return parts;
  }

 private:
  std::string bytes(JsonValue value, std::string_view what) {
    std::optional<std::string> read = bytesOfBase64(json_.string(value, what));
    if (!read) json_.fail(fmt::format("'{}' must be base64", what));
    return std::move(*read);
  }

  void readSpec(JsonValue value, LoweredModule& into) {
    CompileSpec& spec = into.compileSpecs.emplace_back();
    const uint32_t seen = json_.members(
        value, kExirSpec,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            spec.key = json_.string(member, "key");
          } else {
            spec.value = bytes(member, "value");
          }
        },
        kIgnore);
    json_.require(kExirSpec, seen, kExirSpecMembers.size());
  }

  void readStore(std::string_view text, LoweredModule& into) {
    JsonDocument document;
    std::vector<SharedBytes> buffers;
    std::vector<std::pair<std::string, JsonValue>> tables;
    const uint32_t seen = json_.members(
        document.parse(text, json_.place.record), kDataStore,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            for (JsonValue item : json_.array(member, "buffers"))
              buffers.push_back(SharedBytes::copyOf(bytes(item, "buffers item")));
          } else if (i == 1) {
            tables.emplace_back("", member);
          } else {
            for (auto field : json_.object(member, "external_data"))
              tables.emplace_back(field.key, field.value);
          }
        },
        kIgnore);
    json_.require(kDataStore, seen, kDataStoreMembers.size());
    // In the order of the buffers, which is that in which they were added.
    std::map<int64_t, std::vector<NamedData>> byBuffer;
    for (const auto& [tag, table] : tables) {
      for (auto field : json_.object(table, "data entries")) {
        auto [index, data] = readEntry(field.key, field.value, tag, buffers);
        byBuffer[index].push_back(std::move(data));
      }
    }
    for (auto& [index, entries] : byBuffer) {
      for (NamedData& data : entries) into.namedData.push_back(std::move(data));
    }
  }

  std::pair<int64_t, NamedData> readEntry(std::string_view key, JsonValue value, const std::string& tag,
                                          const std::vector<SharedBytes>& buffers) {
    NamedData data;
    data.key = key;
    data.externalTag = tag;
    int64_t index = -1;
    const uint32_t seen = json_.members(
        value, kDataEntry,
        [&](size_t i, JsonValue member) {
          if (i == 0) {
            index = json_.integer(member, "buffer_index");
          } else if (i == 1) {
            data.alignment = json_.integer(member, "alignment");
          }
        },
        kIgnore);
    json_.require(kDataEntry, seen, 2);
    if (index < 0 || static_cast<size_t>(index) >= buffers.size())
      json_.fail(fmt::format("buffer {} is named, there are {}", index, buffers.size()));
    if (data.alignment < 1)
      json_.fail(fmt::format("an alignment must be at least 1, found {}", data.alignment));
    data.bytes = buffers[static_cast<size_t>(index)];
    return {index, std::move(data)};
  }

  JsonReader json_;
};

}  // namespace

std::string exirLowered(const LoweredModule& module, size_t nesting) {
  if (nesting > kDeepestExirDelegate) {
    fail<UnsupportedError>("ExecuTorch's form takes delegates in delegates up to {} levels",
                           kDeepestExirDelegate);
  }
  JsonWriter json;
  json.beginObject();
  json.key("backend_id");
  json.string(module.backendId);
  json.key("processed_bytes");
  json.string(base64Of(module.processedBytes.text()));
  writeCompileSpecs(json, module.compileSpecs);
  json.key("original_module");
  json.raw(exirJson(module.program, nesting));
  json.key("original_state_dict");
  json.string(base64Of(torchSave(module.program.stateDict())));
  json.key("original_constants");
  json.string(base64Of(torchSave(module.program.constants())));
  if (!module.namedData.empty()) {
    json.key("named_data_store");
    json.string(namedDataStore(module));
  }
  json.endObject();
  return json.take();
}

void ExirDelegateReader::place(ExportedProgram& program, const std::vector<ExirDelegate>& delegates,
                               std::string_view record) {
  if (program.dialect == Dialect::Edge) dropUnusedResults(program);
  if (delegates.empty()) return;
  JsonReader json;
  json.place.record = record;
  using Place = std::pair<std::string_view, std::string_view>;  // graph, name
  std::map<Place, std::string_view> texts;
  for (const ExirDelegate& delegate : delegates) {
    auto [known, isNew] = texts.emplace(Place(delegate.graph, delegate.name), delegate.module);
    if (!isNew && known->second != delegate.module)
      json.fail(
          fmt::format("delegate '{}' is given twice with different contents", printable(delegate.name)));
  }
  for (NestedModule& nested : namedModules(program.graphModule())) {
    json.place.graph = nested.path;
    Graph& graph = nested.module->graph();
    for (Node& node : graph.nodes()) {
      const Argument* first = node.findArg(0);
      if (!callsDelegate(node) || first == nullptr || !first->isString()) continue;
      const std::string name(first->asString());
      auto text = texts.find(Place(nested.path, name));
      if (text == texts.end()) continue;
      if (nested.module->findDelegate(name) == nullptr) {
        if (name.empty() || name.find('.') != std::string::npos ||
            nested.module->findChild(name) != nullptr) {
          json.fail(fmt::format("'{}' cannot name a delegate: it is empty, holds a dot or is taken",
                                printable(name)));
        }
        addLoweredModule(*nested.module, name,
                         read(text->second, fmt::format("{}/{}", record, printable(name))));
      }
      InsertionGuard guard(graph, before(node));
      node.setArg(0, graph.getAttr(name, name));
      restoreDelegateResults(node, true);
    }
  }
}

LoweredModuleRef ExirDelegateReader::read(std::string_view text, std::string_view record) {
  if (nesting_ >= kDeepestExirDelegate) {
    Diagnostic diagnostic(fmt::format("delegates nested deeper than {} levels", kDeepestExirDelegate));
    diagnostic.record = record;
    throw ParseError(std::move(diagnostic));
  }
  ++nesting_;
  auto module = std::make_shared<LoweredModule>();
  JsonDocument document;
  ExirModuleReader::Parts parts = ExirModuleReader(record).read(document.parse(text, record), *module);
  auto table = [&](const std::string& bytes) {
    return weights_.readPickled(SharedBytes::copyOf(bytes), record);
  };
  module->program = readProgram(parts.program, table(parts.stateDict), record);
  module->program.constants() = table(parts.constants);
  verify_(module->program);
  --nesting_;
  return module;
}

ExportedProgram ExirDelegateReader::readProgram(const std::string& json, TensorTable stateDict,
                                                std::string_view record) {
  JsonDocument document;
  std::vector<ExirDelegate> delegates;
  ExportedProgram program = readProgramJson(document, json, record, caches_, stateDict, false, &delegates);
  program.stateDict() = std::move(stateDict);
  place(program, delegates, record);
  return program;
}

}  // namespace edgefx::detail

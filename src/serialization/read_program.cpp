#include "serialization/read_program.h"

#include <edgefx/program/tensor_table.h>
#include <edgefx/support/warning.h>

#include "serialization/byte_text.h"
#include "serialization/read_graph.h"
#include "serialization/read_signature.h"
#include "serialization/tree_spec.h"
#include "serialization/upgrade_json.h"
#include "support/fail.h"
#include "support/json_writer.h"

#include <array>
#include <set>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 8> kProgramMembers = {
    "graph_module", "opset_version", "range_constraints", "schema_version",
    "verifiers",    "torch_version", "guards_code",       "dialect"};
constexpr std::array<std::string_view, 5> kModuleMembers = {"graph", "signature", "module_call_graph",
                                                            "metadata", "treespec_namedtuple_fields"};
constexpr std::array<std::string_view, 2> kRangeMembers = {"min_val", "max_val"};
constexpr std::array<std::string_view, 2> kVersionMembers = {"major", "minor"};
constexpr std::array<std::string_view, 1> kNamedTupleMembers = {"field_names"};
constexpr JsonStruct kProgram{"ExportedProgram", kProgramMembers};
constexpr JsonStruct kModule{"GraphModule", kModuleMembers};
constexpr JsonStruct kRange{"RangeConstraint", kRangeMembers};
constexpr JsonStruct kSchemaVersion{"SchemaVersion", kVersionMembers};
constexpr JsonStruct kNamedTuple{"NamedTupleDef", kNamedTupleMembers};

class ProgramReader {
 public:
  ProgramReader(std::string_view record, LoadCaches& caches) : graphs_(json_, caches, program_) {
    json_.place.record = record;
  }

  ExportedProgram read(JsonValue value) {
    std::array<std::optional<JsonValue>, kProgramMembers.size()> members;
    uint32_t seen = json_.members(
        value, kProgram, [&](size_t i, JsonValue member) { members[i] = member; },
        [&](std::string_view key, JsonValue member) { graphs_.keepUnknown("", key, member); });
    json_.require(kProgram, seen, 4);
    readVersion(*members[3]);
    auto given = [&](size_t i) { return members[i] && !members[i]->is_null(); };

    program_.verifiers.clear();
    if (given(4)) program_.verifiers = strings(*members[4], "verifiers");
    if (given(5)) program_.torchVersion = json_.string(*members[5], "torch_version");
    if (given(6)) program_.guardsCode = strings(*members[6], "guards_code");
    for (const std::string& verifier : program_.verifiers) {
      if (verifier == "EDGE") program_.dialect = Dialect::Edge;
      if (verifier == "TRAINING") program_.dialect = Dialect::Training;
    }
    program_.opsetVersion.clear();
    json_.place.section = "opset_version";
    UniqueNames names;
    for (auto field : json_.object(*members[1], "opset_version")) {
      if (!names.add(field.key)) json_.fail(fmt::format("'{}' occurs twice", printable(field.key)));
      program_.opsetVersion.emplace_back(field.key, json_.integer(field.value, field.key));
    }
    readRanges(*members[2]);
    readModule(*members[0]);
    return std::move(program_);
  }

 private:
  std::vector<std::string> strings(JsonValue value, std::string_view what) {
    std::vector<std::string> texts;
    for (JsonValue item : json_.array(value, what)) texts.emplace_back(json_.string(item, what));
    return texts;
  }

  void readVersion(JsonValue value) {
    json_.place.section = "schema_version";
    uint32_t seen = json_.members(
        value, kSchemaVersion,
        [&](size_t i, JsonValue member) {
          (i == 0 ? program_.schemaVersion.major : program_.schemaVersion.minor) =
              json_.integer(member, kVersionMembers[i]);
        },
        [&](std::string_view key, JsonValue member) { graphs_.keepUnknown("schema_version", key, member); });
    json_.require(kSchemaVersion, seen, 2);
  }

  std::optional<int64_t> bound(JsonValue value, std::string_view what) {
    if (value.is_null()) return std::nullopt;
    std::string_view text;
    if (value.get(text) == simdjson::SUCCESS) {
      if (text == (what == "min_val" ? "-Infinity" : "Infinity")) return std::nullopt;
      json_.fail(fmt::format("'{}' must be an integer or infinite, found '{}'", what, printable(text)));
    }
    return json_.integer(value, what);
  }

  void readRanges(JsonValue value) {
    json_.place.section = "range_constraints";
    UniqueNames names;
    for (auto field : json_.object(value, "range_constraints")) {
      json_.place.item = field.key;
      if (!names.add(field.key)) json_.fail("the symbol has a range already");
      RangeConstraint range;
      range.symbol = field.key;
      uint32_t seen = json_.members(
          field.value, kRange,
          [&](size_t i, JsonValue member) {
            (i == 0 ? range.min : range.max) = bound(member, kRangeMembers[i]);
          },
          [&](std::string_view key, JsonValue member) {
            graphs_.keepUnknown(fmt::format("range_constraints[{}]", range.symbol), key, member);
          });
      json_.require(kRange, seen, 2);
      if (range.min && range.max && *range.min > *range.max) {
        json_.fail(fmt::format("invalid range [{}:{}]", *range.min, *range.max));
      }
      program_.rangeConstraints.push_back(std::move(range));
    }
    json_.place.item = {};
  }

  void readModule(JsonValue value) {
    json_.place.section = "graph_module";
    std::array<std::optional<JsonValue>, kModuleMembers.size()> members;
    uint32_t seen = json_.members(
        value, kModule, [&](size_t i, JsonValue member) { members[i] = member; },
        [&](std::string_view key, JsonValue member) { graphs_.keepUnknown("graph_module", key, member); });
    json_.require(kModule, seen, 3);

    SignatureReader signature(json_, graphs_);
    program_.signature = signature.read(*members[1]);
    graphs_.read(*members[0], program_.graphModule(), signature.constantNames(), "");
    json_.place.section = "graph_module.module_call_graph";
    program_.moduleCallGraph = signature.readCallGraph(*members[2]);
    json_.place.index = -1;
    json_.place.item = {};
    if (members[3] && !members[3]->is_null()) {
      json_.place.section = "graph_module.metadata";
      UniqueNames names;
      for (auto field : json_.object(*members[3], "metadata")) {
        if (!names.add(field.key)) json_.fail(fmt::format("'{}' occurs twice", printable(field.key)));
        program_.graphModule().metadata.emplace_back(field.key, json_.string(field.value, field.key));
      }
    }
    if (members[4] && !members[4]->is_null()) {
      json_.place.section = "graph_module.treespec_namedtuple_fields";
      UniqueNames types;
      for (auto field : json_.object(*members[4], "treespec_namedtuple_fields")) {
        if (!types.add(field.key)) json_.fail(fmt::format("'{}' occurs twice", printable(field.key)));
        std::vector<std::string> names;
        uint32_t found = json_.members(
            field.value, kNamedTuple,
            [&](size_t, JsonValue member) { names = strings(member, "field_names"); }, kIgnore);
        json_.require(kNamedTuple, found, 1);
        program_.namedTupleFields.emplace_back(field.key, std::move(names));
      }
    }
  }

  JsonReader json_;
  ExportedProgram program_;
  GraphReader graphs_;
};

// The schema version alone, which decides how the rest is read. Before major 5 it was a plain number.
SchemaVersion versionOf(JsonValue program, std::string_view record) {
  JsonReader json;
  json.place.record = record;
  json.place.section = "schema_version";
  JsonValue value;
  if (json.object(program, "ExportedProgram").at_key("schema_version").get(value) != simdjson::SUCCESS) {
    json.fail("the program does not say its schema version");
  }
  if (value.is<int64_t>()) return {json.integer(value, "schema_version"), 0};
  SchemaVersion version;
  uint32_t seen = json.members(
      value, kSchemaVersion,
      [&](size_t i, JsonValue member) {
        (i == 0 ? version.major : version.minor) = json.integer(member, kVersionMembers[i]);
      },
      kIgnore);
  json.require(kSchemaVersion, seen, 2);
  return version;
}

constexpr SchemaVersion kNewest{8, 20};

void refuseVersion(SchemaVersion version, JsonValue program, std::string_view record) {
  std::string_view torch;
  if (program.at_key("torch_version").get(torch) != simdjson::SUCCESS) torch = {};
  Diagnostic diagnostic(fmt::format(
      "schema version {}.{}{} cannot be read; versions 1, 2, 5, 7 and 8 can, up to {}.{}", version.major,
      version.minor, torch.empty() ? "" : fmt::format(", written by torch {},", printable(torch)),
      kNewest.major, kNewest.minor));
  diagnostic.record = record;
  throw UnsupportedError(std::move(diagnostic));
}

}  // namespace

ExportedProgram readProgramJson(JsonDocument& document, std::string_view text, std::string_view record,
                                LoadCaches& caches, const TensorTable& stateDict, bool isPadded,
                                std::vector<ExirDelegate>* delegates) {
  JsonValue root = document.parse(text, record, isPadded);
  SchemaVersion version = versionOf(root, record);
  JsonDocument upgraded;
  std::vector<ExirDelegate> found;
  switch (version.major) {
    case 8:
      break;
    case 1:
    case 2:
    case 5:
    case 7: {
      std::set<std::string, std::less<>> names;
      for (const auto& entry : stateDict) names.insert(entry.name);
      std::string json;
      try {
        json = upgradeProgramJson(root, version.major, names, &found);
      } catch (Error& error) {
        Diagnostic known;
        known.record = record;
        error.fillIn(known);
        throw;
      }
      root = upgraded.parse(json, record);
      break;
    }
    default:
      refuseVersion(version, root, record);
  }
  if (!found.empty() && delegates == nullptr) {
    Diagnostic diagnostic(
        fmt::format("expected a program without delegates, found '{}'", found.front().name));
    diagnostic.record = record;
    throw ParseError(std::move(diagnostic));
  }
  if (delegates != nullptr) *delegates = std::move(found);
  ExportedProgram program = ProgramReader(record, caches).read(root);
  program.schemaVersion = version;
  if (version.major == kNewest.major && version.minor > kNewest.minor) {
    warn({"schema",
          fmt::format("record '{}' has schema version {}.{}, newer than {}.{}: what edgefx does not know "
                      "is kept as text, but not understood",
                      record, version.major, version.minor, kNewest.major, kNewest.minor)});
  } else if (!program.unknownMembers.empty()) {
    warn({"schema",
          fmt::format("record '{}' holds members that edgefx does not know, the first in '{}': they are "
                      "kept as text, but not understood",
                      record, program.unknownMembers.begin()->first)});
  }
  return program;
}

}  // namespace edgefx::detail

#include "serialization/edge_record.h"

#include <edgefx/ir/node_queries.h>

#include "serialization/byte_text.h"
#include "serialization/json_writer.h"
#include "support/fail.h"

#include <array>
#include <optional>
#include <set>

namespace edgefx::detail {
namespace {

constexpr std::array<std::string_view, 2> kMembers = {"dialect", "aten_nodes"};
constexpr JsonStruct kRecord{"edge record", kMembers};

// A getitem that stands for a result nobody uses: files name every result, edge graphs hold only those in
// use.
bool isFiller(const Node& node) {
  std::optional<int64_t> index = getitemIndex(node);
  if (!index || node.numUsers() != 0) return false;
  if (node.value() != nullptr && std::holds_alternative<ValueMeta::None>(node.value()->data)) return true;
  return node.name() == fmt::format("{}_unused_{}", node.arg(0).asNode().name(), *index);
}

}  // namespace

std::string edgeRecordName(std::string_view model) {
  return fmt::format("data/edgefx/{}.json", model);
}

std::string edgeRecord(const ExportedProgram& program) {
  JsonWriter json;
  json.beginObject();
  json.key("dialect");
  json.string("EDGE");
  bool hasAten = false;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().kind() != TargetKind::Operator) continue;
      if (!hasAten) {
        json.key("aten_nodes");
        json.beginArray();
        hasAten = true;
      }
      json.string(fmt::format("{}:{}", nested.path, node.name()));
    }
  }
  if (hasAten) json.endArray();
  json.endObject();
  return json.take();
}

void readEdgeRecord(JsonValue value, std::string_view record, ExportedProgram& program) {
  JsonReader json;
  json.place.record = record;
  std::string_view dialect;
  std::set<std::string, std::less<>> atenNodes;  // "path:name"
  uint32_t seen = json.members(
      value, kRecord,
      [&](size_t i, JsonValue member) {
        if (i == 0) {
          dialect = json.string(member, "dialect");
          return;
        }
        for (JsonValue item : json.array(member, "aten_nodes"))
          atenNodes.emplace(json.string(item, "aten_nodes item"));
      },
      kIgnore);
  json.require(kRecord, seen, 1);
  if (dialect != "EDGE") json.fail(fmt::format("unknown dialect '{}'", printable(dialect)));

  program.dialect = Dialect::Edge;
  for (NestedModule& nested : namedModules(program.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      if (isFiller(node)) {
        nested.module->graph().erase(node);
        continue;
      }
      if (!node.isCall() || node.target().kind() != TargetKind::Operator) continue;
      if (!atenNodes.empty() && atenNodes.contains(fmt::format("{}:{}", nested.path, node.name()))) continue;
      node.setTarget(node.target().toEdge());
    }
  }
}

}  // namespace edgefx::detail

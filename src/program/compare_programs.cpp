#include <edgefx/ir/fx_text.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>

#include "program/same_keyed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

bool sameArguments(std::span<const Argument> a, std::span<const Argument> b);

// Nodes of the two graphs are the same if they have one id, as clones have.
bool sameArgument(const Argument& a, const Argument& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ArgumentKind::Node:
      return a.findNode()->id() == b.findNode()->id();
    case ArgumentKind::Int:
      return a.asInt() == b.asInt();
    case ArgumentKind::List:
    case ArgumentKind::Tuple:
    case ArgumentKind::Slice:
    case ArgumentKind::Range:
      return a.listHint() == b.listHint() && sameArguments(a.items(), b.items());
    case ArgumentKind::Dict:
      return detail::sameKeyed(a.asDict(), b.asDict(), sameArgument);
    default:
      return a == b;
  }
}

bool sameArguments(std::span<const Argument> a, std::span<const Argument> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!sameArgument(a[i], b[i])) return false;
  }
  return true;
}

// What differs, null if nothing does.
const char* differingPart(const Node& a, const Node& b) {
  if (a.op() != b.op()) return "kind";
  // Clones share their texts.
  const bool sharesName = a.name().data() == b.name().data() && a.name().size() == b.name().size();
  if (!sharesName && a.name() != b.name()) return "name";
  if (a.isCall() ? !(a.target() == b.target()) : a.targetText() != b.targetText()) return "target";
  if (!sameArguments(a.args(), b.args())) return "arguments";
  if (!detail::sameKeyed(a.kwargs(), b.kwargs(), sameArgument)) return "keyword arguments";
  if (a.valueRef().get() != b.valueRef().get()) return "value";
  if (a.metaRef().get() != b.metaRef().get()) return "metadata";
  return nullptr;
}

Diagnostic difference(std::string graph, std::string message) {
  Diagnostic diagnostic(std::move(message));
  diagnostic.graph = std::move(graph);
  return diagnostic;
}

std::optional<Diagnostic> compareGraphs(const Graph& before, const Graph& after, const std::string& path) {
  const Node* a = before.front();
  const Node* b = after.front();
  for (; a != nullptr && b != nullptr; a = a->next(), b = b->next()) {
    const char* part = a->id() == b->id() ? differingPart(*a, *b) : "node";
    if (part == nullptr) continue;
    Diagnostic found = difference(
        path, fmt::format("the {} of a node changed: expected {}, found {}", part, a->text(), b->text()));
    found.node = a->name();
    return found;
  }
  if (a == nullptr && b == nullptr) return std::nullopt;
  const Node& more = a != nullptr ? *a : *b;
  Diagnostic found = difference(path, a != nullptr ? "a node was removed" : "a node was added");
  found.node = more.name();
  found.nodeText = more.text();
  return found;
}

std::optional<Diagnostic> compareModules(const GraphModule& before, const GraphModule& after) {
  struct Pair {
    const GraphModule *before, *after;
    std::string path;
  };
  std::vector<Pair> pending{{&before, &after, ""}};
  while (!pending.empty()) {
    const Pair pair = std::move(pending.back());
    pending.pop_back();
    if (auto found = compareGraphs(pair.before->graph(), pair.after->graph(), pair.path)) return found;
    const auto sameName = [](const auto& a, const auto& b) { return a.name == b.name; };
    if (!std::ranges::equal(pair.before->children(), pair.after->children(), sameName)) {
      return difference(pair.path, "the nested graph modules changed");
    }
    const auto sameDelegate = [](const auto& a, const auto& b) {
      return a.name == b.name && a.module == b.module;
    };
    if (!std::ranges::equal(pair.before->delegates(), pair.after->delegates(), sameDelegate)) {
      return difference(pair.path, "the delegates changed");
    }
    if (pair.before->metadata != pair.after->metadata)
      return difference(pair.path, "the module's metadata changed");
    for (size_t i = pair.before->children().size(); i-- > 0;) {
      const GraphModule::Child& child = pair.before->children()[i];
      pending.push_back(
          {child.module.get(), pair.after->children()[i].module.get(), childPath(pair.path, child.name)});
    }
  }
  return std::nullopt;
}

std::optional<Diagnostic> compareTables(const TensorTable& before, const TensorTable& after,
                                        std::string_view what) {
  auto other = after.begin();
  for (const TensorTable::Entry& entry : before) {
    if (other == after.end() || other->name != entry.name) {
      return Diagnostic(fmt::format("the {} changed: expected an entry '{}', found {}", what, entry.name,
                                    other == after.end() ? "none" : "'" + other->name + "'"));
    }
    const StoredTensor &a = entry.value, &b = other->value;
    const bool same = a.isParameter == b.isParameter && (a.meta() == nullptr) == (b.meta() == nullptr) &&
                      (a.meta() == nullptr || *a.meta() == *b.meta()) &&
                      (a.isOpaque() ? a.opaqueRecord().bytes().data() == b.opaqueRecord().bytes().data()
                                    : a.storage().data() == b.storage().data());
    if (!same) return Diagnostic(fmt::format("the {} changed: '{}' is another tensor", what, entry.name));
    ++other;
  }
  if (other == after.end()) return std::nullopt;
  return Diagnostic(fmt::format("the {} changed: found a new entry '{}'", what, other->name));
}

bool sameRest(const ExportedProgram& a, const ExportedProgram& b) {
  return a.namedTupleFields == b.namedTupleFields && a.opsetVersion == b.opsetVersion &&
         a.schemaVersion == b.schemaVersion && a.torchVersion == b.torchVersion &&
         a.verifiers == b.verifiers && a.guardsCode == b.guardsCode && a.dialect == b.dialect &&
         a.exampleInputs.bytes().data() == b.exampleInputs.bytes().data() &&
         a.unknownMembers == b.unknownMembers && a.argumentNames == b.argumentNames;
}

}  // namespace

std::optional<Diagnostic> findDifference(const ExportedProgram& before, const ExportedProgram& after) {
  if (auto found = compareModules(before.graphModule(), after.graphModule())) return found;
  if (!(before.signature == after.signature)) return Diagnostic("the graph signature changed");
  if (before.rangeConstraints != after.rangeConstraints) return Diagnostic("the range constraints changed");
  if (before.moduleCallGraph != after.moduleCallGraph) return Diagnostic("the module call graph changed");
  if (auto found = compareTables(before.stateDict(), after.stateDict(), "state dict")) return found;
  if (auto found = compareTables(before.constants(), after.constants(), "table of constants")) return found;
  if (!sameRest(before, after)) return Diagnostic("what the program holds beside graph and tables changed");
  return std::nullopt;
}

}  // namespace edgefx

#include <edgefx/ir/shape_inference.h>
#include <edgefx/passes/standard.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "passes/graph_facts.h"
#include "program/same_keyed.h"
#include "support/text_hash.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_set>
#include <vector>

namespace edgefx {
namespace {

using detail::GraphFacts;
using detail::hashText;
using detail::hashWord;

// Mixes in what one argument is, without the items of a list.
uint64_t hashLeaf(const Argument& argument) {
  switch (argument.kind()) {
    case ArgumentKind::Bool:
      return argument.asBool() ? 1 : 2;
    case ArgumentKind::Int:
      return static_cast<uint64_t>(argument.asInt());
    case ArgumentKind::Float:
      return std::bit_cast<uint64_t>(argument.asFloat());
    case ArgumentKind::String:
      return hashText(argument.asString());
    case ArgumentKind::Node:
      return argument.asNode().id();
    case ArgumentKind::Dtype:
      return static_cast<uint64_t>(argument.asDtype());
    case ArgumentKind::MemoryFormat:
      return static_cast<uint64_t>(argument.asMemoryFormat());
    case ArgumentKind::Symbolic:
      return hashText(argument.asSymbolic().name());
    default:
      return argument.items().size();
  }
}

struct CallHash {
  size_t operator()(const Node* call) const {
    uint64_t hash = hashText(call->target().fxText());
    const auto mix = [&hash](uint64_t word) { hash = hashWord(std::rotl(hash, 5) ^ word); };
    std::vector<const Argument*> pending;
    for (const Argument& argument : call->args()) pending.push_back(&argument);
    for (auto [key, value] : call->kwargs()) {
      mix(hashText(key));
      pending.push_back(&value);
    }
    while (!pending.empty()) {
      const Argument& argument = *pending.back();
      pending.pop_back();
      mix(static_cast<uint64_t>(argument.kind()));
      mix(hashLeaf(argument));
      for (const Argument& item : argument.items()) pending.push_back(&item);
    }
    return hash;
  }
};

struct SameCall {
  bool operator()(const Node* a, const Node* b) const {
    return a->target() == b->target() && std::ranges::equal(a->args(), b->args()) &&
           detail::sameKeyed(a->kwargs(), b->kwargs(), std::equal_to<>());
  }
};

bool sameValues(const Node& a, const Node& b) {
  if (a.value() == nullptr || b.value() == nullptr) return a.value() == b.value();
  return a.valueRef() == b.valueRef() || describeSame(a.value(), b.value());
}

// The value lies in memory that something writes, or is computed from such memory.
bool touchesWritten(const Node& node, const GraphFacts& facts) {
  if (!facts.memory.anyWritten()) return false;
  if (facts.memory.isWritten(node)) return true;
  return std::ranges::any_of(node.inputs(), [&](const Node& input) { return facts.memory.isWritten(input); });
}

bool mergeEqualCalls(GraphModule& module, const ExportedProgram& program) {
  GraphFacts facts(module, program);
  // One for each set of arguments: calls that only differ in what is recorded of their value stay.
  std::unordered_set<Node*, CallHash, SameCall> first;
  bool isChanged = false;
  for (Node& node : module.graph().nodes()) {
    if (!detail::isPure(node, module) || touchesWritten(node, facts)) continue;
    const auto [found, isNew] = first.insert(&node);
    Node& earlier = **found;
    if (isNew || !sameValues(node, earlier)) continue;
    if (!facts.mayMerge(node, earlier)) continue;
    if (node.metaRef() != earlier.metaRef()) earlier.setMeta(mergeMeta(earlier, {&node}));
    facts.replace(node, earlier);
    isChanged = true;
  }
  return isChanged;
}

}  // namespace

PassRef commonSubexpressionsPass() {
  return programPass("common-subexpressions", [](ExportedProgram& program) {
    bool isChanged = false;
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      isChanged = mergeEqualCalls(*nested.module, program) || isChanged;
    }
    if (isChanged) detail::nameResults(program);
    return isChanged;
  });
}

}  // namespace edgefx

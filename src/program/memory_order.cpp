#include "program/memory_order.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx::detail {
namespace {

// Finds graphs in which anything is written in place, looking at each once.
class WriteTester {
 public:
  // Whether a call writes into any of its operands.
  bool writes(const Node& node, const GraphModule* owner) {
    if (!node.isCall() && node.op() != NodeOp::CallModule) return false;
    if (writesItself(node)) return true;
    if (owner == nullptr) return false;
    std::vector<const GraphModule*> pending;
    addCalled(node, *owner, pending);
    bool found = false;
    while (!pending.empty() && !found) {
      const GraphModule& module = *pending.back();
      pending.pop_back();
      const auto [known, isNew] = known_.try_emplace(&module, false);
      if (!isNew) {
        found = known->second;
        continue;
      }
      for (const Node& inner : module.graph().nodes()) {
        if (writesItself(inner)) found = true;
        addCalled(inner, module, pending);
      }
      known_[&module] = found;
    }
    return found;
  }

 private:
  bool writesItself(const Node& node) {
    if (!node.isCall()) return false;
    if (writesUndeclared(node)) return true;
    const std::string_view target = node.target().fxText();
    if (!unknown_.empty() && unknown_.contains(target.data())) return false;
    const OperatorInfo* const info = findOperator(node.target());
    if (info == nullptr) unknown_.insert(target.data());
    return info != nullptr && info->isMutable;
  }

  static void addCalled(const Node& node, const GraphModule& owner, std::vector<const GraphModule*>& called) {
    if (node.op() == NodeOp::CallModule) {
      if (const GraphModule* module = owner.findChild(node.targetText())) called.push_back(module);
      return;
    }
    if (!node.isCall() || node.target().kind() != TargetKind::HigherOrder) return;
    for (const GraphModule* branch : branchesOf(node, owner)) called.push_back(branch);
    if (const LoweredModule* module = callsDelegate(node) ? findLoweredModule(owner, node) : nullptr) {
      called.push_back(&module->program.graphModule());
    }
  }

  std::unordered_map<const GraphModule*, bool> known_;
  std::unordered_set<const char*> unknown_;  // targets without a schema, for which looking takes long
};

// Groups of nodes whose values may share memory.
class MemoryGroups {
 public:
  explicit MemoryGroups(const Graph& graph) : parent_(graph.idBound()) {
    for (uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  }
  uint32_t of(const Node& node) {
    uint32_t at = node.id();
    while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
    return at;
  }
  void join(const Node& a, const Node& b) { parent_[of(a)] = of(b); }

 private:
  std::vector<uint32_t> parent_;
};

template <typename Visit>
void forEachNode(const Argument& argument, Visit&& visit) {
  std::vector<const Argument*> pending{&argument};
  while (!pending.empty()) {
    const Argument& at = *pending.back();
    pending.pop_back();
    if (const Node* node = at.findNode()) visit(*node);
    for (const Argument& item : at.items()) pending.push_back(&item);
  }
}

// Calls visit(argument, declared) for the arguments that the schema says are views of the result, or written.
template <typename Visit>
void forEachHeld(const Node& call, const OperatorInfo& info, Visit&& visit) {
  for (size_t i = 0; i < call.args().size() && i < info.arguments.size(); ++i) {
    const OperatorArgument& declared = info.arguments[i];
    if (declared.isAlias || declared.isWritten) visit(call.args()[i], declared);
  }
  for (auto [key, value] : call.kwargs()) {
    const OperatorArgument* declared = info.findArgument(key);
    if (declared != nullptr && (declared->isAlias || declared->isWritten)) visit(value, *declared);
  }
}

const OperatorInfo* schemaOf(const Node& node) {
  return node.isCall() ? findOperator(node.target()) : nullptr;
}

void joinViews(const Node& node, MemoryGroups& groups) {
  if (const OperatorInfo* info = schemaOf(node)) {
    forEachHeld(node, *info, [&](const Argument& argument, const OperatorArgument&) {
      forEachNode(argument, [&](const Node& held) { groups.join(node, held); });
    });
    return;
  }
  if (node.isCall() || node.op() == NodeOp::CallModule) {
    for (const Node& input : node.inputs()) {
      if (!input.isGetAttr()) groups.join(node, input);
    }
  }
}

// The groups that a call writes.
std::vector<uint32_t> writtenGroups(const Node& node, MemoryGroups& groups) {
  std::vector<uint32_t> written;
  const OperatorInfo* info = schemaOf(node);
  if (info == nullptr) {
    for (const Node& input : node.inputs()) {
      if (!input.isGetAttr()) written.push_back(groups.of(input));
    }
    return written;
  }
  forEachHeld(node, *info, [&](const Argument& argument, const OperatorArgument& declared) {
    if (!declared.isWritten) return;
    forEachNode(argument, [&](const Node& held) { written.push_back(groups.of(held)); });
  });
  for (size_t i = 0; i < node.args().size(); ++i) {
    if (!writesUndeclared(node, i)) continue;
    forEachNode(node.args()[i], [&](const Node& held) { written.push_back(groups.of(held)); });
  }
  return written;
}

std::vector<bool> findWriters(const Graph& graph, const GraphModule* owner) {
  WriteTester tester;
  std::vector<bool> isWriter;
  for (const Node& node : graph.nodes()) {
    if (!tester.writes(node, owner)) continue;
    isWriter.resize(graph.idBound(), false);
    isWriter[node.id()] = true;
  }
  return isWriter;
}

}  // namespace

std::vector<bool> inPlaceWriters(const GraphModule& owner) {
  return findWriters(owner.graph(), &owner);
}

const void* memoryOf(const ExportedProgram& program, const InputSpec& spec) {
  const StoredTensor* const found = program.findStored(spec);
  return found == nullptr || found->isOpaque() ? nullptr : found->storage().data();
}

std::vector<std::pair<const Node*, const Node*>> inputsOfOneMemory(const ExportedProgram& program) {
  std::vector<std::pair<const Node*, const Node*>> pairs;
  const SignatureIndex index(program.signature);
  std::unordered_map<const void*, const Node*> first;
  for (const Node& node : program.graph().nodes()) {
    const InputSpec* const spec = node.isPlaceholder() ? index.findInput(node.name()) : nullptr;
    const void* const memory =
        spec != nullptr && isStoredTensor(spec->kind) ? memoryOf(program, *spec) : nullptr;
    if (memory == nullptr) continue;
    const auto [found, isNew] = first.emplace(memory, &node);
    if (!isNew) pairs.emplace_back(found->second, &node);
  }
  return pairs;
}

MemoryOrder::MemoryOrder(const Graph& graph, const GraphModule* owner, const ExportedProgram* program) {
  const std::vector<bool> isWriter = findWriters(graph, owner);
  if (isWriter.empty()) return;

  MemoryGroups groups(graph);
  for (const Node& node : graph.nodes()) joinViews(node, groups);
  if (program != nullptr && owner == &program->graphModule()) {
    for (const auto& [first, other] : inputsOfOneMemory(*program)) groups.join(*first, *other);
  }
  struct Accesses {
    bool isWritten = false;
    const Node* lastWriter = nullptr;
    std::vector<const Node*> readers;  // since the last write
  };
  std::unordered_map<uint32_t, Accesses> accesses;
  for (const Node& node : graph.nodes()) {
    if (!isWriter[node.id()]) continue;
    for (uint32_t group : writtenGroups(node, groups)) accesses[group].isWritten = true;
  }
  const auto follow = [&](const Node* first, const Node& second) {
    if (first == nullptr || first == &second) return;
    if (pairs_.empty() || pairs_.back() != Pair(first, &second)) pairs_.emplace_back(first, &second);
  };
  for (const Node& node : graph.nodes()) {
    if (node.isOutput()) continue;
    const std::vector<uint32_t> written =
        isWriter[node.id()] ? writtenGroups(node, groups) : std::vector<uint32_t>();
    for (uint32_t group : written) {
      Accesses& of = accesses[group];
      follow(of.lastWriter, node);
      for (const Node* reader : of.readers) follow(reader, node);
      of.readers.clear();
      of.lastWriter = &node;
    }
    for (const Node& input : node.inputs()) {
      const auto found = accesses.find(groups.of(input));
      if (found == accesses.end() || found->second.lastWriter == &node) continue;
      follow(found->second.lastWriter, node);
      if (found->second.readers.empty() || found->second.readers.back() != &node) {
        found->second.readers.push_back(&node);
      }
    }
  }

  const auto build = [&](Lists& lists, auto key, auto other) {
    lists.first.assign(graph.idBound() + 1, 0);
    for (const Pair& pair : pairs_) ++lists.first[key(pair)->id() + 1];
    for (size_t i = 1; i < lists.first.size(); ++i) lists.first[i] += lists.first[i - 1];
    lists.nodes.resize(pairs_.size());
    std::vector<uint32_t> at(lists.first.begin(), lists.first.end() - 1);
    for (const Pair& pair : pairs_) lists.nodes[at[key(pair)->id()]++] = other(pair);
  };
  const auto first = [](const Pair& pair) { return pair.first; };
  const auto second = [](const Pair& pair) { return pair.second; };
  build(before_, second, first);
  build(after_, first, second);
}

SharedMemory::SharedMemory(const GraphModule& owner)
    : parent_(owner.graph().idBound()), facts_(owner.graph().idBound(), 0) {
  const Graph& graph = owner.graph();
  MemoryGroups groups(graph);
  for (const Node& node : graph.nodes()) joinViews(node, groups);
  const std::vector<bool> isWriter = findWriters(graph, &owner);
  anyWritten_ = !isWriter.empty();
  for (const Node& node : graph.nodes()) {
    parent_[node.id()] = groups.of(node);
    if (node.isPlaceholder()) facts_[groups.of(node)] |= kInput;
    if (node.isOutput()) {
      for (const Node& result : node.inputs()) facts_[groups.of(result)] |= kResult;
    }
    if (!anyWritten_ || !isWriter[node.id()]) continue;
    for (uint32_t group : writtenGroups(node, groups)) facts_[group] |= kWritten;
  }
}

uint32_t SharedMemory::groupOf(const Node& node) const {
  uint32_t at = node.id();
  while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
  return at;
}

void SharedMemory::join(const Node& a, const Node& b) {
  const uint32_t from = groupOf(a), to = groupOf(b);
  facts_[to] |= facts_[from];
  parent_[from] = to;
}

}  // namespace edgefx::detail

#include "dialect/write_analysis.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include "dialect/memory_sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace edgefx::detail {
namespace {

bool callsGraphs(const Node& node) {
  return node.isCall() && node.target().kind() == TargetKind::HigherOrder;
}

// with_effects(token, op, ...)
void refuseEffectThatWrites(const Node& node) {
  const Argument* const op = node.target().name() == "with_effects" ? node.findArg(1) : nullptr;
  if (op == nullptr || op->kind() != ArgumentKind::Operator) return;
  const OperatorInfo* const info = findOperator(op->asOperator());
  if (info == nullptr || !info->isMutable) return;
  refuseNode(node, fmt::format("operator '{}' has an effect and writes in place", op->asOperator().name()));
}

}  // namespace

Diagnostic aboutNode(const Node& node, std::string message) {
  Diagnostic about(std::move(message));
  about.node = node.name();
  about.nodeText = node.text();
  return about;
}

void refuseNode(const Node& node, std::string message) {
  throw UnsupportedError(aboutNode(node, std::move(message)));
}

std::vector<Node*> graphOperands(const Node& call) {
  std::vector<Node*> operands;
  const auto addItems = [&](size_t i) {
    const Argument* const list = call.findArg(i);
    if (list == nullptr) return;
    for (const Argument& item : list->items()) operands.push_back(item.findNode());
  };
  const std::string_view name = call.target().name();
  if (name == "cond") {
    addItems(3);
  } else if (name == "while_loop") {
    addItems(2);
    addItems(3);
  } else if (name == "map_impl") {
    addItems(1);
    addItems(2);
  } else if (name == "scan") {
    addItems(1);
    addItems(2);
    addItems(3);
  } else if (name == "invoke_subgraph" || name.starts_with("wrap_with_")) {
    size_t first = 0;
    for (size_t i = 0; i < call.args().size(); ++i) {
      const Node* const node = call.args()[i].findNode();
      if (node != nullptr && node->isGetAttr()) first = i + 1;
    }
    if (name == "invoke_subgraph" && first < call.args().size() && call.args()[first].isString()) ++first;
    for (size_t i = first; i < call.args().size(); ++i) operands.push_back(call.args()[i].findNode());
  }
  return operands;
}

bool takesMoreResults(const Node& call) {
  const std::string_view name = call.target().name();
  return name == "cond" || name == "invoke_subgraph" || name.starts_with("wrap_with_");
}

WrittenMemory::WrittenMemory(const Graph& graph) : parent_(graph.idBound()), isWritten_(graph.idBound(), 0) {
  std::iota(parent_.begin(), parent_.end(), uint32_t{0});
}

uint32_t WrittenMemory::groupOf(const Node& node) {
  uint32_t at = node.id();
  while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
  return at;
}

void WrittenMemory::finish() {
  for (uint32_t id = 0; id < parent_.size(); ++id) {
    if (isWritten_[id] == 0) continue;
    uint32_t at = id;
    while (parent_[at] != at) at = parent_[at];
    isWritten_[at] = 1;
  }
}

bool WrittenMemory::isWritten(const Node& node) {
  return node.id() < parent_.size() && isWritten_[groupOf(node)] != 0;
}

WriteAnalysis::WriteAnalysis(GraphModule& top, SameMemory sharing) : modules_(namedModules(top)) {
  std::ranges::reverse(modules_);
  for (const NestedModule& nested : modules_) {
    try {
      visit(nested, nested.module == &top ? sharing : SameMemory());
    } catch (Error& error) {
      Diagnostic place;
      place.graph = nested.path;
      error.fillIn(place);
      throw;
    }
  }
}

void WriteAnalysis::visit(const NestedModule& nested, SameMemory sharing) {
  joinBranches(nested);
  GraphModule& module = *nested.module;
  WrittenMemory memory(module.graph());
  for (const auto& [first, second] : sharing) memory.join(*first, *second);
  std::unordered_map<const Node*, CallSharing> calls;  // never iterated over
  for (const Node& node : module.graph().nodes()) {
    if (!node.isCall()) continue;
    if (const std::optional<int64_t> index = getitemIndex(node)) {
      const Node& source = node.arg(0).asNode();
      const auto found = calls.find(&source);
      if (found != calls.end()) {
        const std::vector<std::vector<size_t>>& ofResult = found->second.ofResult;
        if (*index < 0 || static_cast<size_t>(*index) >= ofResult.size()) continue;
        for (const size_t group : ofResult[static_cast<size_t>(*index)]) {
          for (const Node* operand : found->second.operands[group]) memory.join(*operand, node);
          found->second.operands[group].resize(1);  // the others are joined
        }
      } else if (sharingOf(source) != Sharing::Nothing && writtenOperands(source).empty()) {
        memory.join(node, source);
      }
      continue;
    }
    if (callsGraphs(node)) {
      refuseEffectThatWrites(node);
      const std::vector<Node*> operands = graphOperands(node);
      for (const GraphModule* branch : branchesOf(node, module)) {
        for (const size_t i : summaryOf(*branch).written) {
          if (i >= operands.size() || operands[i] == nullptr) continue;
          memory.markWritten(*operands[i]);
          writesAnything_ = true;
        }
      }
      calls.emplace(&node, sharingOfGraphs(node, module));
      continue;
    }
    const bool isInPlaceView = node.target().isOperator() && viewInPlace(node.target()).has_value();
    // Of what is written, only operators in ATen's form return it.
    const bool returnsWritten =
        node.target().op().ends_with('_') || node.target().overload().ends_with("out");
    for (const Node* written : writtenOperands(node)) {
      memory.markWritten(*written);
      if (returnsWritten) memory.join(node, *written);
      writesAnything_ = true;
    }
    if (isInPlaceView) continue;
    switch (sharingOf(node)) {
      case Sharing::Nothing:
        break;
      case Sharing::Same:
      case Sharing::View:
      case Sharing::Views:
        memory.join(node, node.arg(0).asNode());
        break;
      case Sharing::Unknown:
        for (const Node& input : node.inputs()) memory.join(node, input);
        break;
    }
  }
  memory.finish();
  summarize(module, memory);
  memories_.emplace(&module, std::move(memory));
}

// Gives all graphs that calls of the module have in common the same writes.
void WriteAnalysis::joinBranches(const NestedModule& nested) {
  std::unordered_map<const GraphModule*, size_t> positions;
  std::vector<GraphModule*> graphs;
  std::vector<size_t> parent;
  const auto rootOf = [&](size_t at) {
    while (parent[at] != at) at = parent[at] = parent[parent[at]];
    return at;
  };
  const auto positionOf = [&](GraphModule* graph) {
    const auto [found, isNew] = positions.emplace(graph, graphs.size());
    if (isNew) {
      graphs.push_back(graph);
      parent.push_back(found->second);
    }
    return found->second;
  };
  std::vector<std::pair<const Node*, size_t>> calls;
  for (const Node& node : nested.module->graph().nodes()) {
    if (!callsGraphs(node)) continue;
    const std::vector<GraphModule*> branches = branchesOf(node, *nested.module);
    if (branches.empty()) continue;
    const size_t first = positionOf(branches.front());
    for (GraphModule* branch : branches) parent[rootOf(positionOf(branch))] = rootOf(first);
    calls.emplace_back(&node, first);
  }
  std::vector<std::set<size_t>> written(graphs.size());
  for (size_t i = 0; i < graphs.size(); ++i) {
    const std::set<size_t>& own = summaryOf(*graphs[i]).written;
    written[rootOf(i)].insert(own.begin(), own.end());
  }
  for (size_t i = 0; i < graphs.size(); ++i) summaries_.at(graphs[i]).written = written[rootOf(i)];
  for (const auto& [call, first] : calls) {
    if (written[rootOf(first)].empty()) continue;
    bool allTuples = true;
    for (const GraphModule* branch : branchesOf(*call, *nested.module)) {
      allTuples = allTuples && summaryOf(*branch).returnsTuple;
    }
    if (takesMoreResults(*call) && allTuples) continue;
    refuseNode(*call,
               fmt::format("operator '{}' calls a graph that writes its operand {} in place, and takes no "
                           "further results",
                           call->target().name(), *written[rootOf(first)].begin()));
  }
}

CallSharing WriteAnalysis::sharingOfGraphs(const Node& call, GraphModule& owner) const {
  CallSharing sharing;
  const std::vector<Node*> operands = graphOperands(call);
  const auto addTo = [&](size_t result, size_t group) {
    if (result >= sharing.ofResult.size()) sharing.ofResult.resize(result + 1);
    sharing.ofResult[result].push_back(group);
  };
  for (const GraphModule* branch : branchesOf(call, owner)) {
    const GraphSummary& summary = summaryOf(*branch);
    std::unordered_map<uint32_t, size_t> groups;
    const size_t count = std::min(summary.inputGroups.size(), operands.size());
    for (size_t i = 0; i < count; ++i) {
      if (operands[i] == nullptr) continue;
      const auto [found, isNew] = groups.emplace(summary.inputGroups[i], sharing.operands.size());
      if (isNew) sharing.operands.emplace_back();
      sharing.operands[found->second].push_back(operands[i]);
    }
    for (size_t i = 0; i < summary.resultGroups.size(); ++i) {
      const auto found = groups.find(summary.resultGroups[i]);
      if (found != groups.end()) addTo(i, found->second);
    }
  }
  return sharing;
}

void WriteAnalysis::summarize(GraphModule& module, WrittenMemory& memory) {
  GraphSummary& summary = summaries_[&module];
  const std::vector<Node*> inputs = module.graph().placeholders();
  for (size_t i = 0; i < inputs.size(); ++i) {
    summary.inputGroups.push_back(memory.groupOf(*inputs[i]));
    if (memory.isWritten(*inputs[i])) summary.written.insert(i);
  }
  const Node* const output = module.graph().back();
  if (output == nullptr || !output->isOutput() || output->args().empty()) return;
  summary.returnsTuple = output->arg(0).isSequence();
  for (const Argument& result : output->arg(0).items()) {
    const Node* const node = result.findNode();
    summary.resultGroups.push_back(node == nullptr ? ~uint32_t{0} : memory.groupOf(*node));
  }
}

}  // namespace edgefx::detail

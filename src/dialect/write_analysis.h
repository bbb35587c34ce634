#pragma once

#include <edgefx/ir/graph_module.h>
#include <edgefx/support/error.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Groups of nodes whose values may share memory.
class WrittenMemory {
 public:
  WrittenMemory() = default;
  explicit WrittenMemory(const Graph& graph);

  uint32_t groupOf(const Node& node);
  void join(const Node& a, const Node& b) { parent_[groupOf(a)] = groupOf(b); }
  void markWritten(const Node& node) { isWritten_[node.id()] = 1; }
  // To be called once all is joined.
  void finish();
  // Whether anything of the node's group is written in place.
  bool isWritten(const Node& node);

 private:
  std::vector<uint32_t> parent_;
  std::vector<char> isWritten_;
};

// What a graph does to its placeholders, by their position.
struct GraphSummary {
  std::set<size_t> written;  // those whose memory is, or may be, written; the same for all graphs of a call
  std::vector<uint32_t> inputGroups;   // groups of the placeholders
  std::vector<uint32_t> resultGroups;  // and of the results; of numbers one that no placeholder has
  bool returnsTuple = true;
};

// Operands of a call of graphs whose memory its results may hold, as the graphs return it. What a loop begins
// with counts as none of its results.
struct CallSharing {
  std::vector<std::vector<Node*>> operands;   // in groups that results hold together
  std::vector<std::vector<size_t>> ofResult;  // of each result the groups that it may hold
};

// What calls write in place, for a module and all below it that nodes name. Throws UnsupportedError where an
// operator that takes no further results calls a graph that writes its operands. O(nodes).
class WriteAnalysis {
 public:
  // `sharing`: placeholders of the top that show one memory.
  WriteAnalysis(GraphModule& top, std::span<const std::pair<const Node*, const Node*>> sharing);

  // Whether anything is written, whoever sees it.
  bool writesAnything() const { return writesAnything_; }
  // Modules with their paths, children before their parents.
  const std::vector<NestedModule>& modules() const { return modules_; }
  const GraphSummary& summaryOf(const GraphModule& module) const { return summaries_.at(&module); }
  WrittenMemory& memoryOf(const GraphModule& module) { return memories_.at(&module); }
  // O(operands and results of the call's graphs).
  CallSharing sharingOfGraphs(const Node& call, GraphModule& owner) const;

 private:
  using SameMemory = std::span<const std::pair<const Node*, const Node*>>;
  void visit(const NestedModule& nested, SameMemory sharing);
  void joinBranches(const NestedModule& nested);
  void summarize(GraphModule& module, WrittenMemory& memory);

  std::vector<NestedModule> modules_;
  std::unordered_map<const GraphModule*, GraphSummary> summaries_;  // never iterated over
  std::unordered_map<const GraphModule*, WrittenMemory> memories_;
  bool writesAnything_ = false;
};

// What a call passes to its graphs, null for what is no node, in the order of their placeholders; empty for
// operators that pass on something else.
std::vector<Node*> graphOperands(const Node& call);

// Whether results of the operator's graphs become its own one by one, so that there may be more.
bool takesMoreResults(const Node& call);

// A fault of a node, and the UnsupportedError about it.
Diagnostic aboutNode(const Node& node, std::string message);
[[noreturn]] void refuseNode(const Node& node, std::string message);

}  // namespace edgefx::detail

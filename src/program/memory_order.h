#pragma once

#include <edgefx/program/exported_program.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Which calls of a graph write memory in place, what the graphs and delegates that they call write included:
// true at their node id, empty if none does. O(nodes), those of the called graphs included.
std::vector<bool> inPlaceWriters(const GraphModule& owner);

// Where the memory of a stored tensor begins; null for what has none. Two that begin at one address share it.
const void* memoryOf(const ExportedProgram& program, const InputSpec& spec);

// Which nodes of a graph must keep their order though no value passes between them: one writes memory in
// place that the other reads or writes too, directly or through views. As schemas tell it; operators without
// a schema are taken to write nothing. Calls of graphs and delegates in which anything is written count as
// writing all their operands. None in functional graphs. Valid until the graph changes.
class MemoryOrder {
 public:
  using Pair = std::pair<const Node*, const Node*>;

  MemoryOrder() = default;
  // `owner` is a module of the program; at the top level, inputs that hold tensors of one memory are the same
  // memory. O(nodes + uses + specs), branches and delegates included.
  MemoryOrder(const ExportedProgram& program, const GraphModule& owner)
      : MemoryOrder(owner.graph(), &owner, &program) {}
  // Without what calls of graphs and delegates write, and what inputs share. O(nodes + uses).
  explicit MemoryOrder(const Graph& graph) : MemoryOrder(graph, nullptr, nullptr) {}

  bool empty() const { return pairs_.empty(); }
  // First and second node, sorted by the second in the order of the graph.
  const std::vector<Pair>& pairs() const { return pairs_; }
  // The nodes that must come before this one, and after it.
  std::span<const Node* const> before(const Node& node) const { return before_.of(node); }
  std::span<const Node* const> after(const Node& node) const { return after_.of(node); }

 private:
  MemoryOrder(const Graph& graph, const GraphModule* owner, const ExportedProgram* program);

  struct Lists {
    std::vector<uint32_t> first;  // by node id, one more at the end; empty if there is nothing
    std::vector<const Node*> nodes;

    std::span<const Node* const> of(const Node& node) const {
      if (node.id() + 1 >= first.size()) return {};
      return std::span(nodes).subspan(first[node.id()], first[node.id() + 1] - first[node.id()]);
    }
  };

  std::vector<Pair> pairs_;
  Lists before_, after_;
};

}  // namespace edgefx::detail

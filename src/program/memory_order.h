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

// Placeholders of the top level graph whose stored tensors are in one memory: each with the first of them.
// O(nodes + specs).
std::vector<std::pair<const Node*, const Node*>> inputsOfOneMemory(const ExportedProgram& program);

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

// Which values of a graph may share memory, as schemas tell it, and what happens to that memory. Values of
// calls without a schema may share that of every operand. For nodes that the graph had when this was made.
class SharedMemory {
 public:
  // O(nodes + uses), branches and delegates included.
  explicit SharedMemory(const GraphModule& owner);

  // Whether something writes the value's memory in place.
  bool isWritten(const Node& node) const { return has(node, kWritten); }
  // Whether a placeholder, or a result of the graph, has that memory.
  bool holdsInput(const Node& node) const { return has(node, kInput); }
  bool holdsResult(const Node& node) const { return has(node, kResult); }
  bool share(const Node& a, const Node& b) const { return groupOf(a) == groupOf(b); }
  // Whether anything in the graph is written in place.
  bool anyWritten() const { return anyWritten_; }
  // From now on both may share memory.
  void join(const Node& a, const Node& b);

 private:
  enum Fact : uint8_t { kWritten = 1, kInput = 2, kResult = 4 };

  uint32_t groupOf(const Node& node) const;
  bool has(const Node& node, Fact fact) const { return (facts_[groupOf(node)] & fact) != 0; }

  mutable std::vector<uint32_t> parent_;  // by node id
  std::vector<uint8_t> facts_;            // of the group's first
  bool anyWritten_ = false;
};

}  // namespace edgefx::detail

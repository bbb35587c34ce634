#pragma once

#include <edgefx/program/exported_program.h>

#include "program/memory_order.h"

#include <cstdint>
#include <unordered_set>

namespace edgefx::detail {

// What the standard passes ask of a graph before they change it.
struct GraphFacts {
  // `module` is of the program. Inputs of the program that store one memory count as sharing it. O(nodes +
  // uses + specs).
  GraphFacts(const GraphModule& module, const ExportedProgram& program);

  // Whether the graph returns the node.
  bool isResult(const Node& node) const { return isResult_[node] != 0; }
  // Whether all uses of `copy`, a value of its own memory, may read `source` instead: neither is written in
  // place, and no result comes to share memory with an input or another result.
  bool mayShare(const Node& copy, const Node& source) const;
  // Whether all uses of `view`, a value of the same memory, may read `source` instead: no result becomes an
  // input or another result.
  bool mayStandFor(const Node& source, const Node& view) const;
  // Whether one of two equal values may do for both: no two results come to share memory that did not.
  bool mayMerge(const Node& a, const Node& b) const;
  // `source` takes the place of `node` everywhere, which is erased.
  void replace(Node& node, Node& source);

  SharedMemory memory;

 private:
  NodeMap<uint8_t> isResult_;
};

// Where the memory of state begins that the program's signature writes, or takes gradients of. O(specs).
std::unordered_set<const void*> writtenStorages(const ExportedProgram& program);

// Whether both are tensors of one dtype, layout, device, shape and strides.
bool sameLayout(const Node& a, const Node& b);

// Whether calls of the target always give the same results for the same arguments, and do nothing else. Not
// for those of which nothing is known.
bool isPure(const Node& call, const GraphModule& owner);

// Gives the specs of results the names of the nodes that are results now. O(specs).
void nameResults(ExportedProgram& program);

// The node of positional argument i, null if there is none.
Node* argumentNode(const Node& call, size_t i);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/graph_module.h>

#include <unordered_map>
#include <vector>

namespace edgefx::detail {

// Answers isImpure for many nodes, looking at each graph module once: O(nodes of the tree) for any number of
// questions. Holds as long as no impure node is made or erased.
class ImpurityTester {
 public:
  bool isImpure(const Node& node, const GraphModule& owner);

 private:
  // A module being looked through.
  struct Frame {
    const GraphModule* module;
    const Node* next;                        // first node not yet looked at
    std::vector<const GraphModule*> called;  // modules of the node before it, not yet looked at
  };

  bool holdsImpureNode(const GraphModule& module);

  std::unordered_map<const GraphModule*, bool> known_;
};

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/graph_module.h>

#include <vector>

namespace edgefx::detail {

// What happens to the memory of a stored tensor, as schemas tell it: programs that are not functional write
// it in place, through views too.
struct MemoryUse {
  bool isWritten = false;
  std::vector<const Node*> users;  // of the placeholder and of each of its views
};

// What becomes of stored tensors in one graph. Of calls of graphs and delegates it is only known whether they
// write anything: then it is all their operands. In a graph that is not functional their results may be
// views.
class MemoryUses {
 public:
  // `owner` is the module of the placeholders' graph, which must not change. O(nodes).
  explicit MemoryUses(const GraphModule& owner);
  // O(uses of the placeholder and its views).
  MemoryUse of(const Node& placeholder) const;

 private:
  std::vector<bool> isWriter_;  // by node id, empty if nothing is written in place
};

}  // namespace edgefx::detail

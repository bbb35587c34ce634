#pragma once

#include <edgefx/ir/node.h>

#include <vector>

namespace edgefx::detail {

// What happens to the memory of a stored tensor, as schemas tell it: programs that are not functional write
// it in place, through views too.
struct MemoryUse {
  bool isWritten = false;
  std::vector<const Node*> users;  // of the placeholder and of each of its views
};

// O(uses of the placeholder and its views).
MemoryUse memoryUse(const Node& placeholder);

}  // namespace edgefx::detail

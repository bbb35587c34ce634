#pragma once

#include <edgefx/ir/graph_module.h>

namespace edgefx::detail {

// Gives every call and get_attr node that has none a debug handle: numbers above those in use, graph by
// graph, the nearest to the top first. O(nodes).
void addDebugHandles(GraphModule& top);

}  // namespace edgefx::detail

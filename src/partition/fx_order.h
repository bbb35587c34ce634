#pragma once

#include <edgefx/ir/graph.h>

#include <span>
#include <utility>

namespace edgefx::detail {

// Sorts the nodes as FX's legalize_graph does: by Kahn's algorithm with a queue, roots in the order of the
// graph, users in their order, arithmetic of symbolic numbers and assertions ahead of the queue. Not stable:
// independent nodes move. Placeholders stay in front and the output node at the end, where FX may misplace
// both. O(nodes + uses).
//
// `more` are pairs of nodes of which the first must stay before the second, besides uses.
void sortLikeFx(Graph& graph, std::span<const std::pair<const Node*, const Node*>> more = {});

}  // namespace edgefx::detail

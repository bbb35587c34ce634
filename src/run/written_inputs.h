#pragma once

#include "run/plan.h"

#include <vector>

namespace edgefx::detail {

// For each placeholder of the graph whether an operator may write its memory in place, directly, through a
// view of it, or inside a graph that is called with it. Placeholders that a value may be a view of in common
// count together. The plans of the graphs that it calls have theirs. O(operands).
std::vector<bool> writtenInputs(const GraphPlan& plan);

}  // namespace edgefx::detail

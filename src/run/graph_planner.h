#pragma once

#include "run/plan.h"

#include <functional>
#include <string_view>
#include <unordered_map>

namespace edgefx::detail {

using PlansByModule = std::unordered_map<const GraphModule*, GraphPlan*>;
// `name` lives as long as the process.
using ReportMissing = std::function<void(const Node& node, std::string_view name)>;

// Fills in a plan that has its path and module only. The plans of the graphs that it calls are ready. Throws
// VerificationError naming the node for calls and references that do not hold together. O(nodes + uses).
void planGraph(GraphPlan& plan, const PlansByModule& plans, const ReportMissing& reportMissing);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/graph_module.h>
#include <edgefx/support/error.h>

#include <vector>

namespace edgefx {

// Whether a graph is well-formed: inputs stand before their users, names are unique, placeholders come first,
// there is exactly one output and it is last, users and inputs mirror each other. Returns every violation in
// graph order, each naming its node, at most kMostLintFindings. O(nodes + edges).
std::vector<Diagnostic> lint(const Graph& graph);

// The same for a module and all below it that nodes name, and that get_attr and call_module nodes name an
// existing child. Violations name the nested graph's path.
std::vector<Diagnostic> lint(const GraphModule& module);

inline constexpr size_t kMostLintFindings = 20;

}  // namespace edgefx

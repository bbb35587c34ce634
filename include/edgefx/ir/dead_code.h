#pragma once

#include <edgefx/ir/graph_module.h>

#include <cstddef>
#include <functional>

namespace edgefx {

// Tells whether a node must stay although it has no users. Not asked for placeholders and outputs: they
// always stay.
using ImpurityTest = std::function<bool(const Node& node, const GraphModule& owner)>;

// Erases every node that nobody uses and that is not impure, in this module and in all below it that nodes
// name. Children lose their module once the last node that named them is erased; those that no node named
// before stay. Returns the number of nodes erased, without those of dropped children. Without a test,
// isImpure of ir/operators.h decides. O(nodes of the whole tree). The graphs must be in order, see lint: in
// another one less may be erased.
size_t eliminateDeadCode(GraphModule& module, const ImpurityTest& isImpure = {});

}  // namespace edgefx

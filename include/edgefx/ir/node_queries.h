#pragma once

#include <edgefx/ir/graph_module.h>
#include <edgefx/support/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// The description of a node's value if that is a tensor; null for other values, for those of which nothing is
// known, and for no node.
const TensorMeta* tensorMetaOf(const Node& node);
const TensorMeta* tensorMetaOf(const Node* node);

// The index if the node is a getitem of another node by a plain integer.
std::optional<int64_t> getitemIndex(const Node& node);

// The users of a node for which getitemIndex gives an index into its value, in order of users. O(users).
std::vector<Node*> getitemUsers(Node& node);

// A fault of this node, for an error to carry: its name and text, and as notes what is known of its inputs'
// values and the source line that it comes from.
Diagnostic nodeFault(const Node& node, std::string message);

// The graph modules that a node's get_attr inputs name, in order of inputs, each once: the branches of
// control flow. `owner` is the module of the node's graph.
std::vector<GraphModule*> branchesOf(const Node& node, GraphModule& owner);
std::vector<const GraphModule*> branchesOf(const Node& node, const GraphModule& owner);

}  // namespace edgefx

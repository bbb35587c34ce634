#pragma once

#include <edgefx/ir/graph_module.h>

#include <vector>

// Operators that call graphs, such as cond or while_loop, and the operands that they pass on.
namespace edgefx::detail {

// Calls in one graph that must take a further operand together, and the graphs that they run.
struct CallsOfGraph {
  std::vector<Node*> calls;
  std::vector<GraphModule*> graphs;
};

// Those of `module`, a child of `owner`: a graph that takes an operand takes it from all its callers, and a
// caller gives it to all its graphs. O(nodes of the owner's graph).
CallsOfGraph findCallsOf(GraphModule& module, GraphModule& owner);

// Whether it is known where the operator takes further operands.
bool takesMoreOperands(const Node& call);
// Appends an operand to such a call.
void appendOperand(Node& call, Node& operand);
// Appends a placeholder with the name and value of `like`, which is of another graph.
Node& appendPlaceholder(Graph& graph, const Node& like);

}  // namespace edgefx::detail

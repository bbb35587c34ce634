#include "rewrite/calls_of_graphs.h"

#include <edgefx/ir/node_queries.h>

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx::detail {
namespace {

// Where an operator that calls graphs takes its further operands: a position of its arguments that holds a
// list, or none if the arguments themselves are the operands.
struct OperandPlace {
  bool isKnown = false;
  bool isList = false;
  size_t position = 0;
};

OperandPlace operandPlace(const Node& call) {
  if (!call.isCall() || call.target().kind() != TargetKind::HigherOrder) return {};
  const std::string_view name = call.target().name();
  if (name == "cond") return {true, true, 3};
  if (name == "while_loop") return {true, true, 3};
  if (name == "map_impl") return {true, true, 2};
  if (name == "scan") return {true, true, 3};
  if (name == "invoke_subgraph" || name == "wrap_with_set_grad_enabled" || name == "wrap_with_autocast") {
    return {true, false, 0};
  }
  return {};
}

}  // namespace

bool takesMoreOperands(const Node& call) {
  return operandPlace(call).isKnown;
}

void appendOperand(Node& call, Node& operand) {
  const OperandPlace place = operandPlace(call);
  if (!place.isList) {
    Args args(call.args().begin(), call.args().end());
    args.emplace_back(operand);
    call.setArgs(args);
    return;
  }
  const Argument* operands = call.findArg(place.position);
  Arg::List items;
  if (operands != nullptr) items.assign(operands->items().begin(), operands->items().end());
  items.emplace_back(operand);
  const bool isTuple = operands == nullptr || operands->kind() == ArgumentKind::Tuple;
  Arg list = isTuple ? Arg::tuple(std::move(items)) : Arg::list(std::move(items));
  if (operands != nullptr) {
    call.setArg(place.position, list);
    return;
  }
  Args args(call.args().begin(), call.args().end());
  args.push_back(std::move(list));
  call.setArgs(args);
}

CallsOfGraph findCallsOf(GraphModule& module, GraphModule& owner) {
  std::unordered_map<GraphModule*, std::vector<Node*>> callers;
  for (Node& node : owner.graph().nodes()) {
    if (!node.isCall()) continue;
    for (GraphModule* branch : branchesOf(node, owner)) callers[branch].push_back(&node);
  }
  CallsOfGraph found;
  found.graphs.push_back(&module);
  std::unordered_set<GraphModule*> seenGraphs{&module};
  std::unordered_set<Node*> seenCalls;
  for (size_t i = 0; i < found.graphs.size(); ++i) {
    for (Node* call : callers[found.graphs[i]]) {
      if (!seenCalls.insert(call).second) continue;
      found.calls.push_back(call);
      for (GraphModule* branch : branchesOf(*call, owner)) {
        if (seenGraphs.insert(branch).second) found.graphs.push_back(branch);
      }
    }
  }
  return found;
}

Node& appendPlaceholder(Graph& graph, const Node& like) {
  const std::vector<Node*> placeholders = graph.placeholders();
  InsertionPoint place;
  if (!placeholders.empty()) {
    place = after(*placeholders.back());
  } else if (Node* first = graph.front()) {
    place = before(*first);
  }
  const InsertionGuard guard(graph, place);
  Node& placeholder = graph.placeholder(like.name(), like.name());
  placeholder.setValue(like.valueRef());
  return placeholder;
}

}  // namespace edgefx::detail

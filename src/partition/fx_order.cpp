#include "partition/fx_order.h"

#include "ir/graph_builder.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {
namespace {

bool goesAhead(const Node& node) {
  static const auto targets = [] {
    std::array<Target, 17> made{
        Target("operator.add"),
        Target("operator.mul"),
        Target("operator.sub"),
        Target("operator.floordiv"),
        Target("operator.truediv"),
        Target("operator.mod"),
        Target("operator.le"),
        Target("operator.lt"),
        Target("operator.ge"),
        Target("operator.gt"),
        Target("operator.eq"),
        Target("operator.ne"),
        Target("aten.sym_constrain_range.default"),
        Target("aten.sym_constrain_range_for_size.default"),
        Target("aten._assert_async.msg"),
        Target("aten.scalar_tensor.default"),
        Target("aten._assert_scalar.default"),
    };
    return made;
  }();
  return std::any_of(targets.begin(), targets.end(), [&](Target target) { return node.isCall(target); });
}

}  // namespace

void sortLikeFx(Graph& graph, std::span<const std::pair<const Node*, const Node*>> more) {
  std::vector<uint32_t> waiting(graph.idBound(), 0);
  std::deque<Node*> queue;
  for (Node& node : graph.nodes()) {
    waiting[node.id()] = static_cast<uint32_t>(node.numInputs());
  }
  std::unordered_map<const Node*, std::vector<const Node*>> followers;
  for (const auto& [first, second] : more) {
    followers[first].push_back(second);
    ++waiting[second->id()];
  }
  std::unordered_map<const Node*, Node*> writable;
  for (Node& node : graph.nodes()) {
    if (waiting[node.id()] == 0) queue.push_back(&node);
    if (!more.empty()) writable.emplace(&node, &node);
  }
  std::vector<Node*> order;
  order.reserve(graph.size());
  Node* output = nullptr;
  while (!queue.empty()) {
    Node& node = *queue.front();
    queue.pop_front();
    if (node.isOutput()) {
      output = &node;
    } else {
      order.push_back(&node);
    }
    const auto arrive = [&](Node& user) {
      if (--waiting[user.id()] != 0) return;
      if (goesAhead(user)) {
        queue.push_front(&user);
      } else {
        queue.push_back(&user);
      }
    };
    for (Node& user : node.users()) arrive(user);
    if (followers.empty()) continue;
    if (const auto found = followers.find(&node); found != followers.end()) {
      for (const Node* follower : found->second) arrive(*writable.at(follower));
    }
  }
  std::stable_partition(order.begin(), order.end(), [](const Node* node) { return node->isPlaceholder(); });
  if (output != nullptr) order.push_back(output);
  GraphBuilder(graph).setOrder(order);
}

}  // namespace edgefx::detail

#include <edgefx/partition/capability_partitioner.h>

#include "partition/getitem.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx {

using detail::fail;
using detail::producerOf;

namespace {

// A graph in which each set is one item and each other node is one, numbered after the sets by node id.
class FusedView {
 public:
  FusedView(const Graph& graph, const std::vector<std::vector<const Node*>>& sets)
      : sets_(sets), nodes_(graph.idBound()), itemOf_(graph.idBound()) {
    const uint32_t count = static_cast<uint32_t>(sets.size());
    for (const Node& node : graph.nodes()) {
      nodes_[node.id()] = &node;
      itemOf_[node.id()] = count + node.id();
    }
    for (uint32_t i = 0; i < count; ++i) {
      for (const Node* node : sets[i]) {
        if (&node->graph() != &graph || node->isErased())
          fail<UsageError>("expected live nodes of the graph, found one of another graph or an erased one");
        if (isInSet(*node))
          fail<UsageError>("expected each node in one set, found '%{}' twice", node->name());
        itemOf_[node->id()] = i;
      }
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(sets_.size() + nodes_.size()); }
  uint32_t itemOf(const Node& node) const { return itemOf_[node.id()]; }
  bool isInSet(const Node& node) const { return itemOf(node) < sets_.size(); }
  // Number of nodes of an item.
  size_t count(uint32_t item) const {
    if (item < sets_.size()) return sets_[item].size();
    return nodes_[item - sets_.size()] == nullptr ? 0 : 1;
  }
  const Node& nodeOf(uint32_t item, size_t i) const {
    return item < sets_.size() ? *sets_[item][i] : *nodes_[item - sets_.size()];
  }

 private:
  const std::vector<std::vector<const Node*>>& sets_;
  std::vector<const Node*> nodes_;
  std::vector<uint32_t> itemOf_;
};

// Tarjan's strongly connected components, with a stack of its own.
class Components {
 public:
  explicit Components(const FusedView& view)
      : view_(view), component_(view.size()), index_(view.size()), low_(view.size()) {
    for (uint32_t item = 0; item < view.size(); ++item) {
      if (index_[item] == 0 && view.count(item) != 0) visit(item);
    }
  }
  uint32_t of(const Node& node) const { return component_[view_.itemOf(node)]; }

 private:
  struct Frame {
    uint32_t item;
    size_t node;
    NodeLinks<const Node>::Iterator user, end;
  };

  void enter(uint32_t item) {
    index_[item] = low_[item] = ++lastIndex_;
    open_.push_back(item);
    const NodeLinks<const Node> users = view_.nodeOf(item, 0).users();
    frames_.push_back({item, 0, users.begin(), users.end()});
  }

  void visit(uint32_t root) {
    enter(root);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.user == frame.end) {
        if (++frame.node == view_.count(frame.item)) {
          leave();
          continue;
        }
        const NodeLinks<const Node> users = view_.nodeOf(frame.item, frame.node).users();
        frame.user = users.begin();
        frame.end = users.end();
        continue;
      }
      const uint32_t next = view_.itemOf(*frame.user++);
      if (index_[next] == 0) {
        enter(next);
      } else if (component_[next] == 0) {
        low_[frame.item] = std::min(low_[frame.item], index_[next]);
      }
    }
  }

  void leave() {
    const uint32_t item = frames_.back().item;
    frames_.pop_back();
    if (!frames_.empty()) {
      uint32_t& low = low_[frames_.back().item];
      low = std::min(low, low_[item]);
    }
    if (low_[item] != index_[item]) return;
    ++lastComponent_;
    while (true) {
      const uint32_t member = open_.back();
      open_.pop_back();
      component_[member] = lastComponent_;
      if (member == item) break;
    }
  }

  const FusedView& view_;
  std::vector<uint32_t> component_;  // 0 as long as it is not known
  std::vector<uint32_t> index_, low_;
  std::vector<uint32_t> open_;
  std::vector<Frame> frames_;
  uint32_t lastIndex_ = 0, lastComponent_ = 0;
};

// How often a way from the node to the end leaves a set, at most, without leaving the component. Nodes of one
// set and level can be fused: a cycle would have to come back to the level that it has left.
std::vector<uint32_t> levelsWithin(const Graph& graph, const FusedView& view, const Components& components) {
  std::vector<uint32_t> level(graph.idBound());
  for (const Node* node = graph.back(); node != nullptr; node = node->prev()) {
    const uint32_t component = components.of(*node);
    for (const Node& input : node->inputs()) {
      if (components.of(input) != component) continue;
      const bool leaves = view.isInSet(input) && view.itemOf(input) != view.itemOf(*node);
      level[input.id()] = std::max(level[input.id()], level[node->id()] + (leaves ? 1 : 0));
    }
  }
  // A getitem must stay with its producer, which is its only input: no cycle comes of it.
  for (const Node& node : graph.nodes()) {
    const Node* producer = producerOf(node);
    if (producer != nullptr && view.isInSet(node) && view.itemOf(node) == view.itemOf(*producer))
      level[node.id()] = level[producer->id()];
  }
  return level;
}

}  // namespace

std::vector<std::vector<const Node*>> splitIntoConvex(const Graph& graph,
                                                      const std::vector<std::vector<const Node*>>& sets) {
  const FusedView view(graph, sets);
  const Components components(view);
  const std::vector<uint32_t> level = levelsWithin(graph, view, components);
  std::vector<std::vector<const Node*>> result;
  for (const std::vector<const Node*>& set : sets) {
    if (set.empty()) {
      result.emplace_back();
      continue;
    }
    std::vector<const Node*> ordered = set;
    std::sort(ordered.begin(), ordered.end(), [&](const Node* a, const Node* b) {
      const uint32_t left = level[a->id()], right = level[b->id()];
      return left != right ? left > right : a->isBefore(*b);
    });
    for (size_t i = 0; i < ordered.size(); ++i) {
      if (i == 0 || level[ordered[i]->id()] != level[ordered[i - 1]->id()]) result.emplace_back();
      result.back().push_back(ordered[i]);
    }
  }
  return result;
}

}  // namespace edgefx

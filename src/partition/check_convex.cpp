#include "partition/tagged_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace edgefx::detail {
namespace {

// The graph after fusing: a vertex for each partition, and one for each node that stays.
class FusedView {
 public:
  explicit FusedView(const TaggedGraph& graph) : graph_(graph), numPartitions_(graph.members.size()) {}

  size_t size() const { return numPartitions_ + graph_.owner->graph().idBound(); }
  size_t vertexOf(const Node& node) const {
    const uint32_t partition = graph_.partition(node);
    return partition == TaggedGraph::kNone ? numPartitions_ + node.id() : partition;
  }
  bool isPartition(size_t vertex) const { return vertex < numPartitions_; }

  // Calls visit(from, to, vertex of `to`) for each edge that leaves the vertex of `node`.
  template <typename Visit>
  void eachEdge(const Node& node, Visit&& visit) const {
    const size_t own = vertexOf(node);
    auto leave = [&](const Node& from) {
      for (const Node& user : from.users()) {
        const size_t other = vertexOf(user);
        if (other != own) visit(from, user, other);
      }
      for (const Node* later : graph_.order.after(from)) {
        const size_t other = vertexOf(*later);
        if (other != own) visit(from, *later, other);
      }
    };
    eachMember(node, leave);
  }
  // Calls visit(node) for each node in the vertex of `node`.
  template <typename Visit>
  void eachMember(const Node& node, Visit&& visit) const {
    const size_t own = vertexOf(node);
    if (!isPartition(own)) return visit(node);
    for (const Node* member : graph_.members[own]) visit(*member);
  }

 private:
  const TaggedGraph& graph_;
  size_t numPartitions_;
};

// Whether each partition stands behind everything that it reads, as partitions of neighbours do. No cycle
// could: it would stand behind itself.
bool followOneAnother(const TaggedGraph& graph) {
  for (const Node& node : std::as_const(*graph.owner).graph().nodes()) {
    const uint32_t own = graph.partition(node);
    const Node& first = own == TaggedGraph::kNone ? node : *graph.members[own].front();
    const auto follows = [&](const Node& earlier) {
      const uint32_t other = graph.partition(earlier);
      if (other == own && own != TaggedGraph::kNone) return true;
      const Node& last = other == TaggedGraph::kNone ? earlier : *graph.members[other].back();
      return last.isBefore(first);
    };
    for (const Node& input : node.inputs()) {
      if (!follows(input)) return false;
    }
    for (const Node* earlier : graph.order.before(node)) {
      if (!follows(*earlier)) return false;
    }
  }
  return true;
}

// A partition that lies on a cycle, as its first node; null if there is no cycle.
const Node* findOnCycle(const TaggedGraph& graph, const FusedView& view) {
  const Graph& nodes = std::as_const(*graph.owner).graph();
  std::vector<uint32_t> waiting(view.size(), 0);
  std::vector<const Node*> first(view.size(), nullptr);
  std::vector<size_t> ready;
  size_t vertices = 0;
  for (const Node& node : nodes.nodes()) {
    const size_t own = view.vertexOf(node);
    if (first[own] == nullptr) {
      first[own] = &node;
      ++vertices;
    }
    for (const Node& input : node.inputs()) waiting[own] += view.vertexOf(input) != own;
    for (const Node* earlier : graph.order.before(node)) waiting[own] += view.vertexOf(*earlier) != own;
  }
  for (const Node& node : nodes.nodes()) {
    const size_t own = view.vertexOf(node);
    if (first[own] == &node && waiting[own] == 0) ready.push_back(own);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    view.eachEdge(*first[ready[i]], [&](const Node&, const Node&, size_t other) {
      if (--waiting[other] == 0) ready.push_back(other);
    });
  }
  if (ready.size() == vertices) return nullptr;

  // Every vertex that is left waits for another one that is left, so that going back ends up on a cycle.
  size_t at = 0;
  while (first[at] == nullptr || waiting[at] == 0) ++at;
  auto waitsFor = [&](size_t vertex) {
    size_t found = vertex;
    view.eachMember(*first[vertex], [&](const Node& member) {
      for (const Node& input : member.inputs()) {
        const size_t other = view.vertexOf(input);
        if (other != vertex && waiting[other] != 0) found = other;
      }
      for (const Node* earlier : graph.order.before(member)) {
        const size_t other = view.vertexOf(*earlier);
        if (other != vertex && waiting[other] != 0) found = other;
      }
    });
    return found;
  };
  std::vector<bool> seen(view.size(), false);
  for (; !seen[at]; at = waitsFor(at)) seen[at] = true;
  const Node* earliest = nullptr;
  size_t on = at;
  do {
    if (view.isPartition(on) && (earliest == nullptr || first[on]->isBefore(*earliest))) earliest = first[on];
    on = waitsFor(on);
  } while (on != at);
  return earliest;
}

struct Step {
  const Node* from;
  const Node* to;
};

// The shortest way out of the partition of `start` and back, edge by edge; empty if there is none.
std::vector<Step> findWayBack(const FusedView& view, const Node& start) {
  const size_t home = view.vertexOf(start);
  std::vector<Step> reachedBy(view.size(), Step{nullptr, nullptr});
  std::deque<const Node*> pending{&start};
  while (!pending.empty()) {
    const Node& at = *pending.front();
    pending.pop_front();
    bool found = false;
    view.eachEdge(at, [&](const Node& from, const Node& to, size_t other) {
      if (found || reachedBy[other].from != nullptr) return;
      reachedBy[other] = {&from, &to};
      if (other == home) {
        found = true;
      } else {
        pending.push_back(&to);
      }
    });
    if (!found) continue;
    std::vector<Step> way;
    size_t vertex = home;
    do {
      way.push_back(reachedBy[vertex]);
      vertex = view.vertexOf(*way.back().from);
    } while (vertex != home);
    std::reverse(way.begin(), way.end());
    return way;
  }
  return {};
}

// "add -> sin -> mul"; where the way crosses another partition, that one is named.
std::string wayText(const TaggedGraph& graph, const PartitionResult& result, const std::vector<Step>& way) {
  std::string out(way.front().from->name());
  for (size_t i = 0; i < way.size(); ++i) {
    out += fmt::format(" -> {}", way[i].to->name());
    if (i + 1 == way.size() || way[i + 1].from == way[i].to) continue;
    out += fmt::format(" (in '{}', as is {})", tagText(graph, result, graph.partition(*way[i].to)),
                       way[i + 1].from->name());
  }
  return out;
}

}  // namespace

void checkConvex(const TaggedGraph& graph, const PartitionResult& result) {
  if (followOneAnother(graph)) return;
  const FusedView view(graph);
  const Node* const start = findOnCycle(graph, view);
  if (start == nullptr) return;
  const std::vector<Step> way = findWayBack(view, *start);
  const uint32_t partition = graph.partition(*start);
  Diagnostic diagnostic = taggedPlace(graph, result, partition);
  diagnostic.node = way.front().to->name();
  diagnostic.message =
      fmt::format("the nodes tagged '{}' cannot be fused: what they compute leaves them and comes back: {}",
                  tagText(graph, result, partition), wayText(graph, result, way));
  throw LoweringError(std::move(diagnostic));
}

}  // namespace edgefx::detail

#include "partition/literal_partitioner.h"

#include <algorithm>
#include <map>
#include <optional>

namespace edgefx::test {
namespace {

using NodeSet = std::set<const Node*>;

bool isGetitem(const Node& node) {
  return node.isCall("operator.getitem");
}

// The nodes of a partition, as a dict: with the order of insertion.
struct Members {
  std::vector<const Node*> nodes;

  bool has(const Node* node) const { return std::find(nodes.begin(), nodes.end(), node) != nodes.end(); }
  void add(const Node* node) {
    if (!has(node)) nodes.push_back(node);
  }
  void remove(const Node* node) { std::erase(nodes, node); }
};

class LiteralPartitioner {
 public:
  LiteralPartitioner(const Graph& graph, const std::function<bool(const Node&)>& supports,
                     const CapabilityOptions& options)
      : graph_(graph), supports_(supports), options_(options) {
    for (const Node* node = graph.back(); node != nullptr; node = node->prev()) {
      for (const Node& user : node->users()) {
        downstreams_[node].insert(&user);
        const NodeSet further = downstreams_[&user];
        downstreams_[node].insert(further.begin(), further.end());
      }
    }
  }

  LiteralProposal run() {
    for (const Node* node = graph_.back(); node != nullptr; node = node->prev()) visit(*node);
    for (auto& [id, members] : partitions_) {
      std::sort(members.nodes.begin(), members.nodes.end(),
                [](const Node* a, const Node* b) { return a->isBefore(*b); });
    }
    reassignGetitems();
    LiteralProposal result;
    for (const int id : order_) {
      const Members& members = partitions_.at(id);
      if (!options_.allowsSingleNodePartition && countComputing(members) <= 1) continue;
      if (!members.nodes.empty()) result.partitions.push_back({static_cast<uint32_t>(id), members.nodes});
    }
    result.madeCycle = madeCycle_;
    return result;
  }

 private:
  void visit(const Node& node) {
    std::vector<int> candidates;
    const auto addCandidate = [&](int id) {
      if (std::find(candidates.begin(), candidates.end(), id) == candidates.end()) candidates.push_back(id);
    };
    if (supports_(node) && assignment_.count(&node) == 0) {
      const int id = nextId_++;
      ages_[id] = id;
      mergeSingleNode(&node, id);
      addCandidate(id);
      if (options_.skipHorizontalFusion) {
        for (const Node& user : node.users()) {
          if (assignment_.count(&user) != 0) addCandidate(assignment_.at(&user));
        }
      }
    }
    if (!options_.skipHorizontalFusion) {
      std::vector<std::pair<int, int>> byAge;
      for (const auto& [id, age] : ages_) byAge.emplace_back(age, id);
      std::sort(byAge.begin(), byAge.end());
      for (const auto& [age, id] : byAge) addCandidate(id);
    }
    if (candidates.size() < 2) return;
    int self = candidates[0];
    for (size_t i = 1; i < candidates.size(); ++i) self = maybeMerge(self, candidates[i]);
  }

  void mergeSingleNode(const Node* node, std::optional<int> id) {
    if (assignment_.count(node) != 0) partitions_.at(assignment_.at(node)).remove(node);
    if (!id) {
      assignment_.erase(node);
      return;
    }
    assignment_[node] = *id;
    if (partitions_.count(*id) != 0) {
      partitions_.at(*id).add(node);
      return;
    }
    partitions_[*id].add(node);
    order_.push_back(*id);
    for (const Node& user : node->users()) users_[*id].insert(&user);
    for (const Node& user : node->users()) {
      if (assignment_.count(&user) == 0) continue;
      const int target = assignment_.at(&user);
      reached_[*id].insert(target);
      const std::set<int> further = reached_[target];
      reached_[*id].insert(further.begin(), further.end());
    }
  }

  bool findsCycle(const NodeSet& users, int self, int other) {
    const Members &selfNodes = partitions_.at(self), &otherNodes = partitions_.at(other);
    for (const Node* user : users) {
      for (const Node* path : downstreams_[user]) {
        if (selfNodes.has(path) || otherNodes.has(path)) return true;
        if (assignment_.count(path) == 0) continue;
        const std::set<int>& map = reached_[assignment_.at(path)];
        if (map.count(self) != 0 || map.count(other) != 0) return true;
      }
    }
    return false;
  }

  int maybeMerge(int self, int other) {
    NodeSet users = users_[self];
    users.insert(users_[other].begin(), users_[other].end());
    for (const Node* node : partitions_.at(self).nodes) users.erase(node);
    for (const Node* node : partitions_.at(other).nodes) users.erase(node);
    if (findsCycle(users, self, other)) return self;
    int kept = self, gone = other;
    if (partitions_.at(self).nodes.size() < partitions_.at(other).nodes.size()) std::swap(kept, gone);
    for (const Node* node : partitions_.at(gone).nodes) {
      partitions_.at(kept).add(node);
      assignment_[node] = kept;
    }
    partitions_.erase(gone);
    std::erase(order_, gone);
    ages_[kept] = std::min(ages_[kept], ages_[gone]);
    ages_.erase(gone);
    const std::set<int> further = reached_[gone];
    reached_[kept].insert(further.begin(), further.end());
    reached_.erase(gone);
    users_[kept] = users;
    users_.erase(gone);
    std::vector<std::vector<const Node*>> sets;
    for (const auto& [id, members] : partitions_) sets.push_back(members.nodes);
    madeCycle_ = madeCycle_ || makesCycle(graph_, sets);
    return kept;
  }

  void reassignGetitems() {
    while (true) {
      std::vector<std::pair<const Node*, std::optional<int>>> moves;
      for (const Node& node : graph_.nodes()) {
        if (!std::ranges::all_of(node.users(), isGetitem)) continue;
        const std::optional<int> id = partitionOf(&node);
        for (const Node& user : node.users()) {
          if (partitionOf(&user) != id) moves.emplace_back(&user, id);
        }
      }
      if (moves.empty()) return;
      for (const auto& [node, id] : moves) mergeSingleNode(node, id);
    }
  }

  std::optional<int> partitionOf(const Node* node) const {
    const auto found = assignment_.find(node);
    return found == assignment_.end() ? std::nullopt : std::optional(found->second);
  }

  int countComputing(const Members& members) const {
    const auto isIn = [](const std::vector<Target>& targets, const Node& node) {
      return std::find(targets.begin(), targets.end(), node.target()) != targets.end();
    };
    int count = 0;
    for (const Node* node : members.nodes) {
      if (!node->isCall()) continue;
      if (!isGetitem(*node) && !node->isCall("aten.view") && !isIn(options_.nonComputeOps, *node)) ++count;
      if (isIn(options_.allowedSingleNodePartitionOps, *node)) ++count;
    }
    return count;
  }

  const Graph& graph_;
  const std::function<bool(const Node&)>& supports_;
  const CapabilityOptions& options_;
  std::map<const Node*, NodeSet> downstreams_;
  std::map<const Node*, int> assignment_;
  std::map<int, Members> partitions_;
  std::vector<int> order_;  // of insertion into partitions_
  std::map<int, int> ages_;
  std::map<int, std::set<int>> reached_;
  std::map<int, NodeSet> users_;
  int nextId_ = 0;
  bool madeCycle_ = false;
};

// Between a node and the border of a partition.
class Bookends {
 public:
  Bookends(const std::vector<const Node*>& nodes, const std::vector<Target>& nonComputeOps)
      : nodes_(nodes.begin(), nodes.end()), nonComputeOps_(nonComputeOps) {}

  bool goes(const Node& node) {
    const bool result = isNonCompute(node) && (isOpen(node, true) || isOpen(node, false));
    if (result) removed_.insert(&node);
    return result;
  }

 private:
  bool isNonCompute(const Node& node) const {
    return node.isCall() &&
           std::find(nonComputeOps_.begin(), nonComputeOps_.end(), node.target()) != nonComputeOps_.end();
  }
  bool isOpen(const Node& node, bool upwards) {
    if (node.isPlaceholder() || nodes_.count(&node) == 0 || removed_.count(&node) != 0) return true;
    if (!isNonCompute(node)) return false;
    const auto open = [&](const Node& next) { return isOpen(next, upwards); };
    return upwards ? std::ranges::all_of(node.inputs(), open) : std::ranges::all_of(node.users(), open);
  }

  NodeSet nodes_, removed_;
  const std::vector<Target>& nonComputeOps_;
};

}  // namespace

LiteralProposal proposeLiterally(const Graph& graph, const std::function<bool(const Node&)>& supports,
                                 const CapabilityOptions& options) {
  return LiteralPartitioner(graph, supports, options).run();
}

void removeBookendsLiterally(std::vector<ProposedPartition>& partitions,
                             const std::vector<Target>& nonComputeOps) {
  for (ProposedPartition& partition : partitions) {
    Bookends bookends(partition.nodes, nonComputeOps);
    std::vector<const Node*> kept;
    for (const Node* node : partition.nodes) {
      if (!bookends.goes(*node)) kept.push_back(node);
    }
    partition.nodes = kept;
  }
}

bool makesCycle(const Graph& graph, const std::vector<std::vector<const Node*>>& sets) {
  std::vector<size_t> itemOf(graph.idBound());
  for (uint32_t id = 0; id < graph.idBound(); ++id) itemOf[id] = sets.size() + id;
  for (size_t i = 0; i < sets.size(); ++i) {
    for (const Node* node : sets[i]) itemOf[node->id()] = i;
  }
  // Takes away items without producers until none is left.
  std::vector<std::set<size_t>> users(sets.size() + graph.idBound());
  std::vector<size_t> producers(users.size());
  for (const Node& node : graph.nodes()) {
    for (const Node& user : node.users()) {
      const size_t from = itemOf[node.id()], to = itemOf[user.id()];
      if (from != to && users[from].insert(to).second) ++producers[to];
    }
  }
  std::vector<size_t> ready;
  for (size_t item = 0; item < users.size(); ++item) {
    if (producers[item] == 0) ready.push_back(item);
  }
  size_t taken = 0;
  while (!ready.empty()) {
    const size_t item = ready.back();
    ready.pop_back();
    ++taken;
    for (const size_t user : users[item]) {
      if (--producers[user] == 0) ready.push_back(user);
    }
  }
  return taken < users.size();
}

std::vector<std::string> textOf(const std::vector<ProposedPartition>& partitions) {
  std::vector<std::string> lines;
  for (const ProposedPartition& partition : partitions) {
    std::string line = std::to_string(partition.id) + ":";
    for (const Node* node : partition.nodes) line += " " + std::string(node->name());
    lines.push_back(line);
  }
  return lines;
}

}  // namespace edgefx::test

#include <edgefx/partition/capability_partitioner.h>

#include "partition/assignment.h"
#include "partition/getitem.h"
#include "support/fail.h"

#include <algorithm>
#include <utility>

namespace edgefx {

using detail::fail;
using detail::MemoryOrder;
using detail::PartitionAssignment;
using detail::producerOf;

namespace {

constexpr uint32_t kNone = PartitionAssignment::kNone;

// The nodes to divide.
struct ClaimedNodes {
  struct Entry {
    const Node* node;
    uint32_t id;  // of the node, which would have to be fetched from memory once more
  };
  std::vector<uint8_t> isClaimed;  // by node id
  std::vector<Entry> nodes;        // in graph order
  std::vector<const Node*> getitems;
};

ClaimedNodes claimNodes(const Graph& graph, const OperatorSupport& support) {
  ClaimedNodes claimed;
  claimed.isClaimed.resize(graph.idBound());
  claimed.nodes.reserve(graph.size());
  for (const Node& node : graph.nodes()) {
    if (node.isPlaceholder() || node.isOutput()) continue;
    const Node* producer = producerOf(node);
    const bool isClaimed =
        producer != nullptr ? claimed.isClaimed[producer->id()] != 0 : support.supports(node);
    if (!isClaimed) continue;
    claimed.isClaimed[node.id()] = 1;
    claimed.nodes.push_back({&node, node.id()});
    if (producer != nullptr) claimed.getitems.push_back(&node);
  }
  return claimed;
}

// The reference walks backwards and merges each new node into the oldest partition with which it makes no
// cycle. A node that was refused by a partition reaches it, so younger partitions reach all older ones, and
// what a node reaches are the partitions up to some number. One number a node therefore does for
// reachability.
PartitionAssignment assignByLevel(const Graph& graph, const std::vector<uint8_t>& claimed,
                                  const MemoryOrder& order) {
  PartitionAssignment result;
  std::vector<uint32_t>& level = result.partitionOf;
  // Until its turn, a claimed node holds the oldest partition that its users let it join. Others hold how
  // many partitions they reach.
  level.assign(graph.idBound(), 0);
  std::vector<uint32_t> sizes;
  uint32_t serial = 0;
  for (const Node* node = graph.back(); node != nullptr; node = node->prev()) {
    const uint32_t own = level[node->id()];
    const bool isClaimed = claimed[node->id()] != 0;
    const auto reach = [&](const Node& earlier) {
      const uint32_t seen = isClaimed && claimed[earlier.id()] == 0 ? own + 1 : own;
      level[earlier.id()] = std::max(level[earlier.id()], seen);
    };
    for (const Node& input : node->inputs()) reach(input);
    for (const Node* earlier : order.before(*node)) reach(*earlier);
    if (!isClaimed) {
      level[node->id()] = kNone;
      continue;
    }
    if (own >= sizes.size()) {
      sizes.resize(own + 1, 0);
      result.ids.resize(own + 1, 0);
    }
    // Of two partitions of one node the newer keeps its id, otherwise the larger does.
    if (sizes[own]++ < 2) result.ids[own] = serial;
    ++serial;
  }
  return result;
}

// A getitem that follows its producer. The reference moves nested ones round by round.
struct Move {
  uint32_t round = 0;
  const Node* producer = nullptr;
  const Node* node = nullptr;
};

// Puts every getitem into the partition of its producer. No cycle comes of it: the producer is its only
// input.
std::vector<Move> followProducers(const Graph& graph, const ClaimedNodes& claimed,
                                  PartitionAssignment& assignment) {
  std::vector<Move> moves;
  std::vector<uint32_t>& partitionOf = assignment.partitionOf;
  std::vector<uint32_t> rounds;  // in which a getitem moved, 0 for none
  for (const Node* getitem : claimed.getitems) {
    const Node& node = *getitem;
    const Node* producer = producerOf(node);
    const uint32_t producerRound = rounds.empty() ? 0 : rounds[producer->id()];
    if (producerRound == 0 && partitionOf[producer->id()] == partitionOf[node.id()]) continue;
    if (rounds.empty()) rounds.resize(graph.idBound());
    rounds[node.id()] = producerRound + 1;
    moves.push_back({producerRound + 1, producer, &node});
    partitionOf[node.id()] = partitionOf[producer->id()];
  }
  if (moves.empty()) return moves;
  std::vector<uint32_t> userOrder(graph.idBound());
  for (const Node& node : graph.nodes()) {
    uint32_t at = 0;
    for (const Node& user : node.users()) {
      if (producerOf(user) == &node) userOrder[user.id()] = at++;
    }
  }
  std::sort(moves.begin(), moves.end(), [&](const Move& a, const Move& b) {
    if (a.round != b.round) return a.round < b.round;
    if (a.producer != b.producer) return a.producer->isBefore(*b.producer);
    return userOrder[a.node->id()] < userOrder[b.node->id()];
  });
  return moves;
}

std::vector<ProposedPartition> listNodes(const Graph& graph, const ClaimedNodes& claimed,
                                         const PartitionAssignment& assignment,
                                         const std::vector<Move>& moves) {
  std::vector<ProposedPartition> partitions(assignment.ids.size());
  std::vector<uint32_t> sizes(assignment.ids.size());
  for (const ClaimedNodes::Entry& entry : claimed.nodes) ++sizes[assignment.partitionOf[entry.id]];
  for (size_t i = 0; i < partitions.size(); ++i) {
    partitions[i].id = assignment.ids[i];
    partitions[i].nodes.reserve(sizes[i]);
  }
  std::vector<uint8_t> isMoved(moves.empty() ? 0 : graph.idBound());
  for (const Move& move : moves) isMoved[move.node->id()] = 1;
  for (const ClaimedNodes::Entry& entry : claimed.nodes) {
    if (!isMoved.empty() && isMoved[entry.id] != 0) continue;
    partitions[assignment.partitionOf[entry.id]].nodes.push_back(entry.node);
  }
  for (const Move& move : moves)
    partitions[assignment.partitionOf[move.node->id()]].nodes.push_back(move.node);
  return partitions;
}

// Operators without their dialect.
class OperatorList {
 public:
  explicit OperatorList(std::span<const Target> targets) {
    for (Target target : targets) targets_.push_back(target.toAten());
  }
  bool holds(const Node& node) const {
    return !targets_.empty() && node.isCall() &&
           std::find(targets_.begin(), targets_.end(), node.target().toAten()) != targets_.end();
  }

 private:
  std::vector<Target> targets_;
};

bool mayStandAlone(const ProposedPartition& partition, const OperatorList& nonCompute,
                   const OperatorList& alone) {
  static const Target getitem("operator.getitem"), view("aten.view");
  int computing = 0;
  for (const Node* node : partition.nodes) {
    if (!node->isCall()) continue;
    if (!node->isCall(getitem) && !node->isCall(view) && !nonCompute.holds(*node)) ++computing;
    if (alone.holds(*node)) ++computing;
    if (computing > 1) return true;
  }
  return false;
}

// What removeBookendNonComputeOps knows of a node.
struct Bookend {
  uint32_t partition = kNone;
  bool opensInto = false;  // only such calls between it and the inputs
  bool opensOut = false;   // only such calls between it and the outputs
  bool goes = false;
};

std::vector<ProposedPartition> propose(const Graph& graph, const OperatorSupport& support,
                                       const CapabilityOptions& options, const MemoryOrder& order) {
  const ClaimedNodes claimed = claimNodes(graph, support);
  PartitionAssignment assignment = options.skipHorizontalFusion
                                       ? detail::assignToUsers(graph, claimed.isClaimed, order)
                                       : assignByLevel(graph, claimed.isClaimed, order);
  const std::vector<Move> moves = followProducers(graph, claimed, assignment);
  std::vector<ProposedPartition> partitions = listNodes(graph, claimed, assignment, moves);
  const OperatorList nonCompute(options.nonComputeOps), alone(options.allowedSingleNodePartitionOps);
  std::erase_if(partitions, [&](const ProposedPartition& partition) {
    return partition.nodes.empty() ||
           (!options.allowsSingleNodePartition && !mayStandAlone(partition, nonCompute, alone));
  });
  std::sort(partitions.begin(), partitions.end(),
            [](const ProposedPartition& a, const ProposedPartition& b) { return a.id < b.id; });
  return partitions;
}

}  // namespace

std::vector<ProposedPartition> proposePartitions(const Graph& graph, const OperatorSupport& support,
                                                 const CapabilityOptions& options) {
  return propose(graph, support, options, MemoryOrder(graph));
}

std::vector<ProposedPartition> proposePartitions(const ExportedProgram& program, const GraphModule& owner,
                                                 const OperatorSupport& support,
                                                 const CapabilityOptions& options) {
  return propose(owner.graph(), support, options, MemoryOrder(program, owner));
}

void removeBookendNonComputeOps(std::vector<ProposedPartition>& partitions,
                                std::span<const Target> nonComputeOps) {
  const OperatorList nonCompute(nonComputeOps);
  const Graph* graph = nullptr;
  std::vector<Bookend> known;
  for (size_t i = 0; i < partitions.size(); ++i) {
    for (const Node* node : partitions[i].nodes) {
      if (graph == nullptr) {
        graph = &node->graph();
        known.resize(graph->idBound());
      }
      if (&node->graph() != graph)
        fail<UsageError>("expected the nodes of all partitions in one graph, found '%{}' in another",
                         node->name());
      known[node->id()].partition = static_cast<uint32_t>(i);
    }
  }
  const auto isPassed = [&](const Node& other, uint32_t partition, bool Bookend::*opens) {
    const Bookend& at = known[other.id()];
    return at.partition != partition || at.*opens;
  };
  for (uint32_t i = 0; i < partitions.size(); ++i) {
    std::vector<const Node*> ordered = partitions[i].nodes;
    std::sort(ordered.begin(), ordered.end(), [](const Node* a, const Node* b) { return a->isBefore(*b); });
    for (const Node* node : ordered) {
      known[node->id()].opensInto =
          nonCompute.holds(*node) && std::ranges::all_of(node->inputs(), [&](const Node& input) {
            return isPassed(input, i, &Bookend::opensInto);
          });
    }
    for (auto at = ordered.rbegin(); at != ordered.rend(); ++at) {
      known[(*at)->id()].opensOut =
          nonCompute.holds(**at) && std::ranges::all_of((*at)->users(), [&](const Node& user) {
            return isPassed(user, i, &Bookend::opensOut);
          });
    }
    for (const Node* node : ordered) {
      Bookend& at = known[node->id()];
      const Node* producer = producerOf(*node);
      at.goes = producer != nullptr && known[producer->id()].partition == i ? known[producer->id()].goes
                                                                            : at.opensInto || at.opensOut;
    }
    std::erase_if(partitions[i].nodes, [&](const Node* node) { return known[node->id()].goes; });
  }
}

}  // namespace edgefx

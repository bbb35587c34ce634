#pragma once

#include <edgefx/partition/operator_support.h>
#include <edgefx/program/exported_program.h>

#include <cstdint>
#include <span>
#include <vector>

namespace edgefx {

// Operators are given without their dialect: "aten.cat.default" is the edge operator, too.
struct CapabilityOptions {
  // Whether partitions with at most one computing call are proposed.
  bool allowsSingleNodePartition = false;
  // Calls of these do not count as computing, as those of operator.getitem do not.
  std::vector<Target> nonComputeOps{};
  // A call of one of these counts as two, so that it may stand alone.
  std::vector<Target> allowedSingleNodePartitionOps{};
  // Puts a node into the partitions of its direct users only. Otherwise everything that can be together is,
  // related or not.
  bool skipHorizontalFusion = false;
};

struct ProposedPartition {
  uint32_t id = 0;                 // unique among the partitions of a graph
  std::vector<const Node*> nodes;  // in graph order; getitems that followed their producer come last

  bool operator==(const ProposedPartition&) const = default;
};

// Divides the supported nodes of a graph into partitions that can be fused all at once without making a
// cycle, none of which could be merged with another unless horizontal fusion is skipped: the partitions, ids
// and order of torch.fx's CapabilityBasedPartitioner. A getitem is claimed exactly when its producer is, and
// by the same partition, whatever `support` says of it. Placeholders and the output node are never claimed.
// Sorted by id, ids counted from the end of the graph.
//
// O(nodes + uses). With skipHorizontalFusion, each merge looks for a path between two partitions among the
// nodes that lie between them, and stops at the end of the shorter search.
std::vector<ProposedPartition> proposePartitions(const Graph& graph, const OperatorSupport& support,
                                                 const CapabilityOptions& options = {});

// The same for the graph of `owner`, a module of the program. What is written in place in the graphs that its
// nodes call, or in memory that inputs of the program share, keeps its order, too.
std::vector<ProposedPartition> proposePartitions(const ExportedProgram& program, const GraphModule& owner,
                                                 const OperatorSupport& support,
                                                 const CapabilityOptions& options = {});

// Takes calls of `nonComputeOps` out of the partitions where only such calls stand between them and all
// inputs of the partition, or all its outputs. A getitem goes or stays with its producer. Partitions may end
// up empty, and stay in the list. Throws UsageError if the nodes are not all of one graph. O(nodes + uses).
void removeBookendNonComputeOps(std::vector<ProposedPartition>& partitions,
                                std::span<const Target> nonComputeOps);

// For partitions that were changed after they had been proposed: sets of nodes that, fused all at once, may
// make a cycle, each by itself or several together. Splits those on a cycle into sets that make none; the
// others stay as they are. The order of sets is kept, the parts of one come in its place, producers first,
// each in graph order. Throws UsageError if a node is not of the graph or is named twice. O(nodes + uses),
// besides sorting.
std::vector<std::vector<const Node*>> splitIntoConvex(const Graph& graph,
                                                      const std::vector<std::vector<const Node*>>& sets);

}  // namespace edgefx

#pragma once

#include <edgefx/partition/capability_partitioner.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

// torch.fx's CapabilityBasedPartitioner, step by step and as slow: what proposePartitions is compared with.
namespace edgefx::test {

struct LiteralProposal {
  std::vector<ProposedPartition> partitions;
  bool madeCycle = false;  // whether a merge that it let through closed a cycle, which its records missed
};

LiteralProposal proposeLiterally(const Graph& graph, const std::function<bool(const Node&)>& supports,
                                 const CapabilityOptions& options);

void removeBookendsLiterally(std::vector<ProposedPartition>& partitions,
                             const std::vector<Target>& nonComputeOps);

// Whether fusing each of the sets at once makes a cycle.
bool makesCycle(const Graph& graph, const std::vector<std::vector<const Node*>>& sets);

// Nodes of each partition, in its order, by name: "1: mul add_1".
std::vector<std::string> textOf(const std::vector<ProposedPartition>& partitions);

}  // namespace edgefx::test

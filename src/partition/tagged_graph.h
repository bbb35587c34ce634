#pragma once

#include <edgefx/partition/partitioner.h>
#include <edgefx/support/error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace edgefx::detail {

// The partitions of one graph: which node belongs to which delegation spec.
struct TaggedGraph {
  static constexpr uint32_t kNone = ~uint32_t{0};

  GraphModule* owner = nullptr;
  std::string path;
  NodeMap<uint32_t> specOf;                 // kNone for nodes that stay
  std::vector<std::vector<Node*>> members;  // of each spec, in the order of the graph

  uint32_t spec(const Node& node) const { return specOf[node]; }
};

// Reads the tags of a graph and checks all that can be wrong with them, but for cycles. get_attr nodes of
// branches that operators inside and outside of a partition use are given one of each, so that each goes
// where its operator goes. Throws LoweringError naming tag, backend and node.
TaggedGraph readTags(GraphModule& owner, const std::string& path, const ExportedProgram& program,
                     const PartitionResult& result);

// Throws LoweringError with the path that leaves a partition and comes back, if there is one. O(nodes).
void checkConvex(const TaggedGraph& graph, const PartitionResult& result);

// What an error in a partition starts with: the backend and the graph.
Diagnostic taggedPlace(const TaggedGraph& graph, const PartitionResult& result, uint32_t spec);

}  // namespace edgefx::detail

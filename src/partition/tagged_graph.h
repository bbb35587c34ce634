#pragma once

#include <edgefx/partition/partitioner.h>
#include <edgefx/support/error.h>

#include "program/memory_order.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// The order in which partitions are fused: by the number at the end of the tag, then by its text.
// Partitioners number their tags as they make them; the order of the specs, which may come from a map, shows
// nowhere.
struct FusingOrder {
  static constexpr uint32_t kNone = ~uint32_t{0};

  std::vector<size_t> specs;        // positions of the specs, in order
  std::vector<uint32_t> rankOfTag;  // by Tags::indexOf: position in `specs`, kNone for tags without a spec

  // That of the node's tag; kNone if it has none.
  uint32_t rankOf(const Node& node, const Tags& tags) const {
    const std::optional<uint32_t> tag = tags.indexOf(node);
    return tag ? rankOfTag[*tag] : kNone;
  }
};
// Holds for nodes that are given known tags later. O(tags log tags).
FusingOrder fusingOrder(const PartitionResult& result);

// The partitions of one graph, numbered in the order in which they are fused.
struct TaggedGraph {
  static constexpr uint32_t kNone = ~uint32_t{0};

  GraphModule* owner = nullptr;
  std::string path;
  NodeMap<uint32_t> partitionOf;            // kNone for nodes that stay
  std::vector<size_t> specs;                // of each partition: its position in PartitionResult::specs()
  std::vector<std::vector<Node*>> members;  // of each partition, in the order of the graph
  MemoryOrder order;                        // of what is written in place

  uint32_t partition(const Node& node) const { return partitionOf[node]; }
};

// Reads the tags of a graph and checks all that can be wrong with them, but for cycles. get_attr nodes of
// branches that operators inside and outside of a partition use are given one of each, so that each goes
// where its operator goes. Throws LoweringError naming tag, backend and node.
TaggedGraph readTags(GraphModule& owner, const std::string& path, const ExportedProgram& program,
                     const PartitionResult& result, const FusingOrder& order);

// Throws LoweringError with the path that leaves a partition and comes back, if there is one. O(nodes).
void checkConvex(const TaggedGraph& graph, const PartitionResult& result);

// What an error in a partition starts with: the backend and the graph.
Diagnostic taggedPlace(const TaggedGraph& graph, const PartitionResult& result, uint32_t partition);

// The tag of a partition.
std::string_view tagText(const TaggedGraph& graph, const PartitionResult& result, uint32_t partition);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/graph.h>

#include "program/memory_order.h"

#include <cstdint>
#include <vector>

namespace edgefx::detail {

// Which node is in which partition.
struct PartitionAssignment {
  static constexpr uint32_t kNone = ~uint32_t{0};

  std::vector<uint32_t> partitionOf;  // by node id
  std::vector<uint32_t> ids;          // of each partition
};

// Partitions of claimed nodes (1 at their node id) that grow only along uses: what the reference does if it
// is told to skip horizontal fusion, without the cycles that its stale records let through.
PartitionAssignment assignToUsers(const Graph& graph, const std::vector<uint8_t>& claimed,
                                  const MemoryOrder& order);

}  // namespace edgefx::detail

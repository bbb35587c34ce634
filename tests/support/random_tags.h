#pragma once

#include <edgefx/partition/partitioner.h>

#include <cstdint>

namespace edgefx::test {

// Tags runs of nodes in the order of each graph, which are always convex where nothing writes in place, or,
// in the wild mode, any nodes at all. The tags go to the backends "even" and "odd" in turn.
PartitionResult randomTags(const ExportedProgram& program, uint64_t seed);

}  // namespace edgefx::test

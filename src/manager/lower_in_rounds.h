#pragma once

#include <edgefx/manager/edge_program_manager.h>

#include <string>
#include <utility>
#include <vector>

namespace edgefx::detail {

using PartitionersOfMethod = std::vector<std::pair<std::string, std::vector<const Partitioner*>>>;

// In round i every method is lowered by its i-th partitioner, if it has as many.
EdgeProgramManager lowerInRounds(EdgeProgramManager manager, const PartitionersOfMethod& partitionersOfMethod,
                                 const BackendRegistry& registry);

}  // namespace edgefx::detail

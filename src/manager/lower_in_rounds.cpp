#include "manager/lower_in_rounds.h"

namespace edgefx::detail {

EdgeProgramManager lowerInRounds(EdgeProgramManager manager, const PartitionersOfMethod& partitionersOfMethod,
                                 const BackendRegistry& registry) {
  for (size_t round = 0;; ++round) {
    EdgeProgramManager::PartitionerOfMethod partitioners;
    for (const auto& [method, own] : partitionersOfMethod) {
      if (round < own.size()) partitioners.emplace_back(method, own[round]);
    }
    if (partitioners.empty()) return manager;
    manager = manager.toBackend(partitioners, registry);
  }
}

}  // namespace edgefx::detail

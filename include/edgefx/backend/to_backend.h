#pragma once

#include <edgefx/backend/backend_registry.h>
#include <edgefx/partition/partitioner.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// Key of the metadata entry that says why a node was not delegated, when the partitioner gave a reason.
inline constexpr std::string_view kWhyNotDelegated = "why_not_delegated";

// Lowers what `partitioner` tags in `program` into delegates of the backends that its specs name, and returns
// the program with calls in their place. `program` is not changed, whatever happens. Throws LoweringError
// naming partitioner, backend, method, tag and node: for tags that do not make convex partitions, tagged
// placeholders that are no constants, tagged outputs, operators tagged without their getitems or branches,
// unknown backends; VerificationError if `program` does not hold together. O(nodes).
ExportedProgram toBackend(const ExportedProgram& program, const Partitioner& partitioner,
                          const BackendRegistry& registry, std::string_view method = "forward");

// The same for several methods. Each backend sees all its partitions at once.
struct MethodToPartition {
  std::string method;
  const ExportedProgram* program;
  const Partitioner* partitioner;
};
std::vector<ExportedProgram> toBackend(const std::vector<MethodToPartition>& methods,
                                       const BackendRegistry& registry);

}  // namespace edgefx

#pragma once

#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/partition/partitioner.h>
#include <edgefx/passes/pass.h>

#include <string>
#include <utility>
#include <vector>

namespace edgefx {

// What is done to one method on the way to its delegates. Pointers must not be null.
struct MethodLowering {
  std::vector<PassRef> passes{};                   // in edge dialect, before partitioning
  std::vector<const Partitioner*> partitioners{};  // each over what the ones before left
};

// Brings methods to edge dialect as toEdge does it, but for the operators that a method's partitioners want
// to get whole (Partitioner::keepsWhole); runs the passes; lifts attributes; then lowers as
// EdgeProgramManager::toBackend does it, in rounds: in the i-th, every method by its i-th partitioner, so
// that a backend sees all methods at once. Methods that are not named go to edge dialect only.
//
// Throws what these throw; VerificationError naming method, node and operator for operators that were kept
// whole and then not delegated, unless they are of Core ATen, preserved or exceptions; UsageError for unknown
// methods, for a method named twice, and for null.
EdgeProgramManager toEdgeTransformAndLower(
    EdgeProgramManager::Methods methods,
    const std::vector<std::pair<std::string, MethodLowering>>& loweringOfMethod,
    const BackendRegistry& registry, EdgeCompileConfig config = {}, ConstantMethods constantMethods = {});

// The same for one partitioner over one method called "forward".
EdgeProgramManager toEdgeTransformAndLower(ExportedProgram program, const Partitioner& partitioner,
                                           const BackendRegistry& registry, EdgeCompileConfig config = {});

}  // namespace edgefx

#pragma once

#include "partition/tagged_graph.h"

namespace edgefx::detail {

// Gives the users of a tagged constant that lie in several partitions, or outside of them, a placeholder
// each: the first user keeps the constant's own, or the output node if that is a user. All name one target,
// so that no data is copied. State that the program writes is left alone. Throws LoweringError for constants
// that must not be copied. O(nodes + specs).
void duplicateConstants(ExportedProgram& program, PartitionResult& result, const FusingOrder& order);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <optional>

namespace edgefx {

// The first difference between a program and what was once its clone(): nodes with their names, targets,
// arguments at every depth, values and metadata, nested graph modules, delegates, signature, ranges, tables
// with their tensors' memory, and what else a program holds. Nothing if there is none. The diagnostic names the graph and node and
// says what `after` has for what `before` had. O(nodes + specs + entries).
std::optional<Diagnostic> findDifference(const ExportedProgram& before, const ExportedProgram& after);

}  // namespace edgefx

#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <optional>

namespace edgefx {

// The first difference between a program and what was once its clone(): nodes with their names, targets,
// arguments at every depth, values and metadata, nested graph modules, delegates, signature, ranges, tables
// with their tensors' memory, and what else a program holds. Nothing if there is none. The diagnostic names
// the graph and node and says what `after` has for what `before` had. O(nodes + specs + entries).
std::optional<Diagnostic> findDifference(const ExportedProgram& before, const ExportedProgram& after);

// The first difference between two programs that were made apart, such as one and its reading from a file or
// a text: everything that findDifference looks at, by content. Nodes are the same by position and name,
// tensors bit by bit with the sharing of memory among them, delegates with all they hold and with which of
// them are one, symbolic sizes with their texts and hints; hints of lists count as far as they change what
// files have. Schema versions, versions of torch, example inputs and what else a program has are compared,
// too. The order of users is not. O(nodes + specs + entries + bytes).
std::optional<Diagnostic> findContentDifference(const ExportedProgram& before, const ExportedProgram& after);

}  // namespace edgefx

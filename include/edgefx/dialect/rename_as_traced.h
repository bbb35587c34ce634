#pragma once

#include <edgefx/program/exported_program.h>

namespace edgefx {

// Gives nodes the names that tracing the program anew would: in every graph they are made of the targets in
// order, and counting starts anew ("aten_add_tensor", "aten_add_tensor_1"; "add" for an operator that is no
// edge operator), and users stand in the order of the graph. Nested graphs and delegates are called
// "submodule_0", "lowered_module_1", with one counter for both in the order in which a graph first names
// them; nested graphs that no node names go. Placeholders keep their names, and get_attr nodes with a dotted
// path their target. Signature and module call graph follow. O(nodes + specs).
//
// Throws VerificationError, changing nothing, if inputs or results and their specs differ in number.
void renameAsTraced(ExportedProgram& program);

}  // namespace edgefx

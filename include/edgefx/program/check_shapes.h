#pragma once

#include <edgefx/ir/shape_inference.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <vector>

namespace edgefx {

// Every call whose recorded value is not the one that its operator gives for the recorded values of its
// inputs, and every call whose arguments do not fit each other; nested graphs and the programs of delegates
// included, save graphs that run under autocast, which changes what operators do. Calls of which inferValue
// knows nothing are passed over, and so are those without a recorded value. Symbolic sizes are compared as
// describeSame does, with numbers that the program's range constraints allow. O(nodes).
std::vector<Diagnostic> checkShapes(const ExportedProgram& program, const ShapeRules* own = nullptr);

}  // namespace edgefx

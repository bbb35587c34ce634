#pragma once

#include <edgefx/program/exported_program.h>

#include <cstddef>

namespace edgefx::detail {

// Where new inputs go that hold stored tensors: before the first user input, or after all inputs if there is
// none.
struct InputPlace {
  size_t position = 0;   // of the first among the input specs
  InsertionPoint point;  // of their placeholders, each behind the one made before
};

// O(nodes + specs).
InputPlace placeOfStoredInputs(ExportedProgram& program);

}  // namespace edgefx::detail

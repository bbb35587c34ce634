#pragma once

#include "support/random_program.h"

namespace edgefx::test {

// A valid program that LibTorch runs, of some ten to sixty operators of many kinds, dtypes and shapes: state
// that is written through the signature or in place, tied weights, results that share memory with inputs,
// symbolic sizes, control flow with nested and shared branches. generateInputs gives inputs for it. Every
// node has its true description.
ExportedProgram randomRunnable(Dice& dice);

}  // namespace edgefx::test

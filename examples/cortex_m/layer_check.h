#pragma once

#include <edgefx/program/exported_program.h>

#include "backend.h"

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cortex_m {

// How far a layer is from the float operators that it replaced, both given the same int8 operands.
struct LayerCheck {
  std::string node;
  std::string op;
  int64_t steps = 0;  // largest difference, in steps of the layer's output
};

// Runs the original once, and every layer of the lowered program, top level only, on the values that the
// original had there. Throws Error if a layer's value cannot be found or has another shape.
std::vector<LayerCheck> checkLayers(const edgefx::ExportedProgram& before,
                                    const edgefx::ExportedProgram& after, const Report& report,
                                    const std::vector<c10::IValue>& inputs);

}  // namespace cortex_m

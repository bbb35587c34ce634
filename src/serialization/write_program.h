#pragma once

#include <edgefx/program/exported_program.h>

#include "support/json_writer.h"

#include <cstdint>

namespace edgefx::detail {

// How operators of the edge dialect are named.
enum class EdgeTargets : uint8_t {
  Aten,  // by the ATen operators they wrap, which PyTorch knows
  Exir,  // as ExecuTorch's files name them
};

// Writes the program without its weights as the ExportedProgram of schema 8.20: the text of a model's JSON
// record. Throws UnsupportedError for what the schema cannot hold.
void writeProgram(JsonWriter& json, const ExportedProgram& program,
                  EdgeTargets edgeTargets = EdgeTargets::Aten);

}  // namespace edgefx::detail

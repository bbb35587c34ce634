#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_writer.h"

#include <string>

namespace edgefx::detail {

// Writes the program without its weights as the ExportedProgram of schema 8.20: the text of a model's JSON
// record. Throws UnsupportedError for what the schema cannot hold.
void writeProgram(JsonWriter& json, const ExportedProgram& program);

}  // namespace edgefx::detail

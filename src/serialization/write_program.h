#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_writer.h"

#include <string>

namespace edgefx::detail {

// Writes the program without its weights as the ExportedProgram of schema 8.20: the text of a model's JSON
// record. Throws UnsupportedError for what the schema cannot hold.
void writeProgram(JsonWriter& json, const ExportedProgram& program);

// The text of edgefx's own record about an edge program: {"dialect": "EDGE"}, with a member "aten_nodes" if
// some of its operators are not edge operators, a list of "<dotted path of the graph module>:<node>".
std::string edgeRecord(const ExportedProgram& program);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_reader.h"

#include <string>
#include <string_view>

namespace edgefx::detail {

// The record in which edgefx keeps the dialect of a model: the model's own JSON calls edge operators by the
// ATen operators they wrap, so that PyTorch and viewers can read it.
std::string edgeRecordName(std::string_view model);

// The text of edgefx's own record about an edge program: {"dialect": "EDGE"}, with a member "aten_nodes" if
// some of its operators are not edge operators, a list of "<dotted path of the graph module>:<node>".
std::string edgeRecord(const ExportedProgram& program);

// Restores the dialect of a program read from the JSON of its model. Throws ParseError.
void readEdgeRecord(JsonValue json, std::string_view record, ExportedProgram& program);

}  // namespace edgefx::detail

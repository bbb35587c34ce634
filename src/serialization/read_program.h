#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_document.h"
#include "serialization/load_caches.h"

#include <string>
#include <string_view>

namespace edgefx::detail {

// Reads a model's JSON into a program: graph, signature, ranges, calling convention, versions. The tables
// stay empty. Throws ParseError naming record and item, UnsupportedError for a schema version that is not
// understood.
ExportedProgram readProgramJson(JsonDocument& document, std::string_view text, std::string_view record,
                                LoadCaches& caches, const TensorTable& stateDict, bool isPadded = false);

}  // namespace edgefx::detail

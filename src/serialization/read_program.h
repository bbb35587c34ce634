#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_document.h"
#include "serialization/load_caches.h"
#include "serialization/upgrade_json.h"

#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// Reads a model's JSON into a program: graph, signature, ranges, calling convention, versions. The tables
// stay empty. Delegates of ExecuTorch's form go to `delegates`, and are refused if that is null; the calls of
// them have their name, a text, as first argument. Throws ParseError naming record and item, UnsupportedError
// for a schema version that is not understood.
ExportedProgram readProgramJson(JsonDocument& document, std::string_view text, std::string_view record,
                                LoadCaches& caches, const TensorTable& stateDict, bool isPadded = false,
                                std::vector<ExirDelegate>* delegates = nullptr);

}  // namespace edgefx::detail

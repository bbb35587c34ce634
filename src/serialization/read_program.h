#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_reader.h"
#include "serialization/load_caches.h"
#include "serialization/upgrade_json.h"

#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// Parses a record's JSON and keeps what the parsed values point into. One is kept for all models of a file.
class JsonDocument {
 public:
  // `record` names the text in errors. The text must be followed by simdjson::SIMDJSON_PADDING readable bytes
  // if `isPadded`; it is copied otherwise. Bare NaN and Infinity tokens are read as the strings "NaN",
  // "Infinity". Throws ParseError with the byte offset of the fault.
  JsonValue parse(std::string_view text, std::string_view record, bool isPadded = false);

  static constexpr size_t kDeepest = 1024;

 private:
  simdjson::dom::parser parser_;
  simdjson::padded_string copy_;
};

// Reads a model's JSON into a program: graph, signature, ranges, calling convention, versions. The tables
// stay empty. Delegates of ExecuTorch's form go to `delegates`, and are refused if that is null; the calls of
// them have their name, a text, as first argument. Throws ParseError naming record and item, UnsupportedError
// for a schema version that is not understood.
ExportedProgram readProgramJson(JsonDocument& document, std::string_view text, std::string_view record,
                                LoadCaches& caches, const TensorTable& stateDict, bool isPadded = false,
                                std::vector<ExirDelegate>* delegates = nullptr);

}  // namespace edgefx::detail

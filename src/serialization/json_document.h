#pragma once

#include "serialization/json_reader.h"

#include <simdjson.h>

#include <cstddef>
#include <string_view>

namespace edgefx::detail {

// Parses a record's JSON and keeps what the parsed values point into. One is kept for all models of a file.
class JsonDocument {
 public:
  // `record` names the text in errors. The text must be followed by simdjson::SIMDJSON_PADDING readable bytes
  // if `isPadded`; it is copied otherwise. Bare NaN and Infinity tokens are read as the strings "NaN",
  // "Infinity". Values of the text before are no longer valid. Throws ParseError with the byte offset of the
  // fault.
  JsonValue parse(std::string_view text, std::string_view record, bool isPadded = false);

  static constexpr size_t kDeepest = 1024;

 private:
  void makeRoom(size_t bytes);

  simdjson::dom::parser parser_;
  simdjson::padded_string copy_;
};

}  // namespace edgefx::detail

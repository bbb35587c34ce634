#pragma once

#include "serialization/json_reader.h"

#include <simdjson.h>

#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {

// The text of what lies in a list or an object, parsed some items at a time: a parser needs twice the size of
// what it parses, and for a large model fresh memory of that size costs more than the parsing.
class JsonPieces {
 public:
  enum class Kind { Items, Members };

  // Pieces begin at items or members whose text begins with `{"<first>": `. `body` is not copied.
  JsonPieces(Kind kind, std::string_view body, std::string_view first);

  // The next items as an array, or the next members as an object; nothing at the end. The values given before
  // are no longer valid. All pieces were given if and only if the body in its brackets is JSON. Throws
  // NotInPieces otherwise, without saying where.
  std::optional<JsonValue> next();

  // About how many items or members there are: more than the number in the piece given last.
  size_t countLike(size_t inPiece) const { return inPiece * (body_.size() / lastSize_ + 1); }

  struct NotInPieces : std::exception {};

 private:
  size_t findEnd(size_t from) const;
  size_t scanEnd(size_t from) const;
  bool parse(std::string_view text);

  const Kind kind_;
  const std::string_view body_;
  std::string mark_;  // what a piece ends before, without its start
  size_t at_ = 0, lastSize_ = 1;
  simdjson::dom::parser parser_;
  std::string buffer_;
  JsonValue root_;
};

// A model's text without the nodes and the tensor values of its graph.
struct CutProgram {
  std::string rest;  // the program with an empty list and an empty object in their places
  JsonPieces nodes, tensorValues;
};

// Nothing for a text that is short, or not in the form that torch and edgefx write. `text` is not copied; it
// need not be JSON. Linear, and much faster than parsing.
std::optional<CutProgram> cutProgram(std::string_view text);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_reader.h"
#include "serialization/write_program.h"
#include "support/json_writer.h"

#include <simdjson.h>

#include <string>
#include <string_view>

namespace edgefx::test {

// The JSON text of a saved program, and parts of it by JSON pointer.
class SavedJson {
 public:
  explicit SavedJson(std::string text) : text_(std::move(text)) { root_ = parser_.parse(text_); }
  explicit SavedJson(const ExportedProgram& program) : SavedJson(textOf(program)) {}

  const std::string& text() const { return text_; }

  // A part as Python writes it; "no such member" if there is none.
  std::string at(std::string_view pointer) const {
    auto found = root_.at_pointer(pointer);
    return found.error() == simdjson::SUCCESS ? detail::pythonJson(found.value()) : "no such member";
  }
  // Below the top level graph.
  std::string graph(std::string_view pointer) const {
    return at("/graph_module/graph" + std::string(pointer));
  }
  // The value of input `i` of node `n`.
  std::string arg(size_t n, size_t i) const {
    return graph("/nodes/" + std::to_string(n) + "/inputs/" + std::to_string(i) + "/arg");
  }

 private:
  static std::string textOf(const ExportedProgram& program) {
    detail::JsonWriter json;
    detail::writeProgram(json, program);
    return json.take();
  }

  std::string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace edgefx::test

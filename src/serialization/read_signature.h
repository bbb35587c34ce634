#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/json_reader.h"
#include "serialization/read_graph.h"

#include <string>
#include <vector>

namespace edgefx::detail {

// Reads the graph signature and the module call graph of a model.
class SignatureReader {
 public:
  SignatureReader(JsonReader& json, GraphReader& graphs) : json_(json), graphs_(graphs) {}

  GraphSignature read(JsonValue value);
  // After read: the names of constant inputs by position, empty for other inputs.
  const std::vector<std::string>& constantNames() const { return constantNames_; }
  std::vector<ModuleCallEntry> readCallGraph(JsonValue value);

 private:
  InputSpec readInput(JsonValue value, size_t index);
  OutputSpec readOutput(JsonValue value, size_t index);
  // Members of a spec's struct: arg, target text, persistent flag.
  struct SpecMembers;
  SpecMembers readSpec(JsonValue value, std::string_view structName, std::string_view targetMember,
                       const std::string& path);
  SpecArg namedArg(JsonValue value, SpecArgKind kind, std::string_view structName);
  SpecArg readArgument(JsonValue value);
  ConstantScalar readConstant(JsonValue value);
  ModuleCallSignature readCallSignature(JsonValue value, const std::string& fqn);

  JsonReader& json_;
  GraphReader& graphs_;
  std::vector<std::string> constantNames_;
};

}  // namespace edgefx::detail

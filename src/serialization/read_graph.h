#pragma once

#include <edgefx/ir/operators.h>
#include <edgefx/program/exported_program.h>

#include "ir/graph_builder.h"
#include "serialization/json_pieces.h"
#include "serialization/json_reader.h"
#include "serialization/load_caches.h"
#include "serialization/read_values.h"

#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// Reads one graph of a model's JSON, and the graphs nested in it, into FX form by the rules of torch.export's
// deserializer: names, positional and keyword arguments, getitem nodes for results, get_attr nodes for
// branches.
class GraphReader {
 public:
  // `program` receives what the graph cannot hold: unknown members, argument names of unknown operators.
  GraphReader(JsonReader& json, LoadCaches& caches, ExportedProgram& program)
      : json_(json), caches_(caches), program_(program), values_(json, caches) {}

  // Reads into an empty module. `constantNames[i]` names placeholder i where the file gives only its constant
  // value; empty or missing ones become arg{i}. `path` is the dotted path of the module, empty for the top.
  // Nodes and tensor values come from `cut` if it is given.
  void read(JsonValue graph, GraphModule& module, const std::vector<std::string>& constantNames,
            const std::string& path, int depth = 0, CutProgram* cut = nullptr);

  // Values of unknown members, for the other readers of the model too.
  void keepUnknown(const std::string& path, std::string_view key, JsonValue value);

 private:
  struct Scope;

  template <typename Read>
  void readTable(Scope& scope, JsonValue values, std::string_view section, Read&& read);
  void readTensors(Scope& scope, JsonValue values);
  void readNodes(Scope& scope, simdjson::dom::array nodes);
  void readPlaceholder(Scope& scope, JsonValue input, size_t index,
                       const std::vector<std::string>& constantNames);
  void readNode(Scope& scope, JsonValue value);
  void readOutputs(Scope& scope, JsonValue outputs, bool isSingle);

  Target readTarget(JsonValue value);
  void readInputs(Scope& scope, Target target, simdjson::dom::array inputs);
  void readResults(Scope& scope, Target target, simdjson::dom::array outputs, JsonValue* hopFlag,
                   std::string_view name, const MetaRef& meta);
  void orderBySchema(Target target, const OperatorInfo& schema);
  MetaRef readMetadata(JsonValue value);

  Argument readArgument(Scope& scope, JsonValue value);
  Argument readTagged(Scope& scope, std::string_view tag, JsonValue held);
  Argument readGraphArgument(Scope& scope, JsonValue held);
  template <typename Read>
  Argument readList(Scope& scope, JsonValue held, std::string_view tag, ListHint hint, Read&& read);
  Node& use(Scope& scope, std::string_view name);
  Argument symbolicArgument(Scope& scope, JsonValue held, std::string_view tag);
  std::string_view tensorName(JsonValue value, std::string_view structName = "TensorArgument");

  // Refuses empty names and very long ones, which would be repeated in paths and messages.
  std::string_view checkedName(std::string_view name, std::string_view what) const;
  // Refuses a symbolic number where a tensor is named, and the reverse.
  void expectKind(const Node& node, std::string_view tag) const;
  void define(Scope& scope, std::string_view name, Node& node);
  Node& appendGetitem(Scope& scope, Node& producer, size_t index, std::string_view candidate,
                      const MetaRef& meta);
  std::string graphPath(const Scope& scope) const;

  // One named argument of the node being read.
  struct NamedArgument {
    std::string_view name;
    Argument value;
    int64_t kind = 0;  // 0 unknown, 1 positional, 2 keyword
  };

  // A member of one of its inputs that the schema lacks.
  struct UnknownInput {
    size_t index;
    std::string_view key;
    JsonValue value;
  };

  JsonReader& json_;
  LoadCaches& caches_;
  ExportedProgram& program_;
  ValueReader values_;
  std::vector<NamedArgument> named_;   // scratch of readNode
  std::vector<Argument> positional_;   // scratch of readNode
  std::vector<Argument> keyword_;      // scratch of readNode: key, value, ...
  std::vector<size_t> given_;          // scratch of orderBySchema
  UniqueNames names_;                  // scratch
  MetaRef lastMeta_;                   // read last
  int nesting_ = 0;                    // of dicts around the argument being read
  std::vector<UnknownInput> unknown_;  // of the node being read
};

}  // namespace edgefx::detail

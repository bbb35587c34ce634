#pragma once

#include <edgefx/program/exported_program.h>

#include "serialization/result_names.h"
#include "serialization/write_program.h"
#include "serialization/write_values.h"
#include "support/json_writer.h"
#include "support/text_hash.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx {
struct OperatorInfo;
}

namespace edgefx::detail {

// What the writers of one model share.
struct ModelWriter {
  ModelWriter(JsonWriter& writer, const ExportedProgram& saved, EdgeTargets targets)
      : json(writer), program(saved), edgeTargets(targets), hasUnknown(!saved.unknownMembers.empty()) {}

  // Ends an object with the members that a file had there and edgefx does not know. Callers ask hasUnknown
  // before they make up the path.
  void appendUnknown(std::string_view path) {
    auto found = program.unknownMembers.find(path);
    if (found != program.unknownMembers.end() && !found->second.empty()) json.raw(found->second);
  }

  JsonWriter& json;
  const ExportedProgram& program;
  EdgeTargets edgeTargets;
  bool hasUnknown;
  SharedTexts texts;
};

// Writes one graph of a model, and those its get_attr nodes name, as a Graph of the schema.
class GraphWriter {
 public:
  // `path` is the dotted path of the module, empty for the top.
  GraphWriter(ModelWriter& model, const GraphModule& module, std::string path = {}, int depth = 0);

  // Throws UnsupportedError, naming graph, node and argument, for what the schema cannot hold.
  void write();

  const ResultNames& names() const { return names_; }

 private:
  using Produced = std::vector<std::pair<std::string_view, const ValueMeta*>>;

  template <typename Write>
  void naming(const Node& node, Write&& write);

  void writeOutputs(const Node& output);
  void writeNode(const Node& node);
  void writeInputs(const Node& node);
  void writeSchemaInputs(const Node& node, const OperatorInfo& schema);
  void writeNamedArgument(const Node& node, std::string_view name, const Argument& value, bool isKeyword);
  void writeMetadata(const NodeMeta& meta);

  void writeInput(const Node& node);
  void writeResults(const Node& node);
  void writeTupleEntry(const Node& node, size_t i, const ValueMeta* value);
  template <typename NameOf>
  void writeListResult(const ValueMeta::Sequence& list, NameOf&& nameOf);
  void writeResult(std::string_view name, const ValueMeta& value);
  std::string_view unusedName(const Node& node, std::string_view suffix);

  void writeTables(bool isSingle);
  template <typename Write>
  void writeTable(std::string_view key, const Produced& values, Write&& write);

  void writeArgument(const Argument& argument);
  void writeList(const Argument& list);
  template <typename Write>
  void writeItems(std::string_view tag, const Argument& list, Write&& write);
  void writeUse(const Node& node);
  void writeGetAttr(const Node& node);

  std::string graphPath() const;

  ModelWriter& model_;
  JsonWriter& json_;
  const GraphModule& module_;
  std::string path_;
  int depth_;
  ResultNames names_;
  std::unordered_map<std::string_view, const GraphModule*, TextHash, std::equal_to<>> children_;
  // What has been written, in order, for the tables of values.
  Produced tensors_, symInts_, symFloats_, symBools_, customObjects_;
  std::deque<std::string> madeNames_;
  size_t inputIndex_ = 0;  // of the argument being written
  bool inHigherOrder_ = false;
};

}  // namespace edgefx::detail

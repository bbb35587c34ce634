#pragma once

#include <edgefx/program/lowered_module.h>
#include <edgefx/text/program_text.h>

#include "text/text_writer.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Writes the text of programs. Parts are in print_*.cpp.
class ProgramPrinter {
 public:
  ProgramPrinter(const ProgramTextOptions& options) : options_(options) {}

  std::string print(std::span<const NamedProgramRef> methods);

 private:
  // print_graph.cpp
  struct GraphPlace {
    const Graph* graph;
    std::string_view path;
    const GraphSignature* signature;  // written beside the nodes; null if it is not
  };
  void appendGraph(const GraphPlace& place);
  void appendPlaceholder(const Node& node, const InputSpec* spec);
  void appendStatement(const Node& node, const GraphPlace& place, size_t& numPlaceholders);
  void appendReturn(const Node& node, const GraphPlace& place);
  void appendRest(const Node& node);
  void appendSpec(const Node& node, const InputSpec& spec);
  void appendItemSpec(const Argument& item, const OutputSpec& spec);
  void appendTarget(Target target);
  void appendArguments(const Node& node);
  void appendArgument(const Argument& argument, int depth);
  void appendItems(std::span<const Argument> items, int depth);
  void appendSymbolic(const SymExpr& expression);
  void appendValue(const Node& node);
  void appendValue(const ValueMeta& value, int depth);
  void appendTensorMeta(const TensorMeta& tensor);
  void checkNames(const Graph& graph, std::string_view path) const;
  void checkUse(const Node& used) const;
  static bool isBesideNodes(const GraphSignature& signature, const Graph& graph);

  // print_program.cpp
  void findLowered(std::span<const NamedProgramRef> methods);
  void appendProgram(const ExportedProgram& program, std::string_view head);
  void appendModules(const GraphModule& top);
  void appendSignature(const GraphSignature& signature);
  void appendSettings(const ExportedProgram& program);
  void appendModuleCalls(const ExportedProgram& program);
  void appendMore(const ExportedProgram& program);
  void appendLowered(const LoweredModule& module, size_t number);
  void appendStrings(std::span<const std::string> strings);

  // print_tables.cpp
  void countStorages(const ExportedProgram& program);
  void appendTable(const TensorTable& table, std::string_view section);
  void appendBytes(std::string_view bytes);
  bool appendElements(const StoredTensor& stored);

  const ProgramTextOptions& options_;
  std::string out_;
  SymbolWriter symbols_;
  MetaWriter meta_;
  std::unordered_map<const char*, std::string> targets_;  // by the address of the FX text

  std::vector<const LoweredModule*> lowered_;
  std::unordered_map<const LoweredModule*, size_t> loweredNumbers_;

  struct Storage {
    size_t uses = 0;
    size_t number = 0;
    bool isWritten = false;
  };
  std::map<std::pair<const void*, size_t>, Storage> storages_;  // by address and size; looked up only
  size_t numShared_ = 0;

  const Node* at_ = nullptr;  // the node whose arguments are being written
};

}  // namespace edgefx::detail

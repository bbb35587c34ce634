#pragma once

#include <edgefx/program/lowered_module.h>
#include <edgefx/text/program_text.h>

#include "ir/graph_builder.h"
#include "support/text_hash.h"
#include "text/cursor.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Storages that tensors of the text share; see parse_tables.cpp.
struct ParsedStorages;

// Reads the text of programs. Parts are in parse_*.cpp.
class ProgramParser {
 public:
  ProgramParser(std::string_view text, std::string_view fileName, const ParseTextOptions& options);
  ~ProgramParser();

  std::vector<NamedProgram> parse();

 private:
  // A graph that is being read.
  struct Scope {
    Graph& graph;
    GraphBuilder builder;
    GraphSignature* signature;  // of the program whose graph it is, null in nested ones
    int depth = 0;              // of arguments or values
  };
  // Arguments of a call, in the graph's storage.
  struct Arguments {
    Argument* first = nullptr;
    size_t numArgs = 0, numKwargs = 0;
  };

  // parse_program.cpp
  void parseSymbols();
  ExportedProgram parseProgram(LoweredModule* lowered);
  bool parseSection(ExportedProgram& program, LoweredModule* lowered);
  bool parseSectionOfProgram(ExportedProgram& program);
  bool parseSectionOfLowered(LoweredModule& lowered);
  std::pair<GraphModule*, std::string> parsePath(ExportedProgram& program, std::string_view what);
  void parseSubmodule(ExportedProgram& program);
  void parseDelegate(ExportedProgram& program);
  void parseModuleMetadata(ExportedProgram& program);
  void parseSignature(GraphSignature& signature);
  void parseRanges(ExportedProgram& program);
  void parseSettings(ExportedProgram& program);
  void parseModuleCalls(ExportedProgram& program);
  void parseMetadata();
  std::vector<std::string> parseStrings();
  std::vector<int64_t> parseIntegers();
  void finishMetadata();
  template <typename Entry>
  void parseEntries(Entry&& entry);

  // parse_graph.cpp
  void finishDelegates();
  void parseGraph(Graph& graph, GraphSignature* signature);
  void parsePlaceholder(Scope& scope, const std::string& name, size_t at);
  void parseStatement(Scope& scope);
  void parseReturn(Scope& scope);
  Argument parseReturned(Scope& scope);
  struct Rest;
  Rest parseRest(Scope& scope);
  void parseBraces(Scope& scope, Rest& rest);
  // Gives a new node its exact name and all else.
  void finishNode(Scope& scope, Node& node, std::string_view name, const Arguments& arguments, ValueRef value,
                  const Rest& rest);
  std::string parseNodeName(std::string_view what);
  void checkNew(const Scope& scope, const std::string& name, size_t at) const;
  // True if the spec says what the node is.
  bool parseInputSpec(InputSpec& spec);
  OutputSpec parseItemSpec(const Argument& item, size_t at);
  SpecArg parseSpecArg();
  void parseDetails(InputSpec& spec);
  void parseDetails(OutputSpec& spec);

  // parse_values.cpp
  Target parseTarget();
  Arguments parseArguments(Scope& scope);
  Argument parseArgument(Scope& scope);
  Argument parseWordArgument(Scope& scope);
  Argument parseCallArgument(Scope& scope, std::string_view word, size_t at);
  Argument parseSequence(Scope& scope, ListHint hint);
  Argument parseDict(Scope& scope);
  // slice(...) and range(...)
  Argument parseThree(Scope& scope, ArgumentKind kind);
  // Takes the last items off the stack.
  Argument itemsFrom(Scope& scope, ArgumentKind kind, size_t base, size_t count, ListHint hint);
  void enter(Scope& scope) const;
  ConstantScalar parseScalar();
  double parseDouble();
  double numberOf(std::string_view text, size_t at) const;
  double parseNanBits();

  ValueRef parseValue(int depth);
  ValueRef parseValueOnce();
  TensorMeta parseTensorMeta();
  SymInt parseSize(std::string_view ends);
  std::vector<SymInt> parseSizes();
  std::shared_ptr<const Symbolic> parseSymbolic(std::string_view ends);
  std::shared_ptr<const Symbolic> symbolicOf(std::string_view form, size_t at);
  SymHint parseHint();
  SymExpr expressionAt(std::string_view text, size_t at, bool isForm) const;
  DeviceSpec parseDeviceText();

  // parse_tables.cpp
  void parseTable(TensorTable& table);
  void parseEntry(TensorTable& table, std::string name, size_t at);
  SharedBytes parseBytes(bool dropsElided = false);
  SharedBytes parseElements(const TensorMeta& meta);

  // Calls `use`; what it throws about its arguments becomes an error at this place.
  template <typename Use>
  decltype(auto) at(size_t position, Use&& use) const {
    try {
      return use();
    } catch (const UsageError& error) {
      failFor(position, error);
    } catch (const UnsupportedError& error) {
      failFor(position, error);
    }
  }
  [[noreturn]] void failFor(size_t position, const Error& error) const;

  Cursor in_;
  ParseTextOptions options_;

  std::unordered_map<std::string, std::shared_ptr<const Symbolic>, TextHash, std::equal_to<>> symbols_;
  std::unordered_map<std::string_view, ValueRef, TextHash> values_;  // by their text
  std::unordered_map<std::string_view, Target, TextHash> targets_;   // by their word
  std::vector<Argument> stack_;                                      // items of what is being read

  struct MetaUse {
    Node* node;
    uint64_t number;
    size_t at;
  };
  std::vector<MetaUse> metaUses_;
  size_t textSize_;
  std::unordered_map<uint64_t, Ref<NodeMeta>> metaBlocks_;

  struct DelegateUse {
    GraphModule* owner;
    std::string name;
    uint64_t number;
    bool hasEffect;
    size_t at;
    uint64_t holder;  // number of the lowered module around, or kNoHolder
  };
  static constexpr uint64_t kNoHolder = ~uint64_t{0};
  std::vector<DelegateUse> delegateUses_;
  uint64_t holder_ = kNoHolder;  // of what is being read
  std::optional<size_t>
      undescribed_;  // a returned value of the program that is read, of which nothing is said
  std::vector<std::shared_ptr<LoweredModule>> lowered_;

  std::unique_ptr<ParsedStorages> storages_;
  size_t zeros_ = 0;
};

struct ProgramParser::Rest {
  std::optional<std::string> target, name;
  std::optional<Arguments> arguments;
  MetaRef meta;
  std::optional<uint64_t> block;
  size_t at = 0;
};

}  // namespace edgefx::detail

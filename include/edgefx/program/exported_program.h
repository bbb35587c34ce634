#pragma once

#include <edgefx/ir/graph_module.h>
#include <edgefx/program/signature.h>
#include <edgefx/support/shared_bytes.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

class StoredTensor;
class TensorTable;

// Which operators a program calls: those of plain export, Core ATen after decompositions, or edge operators.
enum class Dialect : uint8_t { Training, Aten, Edge };

struct SchemaVersion {
  int64_t major = 8;
  int64_t minor = 20;
  bool operator==(const SchemaVersion&) const = default;
};

// Inclusive bounds of a symbol or expression; none is infinite.
struct RangeConstraint {
  std::string symbol;
  std::optional<int64_t> min;
  std::optional<int64_t> max;
  bool operator==(const RangeConstraint&) const = default;
};

// "VR[2, int_oo]", as Python prints it.
std::string text(const RangeConstraint& range);

struct ModuleCallSignature {
  std::vector<SpecArg> inputs;
  std::vector<SpecArg> outputs;
  std::string inSpec;  // tree specs as the file has them: JSON text "[1, {...}]"
  std::string outSpec;
  std::optional<std::vector<std::string>> forwardArgNames;
  bool operator==(const ModuleCallSignature&) const = default;
};

// Entry 0 is the program itself, with an empty name; others are submodules in order of first call.
struct ModuleCallEntry {
  std::string fqn;
  std::optional<ModuleCallSignature> signature;
  bool operator==(const ModuleCallEntry&) const = default;
};

// A graph module with everything that makes it a program: signature, weights, constants, ranges, calling
// convention. Movable; copying is the named clone().
class ExportedProgram {
 public:
  ExportedProgram();
  // Without signature and tensors. Throws UsageError if the module is null.
  explicit ExportedProgram(std::unique_ptr<GraphModule> module);
  ~ExportedProgram();
  ExportedProgram(ExportedProgram&&) noexcept;
  ExportedProgram& operator=(ExportedProgram&&) noexcept;

  // A private copy: graphs, signature, tables and every list by value; tensors by handle, sharing their
  // storage. No later write to the copy's graph, metadata, specs or tables shows in the original. O(nodes +
  // specs + entries).
  ExportedProgram clone() const;

  // False for a program that was moved from; only assignment and destruction are allowed then.
  bool isValid() const { return graphModule_ != nullptr; }

  GraphModule& graphModule() { return *graphModule_; }
  const GraphModule& graphModule() const { return *graphModule_; }
  Graph& graph() { return graphModule_->graph(); }
  const Graph& graph() const { return std::as_const(*graphModule_).graph(); }

  // Include <edgefx/program/tensor_table.h> to use these. Parameters and persistent buffers; lifted tensors,
  // non-persistent buffers and custom objects.
  TensorTable& stateDict();
  const TensorTable& stateDict() const;
  TensorTable& constants();
  const TensorTable& constants() const;

  // What an input holds: a parameter or buffer by its target in the state dict or else the constants, other
  // inputs in the constants; null if there is no such entry or the input holds nothing. O(log entries).
  const StoredTensor* findStored(const InputSpec& input) const;

  // Gives the node a unique name made from `candidate` and renames it in signature and module call graph. The
  // node must be of the top level graph. O(specs). Returns the name.
  std::string_view rename(Node& node, std::string_view candidate);

  GraphSignature signature;
  std::vector<RangeConstraint> rangeConstraints;
  std::vector<ModuleCallEntry> moduleCallGraph;
  // Field names of the named tuples in the tree specs.
  std::vector<std::pair<std::string, std::vector<std::string>>> namedTupleFields;
  std::vector<std::pair<std::string, int64_t>> opsetVersion{{"aten", 10}};
  // Of the file the program came from; saving writes what it writes.
  SchemaVersion schemaVersion;
  std::string torchVersion;
  // "TRAINING", "ATEN": names of the checks that Python runs on the program.
  std::vector<std::string> verifiers{"ATEN"};
  std::vector<std::string> guardsCode;
  Dialect dialect = Dialect::Aten;
  // torch.save bytes of (args, kwargs), never looked into; empty if there are none.
  SharedBytes exampleInputs;
  // Members of the model's JSON that edgefx does not know, as JSON text `"key": value, ...`, by the path of
  // the object that held them (see serialization/pt2.h). Kept so that saving writes them back.
  std::map<std::string, std::string, std::less<>> unknownMembers;
  // Names that the file gave the positional arguments of operators and functions whose schema is not known,
  // by Target::name(). Files name every argument, graphs do not.
  std::map<std::string, std::vector<std::string>, std::less<>> argumentNames;

 private:
  std::unique_ptr<GraphModule> graphModule_;
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

// The operator "namespace.name.overload" as calls of the program have to name it: its edge form in edge
// dialect. Throws UsageError for a malformed name.
Target operatorIn(const ExportedProgram& program, std::string_view name);

// Takes an ATen-named program as edge dialect: wraps every operator of every nested graph, and drops getitem
// nodes without users. O(nodes).
void wrapAsEdge(ExportedProgram& program);

}  // namespace edgefx

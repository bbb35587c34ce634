#pragma once

#include <edgefx/ir/node.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

// Numbered as in torch.export.
enum class InputKind : uint8_t { UserInput = 1, Parameter, Buffer, ConstantTensor, CustomObject, Token };
enum class OutputKind : uint8_t {
  UserOutput = 1,
  LossOutput,
  BufferMutation,
  ParameterMutation,
  GradientToParameter,
  GradientToUserInput,
  UserInputMutation,
  Token,
};

// "USER_INPUT", "PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ", "TOKEN"; "USER_OUTPUT",
// "LOSS_OUTPUT", ...
std::string_view name(InputKind kind);
std::string_view name(OutputKind kind);

// Whether an output of this kind writes state or an input: such outputs come before the user outputs.
bool isMutation(OutputKind kind);
// Whether an output of this kind writes a buffer or a parameter, which its target names.
bool writesState(OutputKind kind);
// Whether an input of this kind is a stored tensor: a parameter, a buffer or a lifted constant.
bool isStoredTensor(InputKind kind);

enum class SpecArgKind : uint8_t { Tensor, SymInt, SymFloat, SymBool, Token, CustomObject, Constant };

// What an input or output is: a node by name, or a constant.
struct SpecArg {
  SpecArgKind kind = SpecArgKind::Tensor;
  std::string name;       // of the node; a constant output has none
  std::string className;  // of a custom object
  ConstantScalar value;   // of a constant

  bool isConstant() const { return kind == SpecArgKind::Constant; }
  bool operator==(const SpecArg&) const = default;
};

// What a signature says of a node: its name, and by its value whether it is a tensor, a symbolic number, a
// token or an object.
SpecArg specArgOf(const Node& node);

struct InputSpec {
  InputKind kind = InputKind::UserInput;
  SpecArg arg;
  std::optional<std::string> target;  // name in the state dict or constants; none for user inputs and tokens
  std::optional<bool> persistent;     // buffers only

  bool operator==(const InputSpec&) const = default;
};

struct OutputSpec {
  OutputKind kind = OutputKind::UserOutput;
  SpecArg arg;
  std::optional<std::string> target;  // buffer, parameter, or the name of the user input's node

  bool operator==(const OutputSpec&) const = default;
};

// What each placeholder and each result of a program is, in the order of the graph.
struct GraphSignature {
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;

  // The spec of a placeholder or result, null if there is none. O(specs); loops take a SignatureIndex.
  InputSpec* findInput(std::string_view nodeName);
  const InputSpec* findInput(std::string_view nodeName) const {
    return const_cast<GraphSignature*>(this)->findInput(nodeName);
  }

  // Nodes' names change, or one node takes another's place: renames it in every spec, mutation targets that
  // name user inputs included. O(specs).
  void renameNode(std::string_view from, std::string_view to);
  // Another node takes the place of `from` among the results only. O(specs).
  void renameOutput(std::string_view from, std::string_view to);

  bool operator==(const GraphSignature&) const = default;
};

// Positions of the specs by node name and by target; O(log specs) look-ups. Valid until the signature
// changes.
class SignatureIndex {
 public:
  explicit SignatureIndex(const GraphSignature& signature);

  const InputSpec* findInput(std::string_view nodeName) const;
  // The input that holds this parameter, buffer, constant or custom object.
  const InputSpec* findTarget(InputKind kind, std::string_view target) const;

 private:
  std::map<std::string_view, const InputSpec*> inputs_;
  std::map<std::string_view, const InputSpec*> targets_[7];
};

// How Python prints a signature: the sections of torch 2.7 and later, or the data class text of the releases
// before.
enum class SignatureStyle : uint8_t { Sections, DataClass };

// Python's str(graph_signature), byte for byte.
std::string text(const GraphSignature& signature, SignatureStyle style = SignatureStyle::Sections);

}  // namespace edgefx

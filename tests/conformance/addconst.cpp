#include <edgefx/program/tensor_table.h>

#include "backends.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::conformance {
namespace {

// The value of a relu multiplied by a float32 tensor of shape [1], by PyTorch's promotion: tensors with
// dimensions decide over those without.
ValueRef scaledValue(const Node& relu) {
  const TensorMeta* tensor = relu.value() == nullptr ? nullptr : relu.value()->tensor();
  if (tensor == nullptr) return relu.valueRef();
  const bool isScalar = tensor->sizes.empty();
  const bool staysDouble = tensor->dtype == Dtype::Float64 && !isScalar;
  if (!isScalar && (tensor->dtype == Dtype::Float32 || staysDouble)) return relu.valueRef();
  std::vector<SymInt> sizes = isScalar ? std::vector<SymInt>{1} : tensor->sizes;
  return ValueMeta::of(contiguousTensor(Dtype::Float32, std::move(sizes)));
}

// A name for a stored tensor that no table has and no other input reads.
std::string freeTarget(const ExportedProgram& program, const std::string& candidate) {
  auto isTaken = [&](const std::string& name) {
    return program.stateDict().contains(name) || program.constants().contains(name) ||
           std::any_of(program.signature.inputs.begin(), program.signature.inputs.end(),
                       [&](const InputSpec& spec) { return spec.target == name; });
  };
  std::string name = candidate;
  for (int number = 1; isTaken(name); ++number) name = candidate + "_" + std::to_string(number);
  return name;
}

// Adds a persistent buffer before the first user input, or after all inputs if there is none.
Node& addBuffer(ExportedProgram& program, const std::string& name, const at::Tensor& tensor) {
  std::vector<InputSpec>& specs = program.signature.inputs;
  const auto firstUserInput = std::find_if(
      specs.begin(), specs.end(), [](const InputSpec& spec) { return spec.kind == InputKind::UserInput; });
  const auto position = static_cast<size_t>(firstUserInput - specs.begin());

  Graph& graph = program.graph();
  const std::vector<Node*> placeholders = graph.placeholders();
  InsertionPoint place = before(*graph.front());
  if (position < placeholders.size()) {
    place = before(*placeholders[position]);
  } else if (!placeholders.empty()) {
    place = after(*placeholders.back());
  }
  InsertionGuard guard(graph, place);
  Node& node = graph.placeholder(name, name);
  node.setTargetText(std::string(node.name()));
  node.setValue(ValueMeta::of(contiguousTensor(Dtype::Float32, {1})));

  InputSpec spec;
  spec.kind = InputKind::Buffer;
  spec.arg.name = node.name();
  spec.target = freeTarget(program, spec.arg.name);
  spec.persistent = true;
  program.stateDict().set(*spec.target, tensor);
  specs.insert(firstUserInput, spec);
  return node;
}

class Addconst final : public OpBackend {
 public:
  std::string_view name() const override { return "addconst"; }

  ExportedProgram lower(ExportedProgram program, std::string_view /*methodName*/) const override {
    static const Target kRelu = Target::edge("aten.relu.default");
    static const Target kMul = Target::edge("aten.mul.Tensor");

    std::vector<Node*> relus;
    for (Node& node : program.graph().nodes()) {
      if (node.isCall(kRelu)) relus.push_back(&node);
    }
    if (relus.empty()) return program;

    Node& scale = addBuffer(program, "op_backend_scale", at::full({1}, 0.5, at::kFloat));
    for (Node* relu : relus) {
      InsertionGuard guard(program.graph(), after(*relu));
      Node& mul = program.graph().call(kMul, {*relu, scale});
      mul.setValue(scaledValue(*relu));
      mul.setMeta(relu->metaRef());
      relu->replaceAllUsesWith(mul, [&](const Node& user) { return &user != &mul; });
      program.signature.renameOutput(relu->name(), mul.name());
    }
    return program;
  }
};

}  // namespace

std::unique_ptr<OpBackend> makeAddconst() {
  return std::make_unique<Addconst>();
}

}  // namespace edgefx::conformance

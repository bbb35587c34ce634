#include "backend.h"

#include <edgefx/ir/dead_code.h>
#include <edgefx/program/tensor_table.h>

#include "kernels.h"

#include <algorithm>
#include <map>
#include <string>

namespace tiny {
namespace {

using namespace edgefx;

bool isFloatMatrix(const Node& node, size_t rank) {
  const TensorMeta* tensor = node.value() == nullptr ? nullptr : node.value()->tensor();
  return tensor != nullptr && tensor->dtype == Dtype::Float32 && tensor->sizes.size() == rank;
}

// The description of an argument that is a node, null if it is none or not known.
const TensorMeta* tensorOf(const Argument& argument) {
  const Node* node = argument.findNode();
  return node == nullptr || node->value() == nullptr ? nullptr : node->value()->tensor();
}

class Lowering {
 public:
  explicit Lowering(ExportedProgram& program) : program_(program) {}

  void run() {
    for (Node& node : program_.graph().nodes()) {
      fuseLinear(node);
      fuseAtanRelu(node);
    }
    eliminateDeadCode(program_.graphModule());
    dropUnusedWeights();
  }

 private:
  Target own(std::string_view op) const {
    return operatorIn(program_, "tiny." + std::string(op) + ".default");
  }

  // addmm(bias, x, permute(weight, [1, 0])) with a stored weight.
  void fuseLinear(Node& addmm) {
    if (!addmm.callsOperator("aten.addmm.default") || addmm.args().size() != 3 || !addmm.kwargs().empty())
      return;
    Node* bias = addmm.arg(0).findNode();
    Node* x = addmm.arg(1).findNode();
    Node* permute = addmm.arg(2).findNode();
    if (bias == nullptr || x == nullptr || permute == nullptr) return;
    bool isPermute =
        permute->callsOperator("aten.permute.default") || permute->callsOperator("aten.permute_copy.default");
    if (!isPermute || !isFloatMatrix(*bias, 1) || !isFloatMatrix(*x, 2)) return;
    Node* weight = permute->arg(0).findNode();
    const InputSpec* spec = weight == nullptr ? nullptr : program_.signature.findInput(weight->name());
    if (spec == nullptr || spec->kind != InputKind::Parameter || !isFloatMatrix(*weight, 2)) return;

    Node& packed = packedWeight(*weight, *spec->target);
    replace(addmm, own("linear"), {*x, packed, *bias});
  }

  // relu(atan(x)) where nobody else reads the atan.
  void fuseAtanRelu(Node& relu) {
    if (!relu.callsOperator("aten.relu.default")) return;
    Node* atan = relu.arg(0).findNode();
    if (atan == nullptr || !atan->callsOperator("aten.atan.default") || atan->numUsers() != 1) return;
    if (relu.value() == nullptr || relu.value()->tensor() == nullptr) return;
    if (relu.value()->tensor()->dtype != Dtype::Float32) return;
    replace(relu, own("atan_relu"), {atan->arg(0)});
  }

  void replace(Node& old, Target target, const Args& args) {
    InsertionGuard guard(program_.graph(), before(old));
    Node& made = program_.graph().call(target, args);
    made.setValue(old.valueRef());
    made.setMeta(old.metaRef());
    old.replaceAllUsesWith(made);
    program_.signature.renameOutput(old.name(), made.name());
  }

  // The constant input that holds the packed weight; one for all readers of the weight.
  Node& packedWeight(const Node& weight, const std::string& target) {
    auto [known, isNew] = packed_.try_emplace(target, nullptr);
    if (!isNew) return *known->second;

    at::Tensor tensor = packWeight(program_.stateDict().find(target)->tensor());
    std::vector<InputSpec>& specs = program_.signature.inputs;
    auto userInput = std::find_if(specs.begin(), specs.end(),
                                  [](const InputSpec& spec) { return spec.kind == InputKind::UserInput; });
    Node* place = program_.graph().find(userInput == specs.end() ? weight.name() : userInput->arg.name);
    InsertionGuard guard(program_.graph(), before(*place));
    Node& node = program_.graph().placeholder(std::string(weight.name()) + "_packed");
    node.setTargetText(std::string(node.name()));
    node.setValue(ValueMeta::of(contiguousTensor(Dtype::Float32, {tensor.size(0), tensor.size(1)})));

    InputSpec spec;
    spec.kind = InputKind::ConstantTensor;
    spec.arg.name = node.name();
    spec.target = target + ".packed";
    program_.constants().set(*spec.target, std::move(tensor));
    auto position = userInput == specs.end()
                        ? std::find_if(specs.begin(), specs.end(),
                                       [&](const InputSpec& at) { return at.arg.name == weight.name(); })
                        : userInput;
    specs.insert(position, std::move(spec));
    return *(known->second = &node);
  }

  // Weights that only packed copies replaced: placeholder, spec and tensor go together.
  void dropUnusedWeights() {
    for (const auto& [target, packed] : packed_) {
      std::erase_if(program_.signature.inputs, [&, &target = target](const InputSpec& spec) {
        if (spec.kind != InputKind::Parameter || spec.target != target) return false;
        Node* weight = program_.graph().find(spec.arg.name);
        if (weight->numUsers() != 0) return false;
        program_.graph().erase(*weight);
        program_.stateDict().erase(target);
        return true;
      });
    }
  }

  ExportedProgram& program_;
  std::map<std::string, Node*> packed_;  // by the weight's name in the state dict
};

}  // namespace

edgefx::ExportedProgram TinyBackend::lower(edgefx::ExportedProgram program,
                                           std::string_view /*methodName*/) const {
  registerOperators();
  Lowering(program).run();
  return program;
}

void TinyBackend::addShapeRules(ShapeRules& rules) const {
  rules.add("tiny.linear.default", [](const Node& node) -> ValueRef {
    const TensorMeta* x = tensorOf(node.arg(0));
    const TensorMeta* packed = tensorOf(node.arg(1));
    if (x == nullptr || packed == nullptr) return nullptr;
    return ValueMeta::of(contiguousTensor(Dtype::Float32, {x->sizes[0], packed->sizes[1]}));
  });
  rules.add("tiny.atan_relu.default", [](const Node& node) -> ValueRef {
    const TensorMeta* x = tensorOf(node.arg(0));
    return x == nullptr ? ValueRef() : ValueMeta::of(contiguousTensor(Dtype::Float32, x->sizes));
  });
}

edgefx::ExportedProgram ForgetfulBackend::lower(edgefx::ExportedProgram program,
                                                std::string_view /*methodName*/) const {
  InsertionGuard guard(program.graph(), before(*program.graph().front()));
  program.graph().placeholder("scale").setValue(ValueMeta::of(contiguousTensor(Dtype::Float32, {1})));
  return program;
}

}  // namespace tiny

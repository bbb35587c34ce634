#include "support/program_builder.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <type_traits>
#include <variant>

namespace edgefx::test {
namespace {

Arg toArg(const ConstantScalar& value) {
  return std::visit(
      [](const auto& held) {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return Arg();
        } else {
          return Arg(held);
        }
      },
      value);
}

std::string treeSpec(size_t leaves) {
  std::string children;
  for (size_t i = 0; i < leaves; ++i) {
    if (i != 0) children += ", ";
    children += R"({"type": null, "context": null, "children_spec": []})";
  }
  return R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" + children + "]}";
}

}  // namespace

at::Tensor sampleTensor(const std::vector<int64_t>& sizes, Dtype dtype) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return at::arange(count, at::kFloat).mul(0.25).sub(1).reshape(sizes).to(toScalarType(dtype).value());
}

ValueRef tensorValue(std::vector<SymInt> sizes, Dtype dtype) {
  return ValueMeta::of(contiguousTensor(dtype, std::move(sizes)));
}

Node& ProgramBuilder::storedInput(InputKind kind, std::string_view prefix, std::string_view target,
                                  StoredTensor tensor) {
  std::string name(prefix);
  name += target;
  std::replace(name.begin(), name.end(), '.', '_');
  Node& node = graph().placeholder(name);
  if (tensor.meta() != nullptr) node.setValue(ValueMeta::of(*tensor.meta()));
  InputSpec spec;
  spec.kind = kind;
  spec.arg = specArgOf(node);
  spec.target = target;
  program_.signature.inputs.push_back(std::move(spec));
  bool isState = kind == InputKind::Parameter || kind == InputKind::Buffer;
  (isState ? program_.stateDict() : program_.constants()).set(target, std::move(tensor));
  return node;
}

Node& ProgramBuilder::parameter(std::string_view target, at::Tensor tensor) {
  StoredTensor stored(std::move(tensor), true);
  stored.setRequiresGrad(true);
  return storedInput(InputKind::Parameter, "p_", target, std::move(stored));
}

Node& ProgramBuilder::buffer(std::string_view target, at::Tensor tensor, bool persistent) {
  Node& node = storedInput(InputKind::Buffer, "b_", target, StoredTensor(tensor));
  program_.signature.inputs.back().persistent = persistent;
  if (!persistent) {
    program_.stateDict().erase(target);
    program_.constants().set(target, std::move(tensor));
  }
  return node;
}

Node& ProgramBuilder::constant(std::string_view target, at::Tensor tensor) {
  return storedInput(InputKind::ConstantTensor, "c_", target, StoredTensor(std::move(tensor)));
}

Node& ProgramBuilder::customObject(std::string_view target, std::string_view className) {
  Node& node = storedInput(InputKind::CustomObject, "obj_", target,
                           StoredTensor::opaque(SharedBytes::copyOf("pickled"), "custom_obj_", {}, false));
  node.setValue(ValueMeta::of(ValueMeta::CustomObject{std::string(className)}));
  SpecArg& arg = program_.signature.inputs.back().arg;
  arg.kind = SpecArgKind::CustomObject;
  arg.className = className;
  return node;
}

Node& ProgramBuilder::token(std::string_view name) {
  Node& node = graph().placeholder(name);
  node.setValue(ValueMeta::of(ValueMeta::Token{}));
  InputSpec spec;
  spec.kind = InputKind::Token;
  spec.arg.kind = SpecArgKind::Token;
  spec.arg.name = node.name();
  program_.signature.inputs.push_back(std::move(spec));
  return node;
}

Node& ProgramBuilder::userInput(std::string_view name, ValueRef value) {
  Node& node = graph().placeholder(name);
  node.setValue(std::move(value));
  InputSpec spec;
  spec.arg = specArgOf(node);
  program_.signature.inputs.push_back(std::move(spec));
  return node;
}

Node& ProgramBuilder::constantInput(std::string_view name, ConstantScalar value) {
  Node& node = userInput(name, ValueMeta::of(ValueMeta::Constant{value}));
  SpecArg& arg = program_.signature.inputs.back().arg;
  arg.kind = SpecArgKind::Constant;
  arg.value = std::move(value);
  return node;
}

Node& ProgramBuilder::call(Target target, const Args& args, ValueRef value, std::string_view name) {
  Node& node = graph().call(target, args, {}, name.empty() ? target.op() : name);
  node.setValue(std::move(value));
  return node;
}

Node& ProgramBuilder::branch(std::string_view name, std::unique_ptr<Graph> graph) {
  program_.graphModule().addChild(name, std::make_unique<GraphModule>(std::move(graph)));
  return program_.graph().getAttr(name);
}

void ProgramBuilder::result(OutputKind kind, Node& node, std::optional<std::string> target) {
  OutputSpec spec;
  spec.kind = kind;
  spec.arg = specArgOf(node);
  if (kind == OutputKind::Token) spec.arg.kind = SpecArgKind::Token;
  spec.target = std::move(target);
  program_.signature.outputs.push_back(std::move(spec));
  results_.emplace_back(node);
}

void ProgramBuilder::constantOutput(ConstantScalar value) {
  results_.push_back(toArg(value));
  OutputSpec spec;
  spec.arg.kind = SpecArgKind::Constant;
  spec.arg.value = std::move(value);
  program_.signature.outputs.push_back(std::move(spec));
}

ExportedProgram ProgramBuilder::finish() {
  graph().output(Arg::tuple(std::move(results_)));
  results_.clear();

  const GraphSignature& signature = program_.signature;
  auto userInputs = std::count_if(signature.inputs.begin(), signature.inputs.end(),
                                  [](const InputSpec& spec) { return spec.kind == InputKind::UserInput; });
  auto userOutputs =
      std::count_if(signature.outputs.begin(), signature.outputs.end(),
                    [](const OutputSpec& spec) { return spec.kind == OutputKind::UserOutput; });
  ModuleCallSignature convention;
  convention.inSpec = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)" +
                      treeSpec(static_cast<size_t>(userInputs)) +
                      R"(, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
  convention.outSpec = "[1, " + treeSpec(static_cast<size_t>(userOutputs)) + "]";
  program_.moduleCallGraph.push_back({"", std::move(convention)});
  program_.torchVersion = "2.14.1";
  return std::move(program_);
}

namespace {

Node& addTinyBody(ProgramBuilder& builder, Node& weight, Node& scale, Node& x) {
  Node& linear = builder.call("aten.linear.default", {x, weight}, tensorValue({1, 4}));
  Node& mul = builder.call("aten.mul.Tensor", {linear, scale}, tensorValue({1, 4}));
  return builder.call("aten.relu.default", {mul}, tensorValue({1, 4}));
}

}  // namespace

ExportedProgram tinyProgram() {
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({4, 4}));
  Node& scale = builder.buffer("scale", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({1, 4}));
  builder.userOutput(addTinyBody(builder, weight, scale, x));
  return builder.finish();
}

ExportedProgram countingProgram() {
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({4, 4}));
  Node& scale = builder.buffer("scale", sampleTensor({4}));
  Node& count = builder.buffer("count", sampleTensor({}));
  Node& x = builder.userInput("x", tensorValue({1, 4}));
  Node& relu = addTinyBody(builder, weight, scale, x);
  builder.result(OutputKind::BufferMutation, builder.call("aten.add.Tensor", {count, 1}, tensorValue({})),
                 "count");
  builder.userOutput(relu);
  return builder.finish();
}

}  // namespace edgefx::test

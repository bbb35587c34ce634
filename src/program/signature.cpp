#include <edgefx/program/signature.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace edgefx {
namespace {

constexpr std::array<std::string_view, 7> kInputKindNames = {
    "UNKNOWN", "USER_INPUT", "PARAMETER", "BUFFER", "CONSTANT_TENSOR", "CUSTOM_OBJ", "TOKEN"};
constexpr std::array<std::string_view, 9> kOutputKindNames = {"UNKNOWN",
                                                              "USER_OUTPUT",
                                                              "LOSS_OUTPUT",
                                                              "BUFFER_MUTATION",
                                                              "PARAMETER_MUTATION",
                                                              "GRADIENT_TO_PARAMETER",
                                                              "GRADIENT_TO_USER_INPUT",
                                                              "USER_INPUT_MUTATION",
                                                              "TOKEN"};

bool targetNamesInput(OutputKind kind) {
  return kind == OutputKind::UserInputMutation || kind == OutputKind::GradientToUserInput;
}

}  // namespace

std::string_view name(InputKind kind) {
  auto number = static_cast<size_t>(kind);
  return kInputKindNames[number < kInputKindNames.size() ? number : 0];
}

std::string_view name(OutputKind kind) {
  auto number = static_cast<size_t>(kind);
  return kOutputKindNames[number < kOutputKindNames.size() ? number : 0];
}

bool isMutation(OutputKind kind) {
  return writesState(kind) || kind == OutputKind::UserInputMutation;
}

bool writesState(OutputKind kind) {
  return kind == OutputKind::BufferMutation || kind == OutputKind::ParameterMutation;
}

bool isStoredTensor(InputKind kind) {
  return kind == InputKind::Parameter || kind == InputKind::Buffer || kind == InputKind::ConstantTensor;
}

InputSpec* GraphSignature::findInput(std::string_view nodeName) {
  for (InputSpec& spec : inputs) {
    if (spec.arg.name == nodeName) return &spec;
  }
  return nullptr;
}

void GraphSignature::renameNode(std::string_view from, std::string_view to) {
  // The caller's views may point into the specs that change here.
  const std::string before(from), after(to);
  for (InputSpec& spec : inputs) {
    if (spec.arg.name == before) spec.arg.name = after;
  }
  for (OutputSpec& spec : outputs) {
    if (targetNamesInput(spec.kind) && spec.target == before) spec.target = after;
  }
  renameOutput(before, after);
}

void GraphSignature::renameOutput(std::string_view from, std::string_view to) {
  const auto isNamed = [](const OutputSpec& spec, std::string_view name) {
    return !spec.arg.isConstant() && spec.arg.name == name;
  };
  // Passes call this for every node that they replace, and few are results.
  const auto first =
      std::ranges::find_if(outputs, [&](const OutputSpec& spec) { return isNamed(spec, from); });
  if (first == outputs.end()) return;
  const std::string before(from), after(to);
  for (auto spec = first; spec != outputs.end(); ++spec) {
    if (isNamed(*spec, before)) spec->arg.name = after;
  }
}

SignatureIndex::SignatureIndex(const GraphSignature& signature) {
  for (const InputSpec& spec : signature.inputs) {
    inputs_.emplace(spec.arg.name, &spec);
    auto kind = static_cast<size_t>(spec.kind);
    if (spec.target && kind < std::size(targets_)) targets_[kind].emplace(*spec.target, &spec);
  }
}

const InputSpec* SignatureIndex::findInput(std::string_view nodeName) const {
  auto found = inputs_.find(nodeName);
  return found == inputs_.end() ? nullptr : found->second;
}

const InputSpec* SignatureIndex::findTarget(InputKind kind, std::string_view target) const {
  auto number = static_cast<size_t>(kind);
  if (number >= std::size(targets_)) return nullptr;
  auto found = targets_[number].find(target);
  return found == targets_[number].end() ? nullptr : found->second;
}

SpecArg specArgOf(const Node& node) {
  SpecArg arg;
  arg.name = node.name();
  if (node.value() == nullptr) return arg;
  const ValueMeta::Data& data = node.value()->data;
  if (std::holds_alternative<ValueMeta::SymIntValue>(data)) arg.kind = SpecArgKind::SymInt;
  if (std::holds_alternative<ValueMeta::SymFloatValue>(data)) arg.kind = SpecArgKind::SymFloat;
  if (std::holds_alternative<ValueMeta::SymBoolValue>(data)) arg.kind = SpecArgKind::SymBool;
  if (std::holds_alternative<ValueMeta::Token>(data)) arg.kind = SpecArgKind::Token;
  if (const auto* object = std::get_if<ValueMeta::CustomObject>(&data)) {
    arg.kind = SpecArgKind::CustomObject;
    arg.className = object->className;
  }
  return arg;
}

}  // namespace edgefx

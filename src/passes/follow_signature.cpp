#include "passes/follow_signature.h"

#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace edgefx::detail {
namespace {

template <typename... Args>
[[noreturn]] void refuseChange(std::string_view node, fmt::format_string<Args...> format, Args&&... args) {
  Diagnostic fault(fmt::format(format, std::forward<Args>(args)...));
  fault.node = node;
  throw VerificationError(std::move(fault));
}

std::span<const Argument> resultsOf(const Graph& graph) {
  const Node* output = graph.back();
  if (output == nullptr || !output->isOutput() || output->args().size() != 1) return {};
  return output->args()[0].items();
}

bool isUserSpec(const InputSpec& spec) {
  return spec.kind == InputKind::UserInput;
}

}  // namespace

SignatureFollower::SignatureFollower(const ExportedProgram& program) : graph_(&program.graph()) {
  const std::vector<const Node*> placeholders = program.graph().placeholders();
  const std::span<const Argument> results = resultsOf(program.graph());
  // A signature that is wrong already is left to the checks.
  isSound_ = placeholders.size() == program.signature.inputs.size() &&
             results.size() == program.signature.outputs.size();
  if (!isSound_) return;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    if (placeholders[i]->name() != program.signature.inputs[i].arg.name) isSound_ = false;
    inputs_.push_back(placeholders[i]->id());
    ids_.emplace(placeholders[i]->name(), placeholders[i]->id());
  }
  for (const Argument& result : results) {
    const Node* node = result.findNode();
    results_.push_back(node == nullptr ? kNoKey : node->id());
    if (node != nullptr) ids_.emplace(node->name(), node->id());
  }
}

uint32_t SignatureFollower::keyOf(const Node& node, bool isSameGraph) const {
  if (isSameGraph) return node.id();
  const auto found = ids_.find(std::string(node.name()));
  return found == ids_.end() ? kNoKey : found->second;
}

std::vector<InputSpec> SignatureFollower::followInputs(const ExportedProgram& program, bool isSameGraph,
                                                       std::vector<const InputSpec*>& gone) const {
  const std::vector<InputSpec>& old = program.signature.inputs;
  std::unordered_map<uint32_t, size_t> positions;
  for (size_t i = 0; i < inputs_.size(); ++i) positions.emplace(inputs_[i], i);
  std::vector<InputSpec> made;
  std::vector<bool> isKept(old.size(), false);
  const InputSpec* lastUser = nullptr;
  for (const Node* node : program.graph().placeholders()) {
    const auto found = positions.find(keyOf(*node, isSameGraph));
    if (found == positions.end()) {
      refuseChange(node->name(),
                   "the placeholder is new and has no input spec: inputs are added with ProgramRewriter");
    }
    const InputSpec& spec = old[found->second];
    isKept[found->second] = true;
    if (isUserSpec(spec)) {
      if (lastUser != nullptr && &spec < lastUser) {
        refuseChange(node->name(),
                     "the user inputs are in another order: '%{}' stood behind this one, now before it",
                     lastUser->arg.name);
      }
      lastUser = &spec;
    }
    made.push_back(spec);
    made.back().arg.name = node->name();
  }
  std::unordered_set<std::string_view> written;
  for (const OutputSpec& output : program.signature.outputs) {
    const bool isOfState = writesState(output.kind) || output.kind == OutputKind::GradientToParameter;
    if (isOfState && output.target) written.insert(*output.target);
  }
  for (size_t i = 0; i < old.size(); ++i) {
    if (isKept[i]) continue;
    if (!isStoredTensor(old[i].kind) || !old[i].target) {
      refuseChange(old[i].arg.name, "the placeholder is gone, but it is an input of kind {}, which must stay",
                   name(old[i].kind));
    }
    if (written.contains(*old[i].target)) {
      refuseChange(old[i].arg.name, "the placeholder is gone, but the program writes '{}'", *old[i].target);
    }
    gone.push_back(&old[i]);
  }
  return made;
}

std::vector<OutputSpec> SignatureFollower::followOutputs(const ExportedProgram& program,
                                                         bool isSameGraph) const {
  std::vector<OutputSpec> made = program.signature.outputs;
  const std::span<const Argument> results = resultsOf(program.graph());
  if (results.size() != made.size()) {
    const Node* last = program.graph().back();
    refuseChange(last == nullptr ? std::string_view() : last->name(), "expected {} results, found {}",
                 made.size(), results.size());
  }
  std::vector<uint32_t> now;
  for (const Argument& result : results) {
    const Node* node = result.findNode();
    now.push_back(node == nullptr ? kNoKey : keyOf(*node, isSameGraph));
  }
  // A node that is a result still must be one of those that it was.
  std::unordered_map<uint32_t, size_t> first;
  std::unordered_set<uint32_t> stays;
  for (size_t i = 0; i < now.size(); ++i) {
    if (results_[i] == kNoKey) continue;
    first.emplace(results_[i], i);
    if (results_[i] == now[i]) stays.insert(now[i]);
  }
  for (size_t i = 0; i < now.size(); ++i) {
    const Node* node = results[i].findNode();
    if (node == nullptr) continue;
    const auto found = first.find(now[i]);
    if (now[i] != kNoKey && found != first.end() && !stays.contains(now[i])) {
      refuseChange(node->name(), "the results are in another order: this one was result {}, now it is {}",
                   found->second, i);
    }
    if (!made[i].arg.isConstant()) made[i].arg.name = node->name();
  }
  return made;
}

void SignatureFollower::apply(ExportedProgram& program) const {
  if (!isSound_) return;
  const bool isSameGraph = graph_ == &program.graph();
  std::vector<const InputSpec*> gone;
  std::vector<InputSpec> inputs = followInputs(program, isSameGraph, gone);
  std::vector<OutputSpec> outputs = followOutputs(program, isSameGraph);

  std::unordered_map<std::string, std::string> renamed;  // inputs and results
  if (isSameGraph) {
    std::unordered_map<uint32_t, std::string_view> before;
    for (size_t i = 0; i < inputs_.size(); ++i)
      before.emplace(inputs_[i], program.signature.inputs[i].arg.name);
    for (const Node* node : program.graph().placeholders()) {
      const std::string_view old = before.at(node->id());
      if (old != node->name()) renamed.emplace(old, node->name());
    }
    for (OutputSpec& output : outputs) {
      const bool namesInput =
          output.kind == OutputKind::UserInputMutation || output.kind == OutputKind::GradientToUserInput;
      if (!namesInput || !output.target) continue;
      if (const auto found = renamed.find(*output.target); found != renamed.end())
        output.target = found->second;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const SpecArg& old = program.signature.outputs[i].arg;
      if (!old.isConstant() && old.name != outputs[i].arg.name)
        renamed.emplace(old.name, outputs[i].arg.name);
    }
  }

  std::unordered_set<std::string> kept[2];
  const auto isState = [](const InputSpec& spec) {
    return spec.kind == InputKind::Parameter ||
           (spec.kind == InputKind::Buffer && spec.persistent.value_or(true));
  };
  for (const InputSpec& spec : inputs) {
    if (spec.target && isStoredTensor(spec.kind)) kept[isState(spec)].insert(*spec.target);
  }
  for (const InputSpec* spec : gone) {
    if (kept[isState(*spec)].contains(*spec->target)) continue;
    (isState(*spec) ? program.stateDict() : program.constants()).erase(*spec->target);
  }
  program.signature.inputs = std::move(inputs);
  program.signature.outputs = std::move(outputs);
  if (renamed.empty()) return;
  for (ModuleCallEntry& entry : program.moduleCallGraph) {
    if (!entry.signature) continue;
    for (auto* specs : {&entry.signature->inputs, &entry.signature->outputs}) {
      for (SpecArg& arg : *specs) {
        if (const auto found = renamed.find(arg.name); found != renamed.end()) arg.name = found->second;
      }
    }
  }
}

}  // namespace edgefx::detail

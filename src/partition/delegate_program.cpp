#include "partition/delegate_program.h"

#include <edgefx/program/tensor_table.h>

#include "ir/graph_builder.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace edgefx::detail {
namespace {

void appendLeaves(std::string& out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) out += ", ";
    out += R"({"type": null, "context": null, "children_spec": []})";
  }
}

constexpr std::string_view kTupleSpec = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)";

// A delegate is called with its inputs in order and returns a flat list.
ModuleCallEntry flatCall(size_t inputs, size_t outputs) {
  constexpr size_t kLeafLength = 54, kOtherLength = 240;
  ModuleCallSignature signature;
  std::string& in = signature.inSpec;
  in.reserve(kLeafLength * inputs + kOtherLength);
  in.append("[1, ").append(kTupleSpec).append(kTupleSpec);
  appendLeaves(in, inputs);
  in += R"(]}, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}])";
  std::string& out = signature.outSpec;
  out.reserve(kLeafLength * outputs + kOtherLength);
  out.append("[1, ").append(kTupleSpec);
  appendLeaves(out, outputs);
  out += "]}]";
  return {"", std::move(signature)};
}

const Argument* resultList(const Graph& graph) {
  const Node* const output = graph.back();
  return output == nullptr || !output->isOutput() || output->args().size() != 1 ? nullptr
                                                                                : &output->args()[0];
}

}  // namespace

void renameResults(ExportedProgram& program) {
  const Argument* const results = resultList(std::as_const(program).graph());
  if (results == nullptr) return;
  std::unordered_map<std::string, std::string> renamed;
  const size_t count = std::min(results->items().size(), program.signature.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    SpecArg& arg = program.signature.outputs[i].arg;
    const Node* const node = results->items()[i].findNode();
    if (arg.isConstant() || node == nullptr || node->name() == arg.name) continue;
    renamed.emplace(arg.name, node->name());
    arg.name = node->name();
  }
  for (ModuleCallEntry& entry : program.moduleCallGraph) {
    if (!entry.signature || renamed.empty()) continue;
    for (SpecArg& arg : entry.signature->outputs) {
      if (auto found = renamed.find(arg.name); found != renamed.end()) arg.name = found->second;
    }
  }
}

StateSplitter::StateSplitter(ExportedProgram& program) : program_(program), index_(program.signature) {
  if (const Argument* const results = resultList(std::as_const(program).graph())) {
    isAbsorbed_.assign(results->items().size(), false);
    for (size_t i = 0; i < results->items().size(); ++i) {
      if (const Node* node = results->items()[i].findNode()) results_[node].push_back(i);
    }
  }
}

void StateSplitter::addInputs(const FusedPartition& partition, ExportedProgram& delegate) {
  const bool isTop = partition.ownerPath.empty();
  const std::unordered_set<const Node*> consumed(partition.consumed.begin(), partition.consumed.end());
  size_t count = 0;
  for (const Node& node : std::as_const(delegate).graph().nodes()) {
    if (!node.isPlaceholder()) break;
    ++count;
  }
  delegate.signature.inputs.reserve(count);
  size_t operand = 0;  // of the call, that the next placeholder stands for unless it was consumed
  for (const Node& placeholder : std::as_const(delegate).graph().nodes()) {
    const Node* const node = &placeholder;
    if (!node->isPlaceholder()) break;
    const bool isConsumed = !consumed.empty() && consumed.contains(node);
    const bool isInput = isConsumed || partition.call->args()[operand++].asNode().isPlaceholder();
    const InputSpec* const outer = isTop && isInput ? index_.findInput(node->name()) : nullptr;
    if (isConsumed) {
      const std::string& target = outer->target.value();
      const StoredTensor* stored = std::as_const(program_).stateDict().find(target);
      if (stored != nullptr) {
        delegate.stateDict().set(target, *stored);
      } else if ((stored = std::as_const(program_).constants().find(target)) != nullptr) {
        delegate.constants().set(target, *stored);
      }
      consumed_.emplace_back(node->name());
      delegate.signature.inputs.push_back(*outer);
    } else if (outer != nullptr && outer->arg.kind != SpecArgKind::Tensor &&
               (outer->kind == InputKind::UserInput || outer->kind == InputKind::Token)) {
      delegate.signature.inputs.push_back(*outer);
    } else {
      delegate.signature.inputs.push_back(
          {InputKind::UserInput, specArgOf(*node), std::nullopt, std::nullopt});
    }
  }
}

void StateSplitter::addOutputs(FusedPartition& partition, ExportedProgram& delegate) {
  std::unordered_set<std::string_view> ownState;
  for (const InputSpec& spec : delegate.signature.inputs) {
    if (spec.target) ownState.insert(*spec.target);
  }
  mutations_.clear();
  values_.clear();
  valueSpecs_.clear();
  bool isReordered = false;
  ValueMeta::Sequence callValue;
  callValue.isList = true;
  callValue.elements.reserve(partition.outputs.size());
  for (const FusedPartition::Output& output : partition.outputs) {
    // Results of the program are looked at one by one; those of a branch are values like others.
    bool isValue = false;
    for (const Node& user : std::as_const(*output.getitem).users()) {
      isValue = isValue || !user.isOutput() || !partition.ownerPath.empty();
    }
    static const std::vector<size_t> kNowhere;
    const auto found = results_.find(output.getitem);
    for (size_t position : found == results_.end() ? kNowhere : found->second) {
      const OutputSpec* const spec =
          position < program_.signature.outputs.size() ? &program_.signature.outputs[position] : nullptr;
      const bool writesOwnState =
          spec != nullptr && writesState(spec->kind) && spec->target && ownState.contains(*spec->target);
      if (!writesOwnState) {
        isValue = true;
        continue;
      }
      isAbsorbed_[position] = true;
      isReordered = isReordered || !values_.empty();
      mutations_.push_back(output.value);
      delegate.signature.outputs.push_back({spec->kind, specArgOf(*output.value), spec->target});
    }
    if (!isValue) {
      unused_.push_back(output.getitem);
      continue;
    }
    const auto index = static_cast<int64_t>(values_.size());
    if (output.getitem->arg(1).asInt() != index) output.getitem->setArg(1, index);
    values_.push_back(output.value);
    valueSpecs_.push_back({OutputKind::UserOutput, specArgOf(*output.value), std::nullopt});
    callValue.elements.push_back(output.value->valueRef());
  }
  partition.call->setValue(ValueMeta::of(std::move(callValue)));
  mutations_.insert(mutations_.end(), values_.begin(), values_.end());
  delegate.signature.outputs.reserve(mutations_.size());
  std::move(valueSpecs_.begin(), valueSpecs_.end(), std::back_inserter(delegate.signature.outputs));
  // The reference makes a tuple of the list when it reorders it.
  GraphBuilder(delegate.graph()).outputOf(isReordered ? ArgumentKind::Tuple : ArgumentKind::List, mutations_);
}

ExportedProgram StateSplitter::makeProgram(FusedPartition& partition) {
  ExportedProgram delegate(std::move(partition.module));
  addInputs(partition, delegate);
  addOutputs(partition, delegate);
  const auto isUser = [](const InputSpec& spec) { return !spec.target; };
  const auto isValue = [](const OutputSpec& spec) { return spec.kind == OutputKind::UserOutput; };
  delegate.moduleCallGraph.push_back(
      flatCall(static_cast<size_t>(std::ranges::count_if(delegate.signature.inputs, isUser)),
               static_cast<size_t>(std::ranges::count_if(delegate.signature.outputs, isValue))));
  delegate.rangeConstraints = program_.rangeConstraints;
  delegate.opsetVersion = program_.opsetVersion;
  delegate.schemaVersion = program_.schemaVersion;
  delegate.torchVersion = program_.torchVersion;
  delegate.verifiers = program_.verifiers;
  delegate.dialect = program_.dialect;
  delegate.argumentNames = program_.argumentNames;
  return delegate;
}

void StateSplitter::finish() {
  if (std::ranges::any_of(isAbsorbed_, [](bool absorbed) { return absorbed; })) {
    Node& output = program_.graph().outputNode();
    const Argument& results = output.args()[0];
    Args kept;
    std::vector<OutputSpec> specs;
    for (size_t i = 0; i < isAbsorbed_.size(); ++i) {
      if (isAbsorbed_[i]) continue;
      kept.emplace_back(results.items()[i]);
      if (i < program_.signature.outputs.size()) specs.push_back(std::move(program_.signature.outputs[i]));
    }
    const bool isTuple = results.kind() == ArgumentKind::Tuple;
    output.setArg(0, isTuple ? Arg::tuple(std::move(kept)) : Arg::list(std::move(kept)));
    program_.signature.outputs = std::move(specs);
  }
  for (Node* getitem : unused_) {
    if (getitem->numUsers() == 0) getitem->graph().erase(*getitem);
  }
  if (consumed_.empty()) return;
  const std::unordered_set<std::string> consumed(consumed_.begin(), consumed_.end());
  std::vector<InputSpec> kept;
  std::vector<std::string> targets;
  for (InputSpec& spec : program_.signature.inputs) {
    if (consumed.contains(spec.arg.name)) {
      targets.push_back(std::move(spec.target).value());
    } else {
      kept.push_back(std::move(spec));
    }
  }
  program_.signature.inputs = std::move(kept);
  std::unordered_set<std::string_view> stillNamed;
  for (const InputSpec& spec : program_.signature.inputs) {
    if (spec.target) stillNamed.insert(*spec.target);
  }
  for (const std::string& target : targets) {
    if (stillNamed.contains(target)) continue;
    if (!program_.stateDict().erase(target)) program_.constants().erase(target);
  }
}

}  // namespace edgefx::detail

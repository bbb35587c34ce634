#include <edgefx/dialect/functionalize.h>
#include <edgefx/ir/dead_code.h>
#include <edgefx/program/tensor_table.h>

#include "dialect/functional_graph.h"
#include "ir/graph_builder.h"
#include "support/fail.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using detail::FunctionalGraph;
using detail::WriteAnalysis;

// One of several inputs that a stored tensor stands behind.
struct Holder {
  const Node* placeholder;
  const TensorMeta* meta;
};

bool isSameForm(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides &&
         a.storageOffset == b.storageOffset;
}

// What is known of the memory of a program's inputs.
struct InputMemory {
  std::vector<std::pair<const Node*, const Node*>> sharing;  // show the same
  std::vector<const Node*> overlapping;                      // show parts of what others show
};

InputMemory memoryOfInputs(const ExportedProgram& program, const std::vector<Node*>& inputs) {
  std::vector<std::vector<Holder>> memories;  // in the order of the inputs
  std::unordered_map<const std::byte*, size_t> positions;
  for (size_t i = 0; i < std::min(inputs.size(), program.signature.inputs.size()); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    if (!isStoredTensor(spec.kind)) continue;
    const StoredTensor* const stored = program.findStored(spec);
    if (stored == nullptr || stored->isOpaque() || stored->storage().empty()) continue;
    const auto [found, isNew] = positions.emplace(stored->storage().data(), memories.size());
    if (isNew) memories.emplace_back();
    memories[found->second].push_back({inputs[i], stored->meta()});
  }
  InputMemory found;
  for (const std::vector<Holder>& holders : memories) {
    const Holder& first = holders.front();
    const bool allSame = std::ranges::all_of(
        holders, [&](const Holder& holder) { return isSameForm(*holder.meta, *first.meta); });
    for (const Holder& holder : holders) {
      if (!allSame) {
        found.overlapping.push_back(holder.placeholder);
      } else if (holder.placeholder != first.placeholder) {
        found.sharing.emplace_back(first.placeholder, holder.placeholder);
      }
    }
  }
  return found;
}

class ProgramFunctionalizer {
 public:
  ProgramFunctionalizer(ExportedProgram& program, WriteAnalysis& analysis, const InputMemory& memory)
      : program_(program), analysis_(analysis), memory_(memory), inputs_(program.graph().placeholders()) {}

  void run() {
    for (const NestedModule& nested : analysis_.modules()) {
      try {
        FunctionalGraph graph(*nested.module, analysis_);
        if (nested.module != &program_.graphModule()) {
          graph.run();
          continue;
        }
        describeInputs(graph);
        graph.run();
        addMutations(graph);
        eliminateDeadCode(program_.graphModule());
        checkConstants(graph);
      } catch (Error& error) {
        Diagnostic place;
        place.graph = nested.path;
        error.fillIn(place);
        throw;
      }
    }
    for (const NestedModule& nested : namedModules(program_.graphModule())) {
      detail::GraphBuilder(nested.module->graph()).forgetErasedNames();
    }
  }

 private:
  size_t numInputs() const { return std::min(inputs_.size(), program_.signature.inputs.size()); }
  bool isConstant(size_t input) const {
    return program_.signature.inputs[input].kind == InputKind::ConstantTensor;
  }

  void describeInputs(FunctionalGraph& graph) {
    for (const auto& [first, second] : memory_.sharing) graph.shareMemory(*first, *second);
    for (const Node* input : memory_.overlapping)
      graph.protect(*input, "which another input shows a part of");
    std::unordered_set<std::string_view> states, users;
    for (const OutputSpec& spec : program_.signature.outputs) {
      if (!spec.target || !isMutation(spec.kind)) continue;
      (writesState(spec.kind) ? states : users).insert(*spec.target);
    }
    for (size_t i = 0; i < numInputs(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (spec.target ? states.contains(*spec.target) : users.contains(spec.arg.name)) {
        graph.declareWritten(*inputs_[i]);
      }
    }
  }

  // A constant may be written if nobody sees what it held before, such as a place for intermediate results.
  void checkConstants(FunctionalGraph& graph) {
    for (size_t i = 0; i < numInputs(); ++i) {
      if (!isConstant(i) || graph.finalValue(*inputs_[i]) == nullptr || inputs_[i]->numUsers() == 0) continue;
      Diagnostic refused = graph.firstWrite(*inputs_[i]);
      refused.message += fmt::format(", into '%{}', a constant whose value is used too", inputs_[i]->name());
      throw UnsupportedError(std::move(refused));
    }
  }

  // What inputs hold at the end comes first among the results but for tokens, in the order of the inputs.
  void addMutations(FunctionalGraph& graph) {
    struct Mutation {
      size_t input;
      Arg value;
      OutputSpec spec;
    };
    std::unordered_map<std::string, size_t> stateInputs, userInputs;
    for (size_t i = 0; i < numInputs(); ++i) {
      const InputSpec& spec = program_.signature.inputs[i];
      if (spec.target) stateInputs.emplace(*spec.target, i);
      userInputs.emplace(spec.arg.name, i);
    }
    Node& output = program_.graph().outputNode();
    const std::span<const Argument> old = output.arg(0).items();
    const std::vector<OutputSpec> specs = std::move(program_.signature.outputs);
    if (old.size() != specs.size()) {
      detail::fail<VerificationError>("the graph has {} results, but the signature {} output specs",
                                      old.size(), specs.size());
    }
    std::vector<Mutation> mutations;
    std::unordered_set<std::string> declared;  // by kind and target
    for (size_t i = 0; i < specs.size(); ++i) {
      if (!isMutation(specs[i].kind)) continue;
      const std::string target = specs[i].target.value_or("");
      const auto& known = writesState(specs[i].kind) ? stateInputs : userInputs;
      const auto found = known.find(target);
      mutations.push_back({found == known.end() ? inputs_.size() : found->second, old[i], specs[i]});
      declared.insert((writesState(specs[i].kind) ? "s" : "u") + target);
    }
    for (size_t i = 0; i < numInputs(); ++i) {
      const InputSpec& input = program_.signature.inputs[i];
      Node* const value = graph.finalValue(*inputs_[i]);
      if (value == nullptr || isConstant(i)) continue;
      OutputSpec spec;
      spec.arg = specArgOf(*value);
      const bool isState = input.target.has_value();
      spec.target = isState ? *input.target : input.arg.name;
      spec.kind = !isState                             ? OutputKind::UserInputMutation
                  : input.kind == InputKind::Parameter ? OutputKind::ParameterMutation
                                                       : OutputKind::BufferMutation;
      if (declared.insert((isState ? "s" : "u") + *spec.target).second) {
        mutations.push_back({i, Arg(*value), std::move(spec)});
      }
    }
    std::ranges::stable_sort(mutations, {}, &Mutation::input);

    Arg::List results;
    std::vector<OutputSpec>& made = program_.signature.outputs;
    made.clear();
    const auto addOld = [&](bool tokens) {
      for (size_t i = 0; i < specs.size(); ++i) {
        if (isMutation(specs[i].kind) || (specs[i].kind == OutputKind::Token) != tokens) continue;
        results.emplace_back(old[i]);
        made.push_back(specs[i]);
      }
    };
    addOld(true);
    for (Mutation& mutation : mutations) {
      results.push_back(std::move(mutation.value));
      made.push_back(std::move(mutation.spec));
    }
    addOld(false);
    const bool isList = output.arg(0).kind() == ArgumentKind::List;
    output.setArg(0, isList ? Arg::list(std::move(results)) : Arg::tuple(std::move(results)));
    const std::span<const Argument> now = output.arg(0).items();
    for (size_t i = 0; i < made.size(); ++i) {
      const Node* const node = now[i].findNode();
      if (node != nullptr && !made[i].arg.isConstant()) made[i].arg.name = node->name();
    }
  }

  ExportedProgram& program_;
  WriteAnalysis& analysis_;
  const InputMemory& memory_;
  std::vector<Node*> inputs_;
};

}  // namespace

ExportedProgram functionalize(ExportedProgram program) {
  if (!program.isValid()) detail::fail<UsageError>("expected a program, got one that was moved from");
  const InputMemory memory = memoryOfInputs(program, program.graph().placeholders());
  WriteAnalysis analysis(program.graphModule(), memory.sharing);
  if (analysis.writesAnything()) ProgramFunctionalizer(program, analysis, memory).run();
  if (program.dialect == Dialect::Training) program.dialect = Dialect::Aten;
  std::ranges::replace(program.verifiers, std::string("TRAINING"), std::string("ATEN"));
  return program;
}

}  // namespace edgefx

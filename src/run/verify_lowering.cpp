#include <edgefx/program/lowered_module.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

using Values = std::vector<c10::IValue>;

// Inputs that a run may write.
Values ownInputs(std::span<const c10::IValue> inputs) {
  Values copies;
  for (const c10::IValue& input : inputs) {
    copies.push_back(input.isTensor() && input.toTensor().defined() ? c10::IValue(input.toTensor().clone())
                                                                    : input);
  }
  return copies;
}

bool isWritten(const c10::IValue& before, const c10::IValue& after) {
  return before.isTensor() && before.toTensor().defined() && !at::equal(before.toTensor(), after.toTensor());
}

bool writesInputs(const ExportedProgram& program) {
  return std::ranges::any_of(program.signature.outputs, [](const OutputSpec& spec) {
    return spec.kind == OutputKind::UserInputMutation;
  });
}

// Whether a node's value is likely to be the same thing in two programs that both have a node of that name.
// Names of getitem nodes are given anew by each lowering.
bool isComparable(const Node& node) {
  return node.isCall() && node.target().name() != "operator.getitem";
}

// Graphs that run once in a call: the program's, and those of the delegates that it calls, at every depth.
void addTopGraphs(const ExportedProgram& program, std::unordered_set<const Graph*>& graphs) {
  std::vector<const ExportedProgram*> pending{&program};
  while (!pending.empty()) {
    const ExportedProgram& at = *pending.back();
    pending.pop_back();
    if (!graphs.insert(&at.graph()).second) continue;
    for (const Node& node : at.graph().nodes()) {
      if (!callsDelegate(node)) continue;
      if (const LoweredModule* module = findLoweredModule(at.graphModule(), node))
        pending.push_back(&module->program);
    }
  }
}

// Finds the first node, in the order of the original, that gives another value in the lowered program.
class DeviationFinder {
 public:
  DeviationFinder(const ExportedProgram& before, const ExportedProgram& after,
                  std::span<const c10::IValue> inputs, const VerifyOptions& options)
      : before_(before), after_(after), inputs_(inputs), options_(options) {
    addTopGraphs(before, beforeGraphs_);
    addTopGraphs(after, afterGraphs_);
  }

  std::optional<VerifyReport::Deviation> find() {
    std::vector<size_t> bytes;
    const std::vector<std::string> names = sharedNames(bytes);
    size_t first = 0, last = names.size();  // the first deviation is among these, if there is one
    std::optional<VerifyReport::Deviation> found;
    while (first < last) {
      const std::vector<size_t> probes = probesOf(bytes, first, last);
      const std::optional<size_t> bad = firstBad(names, probes, found);
      if (!bad) return found;
      last = probes[*bad];  // that one is known to be bad
      if (*bad > 0) first = probes[*bad - 1] + 1;
    }
    return found;
  }

 private:
  static constexpr size_t kProbes = 32;
  static constexpr size_t kMostBytes = size_t{256} << 20;

  // What to look at next among nodes whose values take so many bytes: everything, if copies of all fit, else
  // some that are evenly spread.
  static std::vector<size_t> probesOf(const std::vector<size_t>& bytes, size_t first, size_t last) {
    size_t all = 0;
    for (size_t at = first; at < last && all <= kMostBytes; ++at) all += bytes[at];
    const size_t step = all <= kMostBytes ? 1 : (last - first + kProbes - 1) / kProbes;
    std::vector<size_t> probes;
    for (size_t at = first + step - 1; at < last; at += step) probes.push_back(at);
    if (probes.empty() || probes.back() != last - 1) probes.push_back(last - 1);
    return probes;
  }

  // Names of nodes that run once in both programs, in the order of the original, and the bytes of their
  // values.
  std::vector<std::string> sharedNames(std::vector<size_t>& bytes) const {
    std::unordered_map<std::string_view, int> inAfter;
    for (const Graph* graph : afterGraphs_) {
      for (const Node& node : graph->nodes()) {
        if (isComparable(node)) ++inAfter[node.name()];
      }
    }
    std::unordered_map<std::string_view, int> inBefore;
    for (const Graph* graph : beforeGraphs_) {
      for (const Node& node : graph->nodes()) {
        if (isComparable(node)) ++inBefore[node.name()];
      }
    }
    std::vector<std::string> names;
    RunOptions options = plainOptions();
    options.tap = [&](const TapEvent& event) {
      if (!event.value.isTensor() || !beforeGraphs_.contains(&event.node.graph())) return;
      const auto found = inAfter.find(event.node.name());
      if (found == inAfter.end() || found->second != 1 || inBefore[event.node.name()] != 1) return;
      names.emplace_back(event.node.name());
      bytes.push_back(event.value.toTensor().nbytes());
    };
    Interpreter(before_, options).run(ownInputs(inputs_));
    return names;
  }

  // Position among the probes of the first whose value differs.
  std::optional<size_t> firstBad(const std::vector<std::string>& names, const std::vector<size_t>& probes,
                                 std::optional<VerifyReport::Deviation>& deviation) const {
    std::unordered_map<std::string_view, size_t> wanted;
    for (size_t i = 0; i < probes.size(); ++i) wanted.emplace(names[probes[i]], i);
    std::vector<c10::IValue> expected(probes.size());
    RunOptions options = plainOptions();
    options.tap = [&](const TapEvent& event) {
      const auto found = wanted.find(event.node.name());
      if (found == wanted.end() || !beforeGraphs_.contains(&event.node.graph())) return;
      // A later operator may write it in place.
      expected[found->second] = event.value.toTensor().clone();
    };
    Interpreter(before_, options).run(ownInputs(inputs_));

    std::optional<size_t> first;
    options.tap = [&](const TapEvent& event) {
      const auto found = wanted.find(event.node.name());
      if (found == wanted.end() || !afterGraphs_.contains(&event.node.graph())) return;
      if (first && *first <= found->second) return;
      const c10::IValue& original = expected[found->second];
      if (!event.value.isTensor() || !original.isTensor()) return;
      // Another shape or dtype says that the name is used for something else.
      const at::Tensor& value = event.value.toTensor();
      if (value.sizes() != original.toTensor().sizes()) return;
      if (value.scalar_type() != original.toTensor().scalar_type()) return;
      Difference difference = compareValues(event.value, original, options_.tolerance);
      if (difference.agrees) return;
      first = found->second;
      deviation = {std::string(event.node.name()), std::string(event.graph), std::move(difference)};
    };
    Interpreter(after_, options).run(ownInputs(inputs_));
    return first;
  }

  RunOptions plainOptions() const {
    RunOptions options;
    options.delegateRunner = options_.delegateRunner;
    return options;
  }

  const ExportedProgram& before_;
  const ExportedProgram& after_;
  std::span<const c10::IValue> inputs_;
  const VerifyOptions& options_;
  std::unordered_set<const Graph*> beforeGraphs_, afterGraphs_;
};

// Compares two programs call by call.
class CallComparer {
 public:
  CallComparer(const ExportedProgram& before, const ExportedProgram& after, const VerifyOptions& options)
      : before_(before),
        options_(options),
        original_(before, {.delegateRunner = options.delegateRunner}),
        lowered_(after, {.delegateRunner = options.delegateRunner}),
        written_(original_.writtenState()) {
    for (const std::string& target : written_) {
      try {
        lowered_.state(target);
      } catch (const UsageError&) {
        gone_.emplace(target, original_.state(target).clone());
      }
    }
  }

  void compare(int call, std::span<const c10::IValue> inputs, std::vector<VerifyReport::Compared>& all) {
    Values inputsBefore = ownInputs(inputs), inputsAfter = ownInputs(inputs);
    const Values expected = original_.run(inputsBefore);
    const Values found = lowered_.run(inputsAfter);
    const auto add = [&](std::string name, const c10::IValue& got, const c10::IValue& wanted) {
      all.push_back({std::move(name), call, compareValues(got, wanted, options_.tolerance)});
    };
    if (found.size() != expected.size()) {
      detail::fail<UsageError>("the programs give {} and {} results", expected.size(), found.size());
    }
    size_t result = 0;
    for (const OutputSpec& output : before_.signature.outputs) {
      if (isMutation(output.kind) || output.kind == OutputKind::Token) continue;
      add(output.arg.isConstant() ? "constant " + std::to_string(result) : output.arg.name, found[result],
          expected[result]);
      ++result;
    }
    size_t user = 0;
    for (const InputSpec& input : before_.signature.inputs) {
      if (input.kind == InputKind::UserInput) {
        // Programs that are not functional write inputs without saying so.
        if (isWritten(inputs[user], inputsBefore[user]) || isWritten(inputs[user], inputsAfter[user])) {
          add("input '" + input.arg.name + "'", inputsAfter[user], inputsBefore[user]);
        }
        ++user;
      }
    }
    for (const std::string& target : written_) {
      // What the lowered program has no more must not have changed.
      const auto gone = gone_.find(target);
      add("buffer '" + target + "'", gone == gone_.end() ? lowered_.state(target) : gone->second,
          original_.state(target));
    }
  }

  bool writesState() const { return !written_.empty(); }

 private:
  const ExportedProgram& before_;
  const VerifyOptions& options_;
  Interpreter original_, lowered_;
  const std::vector<std::string> written_;
  std::unordered_map<std::string, at::Tensor> gone_;  // state that the lowered program lacks, at the start
};

}  // namespace

bool VerifyReport::agrees() const {
  return std::ranges::all_of(compared, [](const Compared& one) { return one.difference.agrees; });
}

std::string VerifyReport::text(bool everything) const {
  std::string out;
  for (const Compared& one : compared) {
    if (one.difference.agrees && !everything) continue;
    out += one.name;
    if (one.call > 0) out += fmt::format(", call {}", one.call + 1);
    out += ": " + edgefx::text(one.difference) + '\n';
  }
  if (firstDeviation) {
    out += fmt::format("first deviation at node '%{}'{}: {}\n", firstDeviation->node,
                       firstDeviation->graph.empty() ? std::string() : " of " + firstDeviation->graph,
                       firstDeviation->difference.reason);
  }
  return out;
}

VerifyReport verifyLowering(const ExportedProgram& before, const ExportedProgram& after,
                            std::span<const c10::IValue> inputs, const VerifyOptions& options) {
  VerifyReport report;
  {
    CallComparer comparer(before, after, options);
    const bool writes = comparer.writesState() || writesInputs(before);
    const int calls = options.calls > 0 ? options.calls : writes ? 2 : 1;
    for (int call = 0; call < calls; ++call) comparer.compare(call, inputs, report.compared);
  }
  if (!report.agrees()) report.firstDeviation = DeviationFinder(before, after, inputs, options).find();
  return report;
}

VerifyReport verifyLowering(const ExportedProgram& before, const ExportedProgram& after,
                            const VerifyOptions& options) {
  return verifyLowering(before, after, generateInputs(before, options.seed), options);
}

}  // namespace edgefx

#include "support/computation.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>

namespace edgefx::test {
namespace {

std::string hashed(std::string_view head, const std::string& text) {
  return std::string(head) + '#' + std::to_string(std::hash<std::string>()(text));
}

// The expressions of the nodes of one graph, given those of its placeholders.
class Expressions {
 public:
  struct Sink {
    Computation* computation;
    std::map<std::string, std::set<const ExportedProgram*>>* holders;  // of buffers, by name
  };

  Expressions(const GraphModule& module, Sink sink) : module_(module), sink_(sink), texts_(module.graph()) {}

  void setInput(const Node& placeholder, std::string text) { texts_[placeholder] = std::move(text); }

  void compute() {
    for (const Node& node : module_.graph().nodes()) {
      if (node.isGetAttr()) {
        texts_[node] = branchText(node);
      } else if (node.isCall()) {
        texts_[node] = callText(node);
        if (node.numUsers() == 0 && !callsDelegate(node) && !getitemIndex(node)) {
          sink_.computation->effects.push_back(texts_[node]);
        }
      } else if (node.isOutput() && !node.args().empty()) {
        for (const Argument& item : node.arg(0).items()) results_.push_back(argumentText(item));
        if (node.arg(0).isNode()) results_.push_back(texts_[node.arg(0).asNode()]);
      }
    }
  }

  const std::vector<std::string>& results() const { return results_; }

 private:
  std::string argumentText(const Argument& argument) const {
    if (const Node* node = argument.findNode()) return texts_[*node];
    std::string text;
    if (argument.kind() == ArgumentKind::Dict) {
      for (auto [key, value] : argument.asDict()) text += std::string(key) + '=' + argumentText(value) + ',';
      return '{' + text + '}';
    }
    if (argument.items().empty()) {
      appendFxText(text, argument);
      return text == "()" ? "[]" : text;
    }
    for (const Argument& item : argument.items()) text += argumentText(item) + ',';
    return '[' + text + ']';
  }

  std::string branchText(const Node& node) {
    const GraphModule* branch = module_.findChild(node.targetText());
    if (branch == nullptr) return std::string(node.targetText());
    Expressions inside(*branch, sink_);
    size_t position = 0;
    for (const Node* placeholder : branch->graph().placeholders()) {
      inside.setInput(*placeholder, "argument " + std::to_string(position++));
    }
    inside.compute();
    std::string text;
    for (const std::string& result : inside.results()) text += result + ',';
    return hashed("branch", text);
  }

  std::string callText(const Node& node) {
    if (callsDelegate(node)) return runDelegate(node);
    if (const std::optional<int64_t> index = getitemIndex(node)) {
      const auto found = delegates_.find(&node.arg(0).asNode());
      if (found != delegates_.end()) return found->second.at(static_cast<size_t>(*index));
    }
    std::string text;
    for (const Argument& argument : node.args()) text += argumentText(argument) + ',';
    for (auto [key, value] : node.kwargs()) text += std::string(key) + '=' + argumentText(value) + ',';
    return hashed(node.target().fxText(), std::string(node.target().fxText()) + text);
  }

  std::string runDelegate(const Node& call);

  const GraphModule& module_;
  Sink sink_;
  NodeMap<std::string> texts_;
  std::map<const Node*, std::vector<std::string>> delegates_;
  std::vector<std::string> results_;
};

std::string storedText(const ExportedProgram& program, const InputSpec& spec) {
  const bool isInState = spec.kind == InputKind::Parameter || spec.persistent.value_or(false);
  const StoredTensor* stored = (isInState ? program.stateDict() : program.constants()).find(*spec.target);
  std::string text = std::string(name(spec.kind)) + ' ' + *spec.target;
  if (stored == nullptr) throw std::runtime_error("no tensor for " + text);
  const bool isBytes = !stored->isOpaque();
  return text + '@' + std::to_string(isBytes ? reinterpret_cast<uintptr_t>(stored->storage().data()) : 0);
}

// Computes a whole program with these user inputs. Returns its user outputs; what it writes goes to the sink.
std::vector<std::string> runProgram(const ExportedProgram& program, const std::vector<std::string>& inputs,
                                    Expressions::Sink sink) {
  Expressions expressions(program.graphModule(), sink);
  const std::vector<const Node*> placeholders = program.graph().placeholders();
  if (placeholders.size() != program.signature.inputs.size()) throw std::runtime_error("inputs do not match");
  size_t position = 0;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    if (spec.target) {
      expressions.setInput(*placeholders[i], storedText(program, spec));
      if (spec.kind == InputKind::Buffer) (*sink.holders)[*spec.target].insert(&program);
    } else {
      expressions.setInput(*placeholders[i], inputs.at(position++));
    }
  }
  if (position != inputs.size()) throw std::runtime_error("a delegate is called with too many inputs");
  expressions.compute();

  std::vector<std::string> outputs;
  for (size_t i = 0; i < expressions.results().size(); ++i) {
    const OutputSpec& spec = program.signature.outputs.at(i);
    if (isMutation(spec.kind)) {
      sink.computation->written[std::string(name(spec.kind)) + ' ' + spec.target.value_or("")] =
          expressions.results()[i];
    } else {
      outputs.push_back(expressions.results()[i]);
    }
  }
  return outputs;
}

std::string Expressions::runDelegate(const Node& call) {
  const LoweredModule* lowered = findLoweredModule(module_, call);
  if (lowered == nullptr) throw std::runtime_error("no delegate for " + call.text());
  std::vector<std::string> inputs;
  for (const Argument& argument : call.args().subspan(1)) inputs.push_back(argumentText(argument));
  delegates_[&call] = runProgram(lowered->program, inputs, sink_);
  return "delegate";
}

}  // namespace

Computation computationOf(const ExportedProgram& program) {
  Computation computation;
  std::map<std::string, std::set<const ExportedProgram*>> holders;
  std::vector<std::string> inputs;
  for (const InputSpec& spec : program.signature.inputs) {
    if (!spec.target) inputs.push_back("input " + std::to_string(inputs.size()));
  }
  computation.outputs = runProgram(program, inputs, {&computation, &holders});
  std::ranges::sort(computation.effects);
  for (const auto& [buffer, programs] : holders) {
    if (programs.size() > 1 && computation.written.contains("BUFFER_MUTATION " + buffer)) {
      computation.separatedBuffers.push_back(buffer);
    }
  }
  return computation;
}

void expectSameComputation(const ExportedProgram& original, const ExportedProgram& lowered) {
  const Computation before = computationOf(original);
  const Computation after = computationOf(lowered);
  EXPECT_EQ(after.outputs, before.outputs);
  EXPECT_EQ(after.written, before.written);
  EXPECT_EQ(after.effects, before.effects);
  EXPECT_EQ(after.separatedBuffers, std::vector<std::string>());
}

}  // namespace edgefx::test

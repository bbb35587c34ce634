#include "support/value_numbers.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace edgefx::test {

size_t ValueNumbers::number(const std::string& key) {
  return numbers_.emplace(key, numbers_.size()).first->second;
}

// Several results at once are the tuple of them.
size_t ValueNumbers::valueOf(const Scope& scope, const Node& node) {
  const Numbers& values = scope.values.at(&node);
  if (values.size() == 1) return values.front();
  std::string key = "tuple";
  for (size_t value : values) key += fmt::format(" #{}", value);
  return number(key);
}

std::string ValueNumbers::text(const Scope& scope, const Argument& argument) {
  if (const Node* node = argument.findNode()) return fmt::format("#{}", valueOf(scope, *node));
  std::string out;
  if (argument.kind() == ArgumentKind::Dict) {
    for (const KeyedArgument item : argument.asDict())
      out += fmt::format("{}: {}, ", item.key, text(scope, item.value));
    return "{" + out + "}";
  }
  if (argument.items().empty()) {
    appendFxText(out, argument);
    return out;
  }
  for (const Argument& item : argument.items()) out += text(scope, item) + ", ";
  return "(" + out + ")";
}

// A branch as a value: what it makes of operands that nothing is known of.
size_t ValueNumbers::branch(const GraphModule& module) {
  Numbers inputs;
  for (size_t i = 0; i < module.graph().placeholders().size(); ++i)
    inputs.push_back(number(fmt::format("operand {}", i)));
  Effects effects;
  std::string key = "branch";
  for (size_t value : runGraph(module, inputs, effects)) key += fmt::format(" #{}", value);
  for (const std::string& write : effects.writes) key += " " + write;
  return number(key);
}

void ValueNumbers::visit(Scope& scope, const Node& node, Effects& effects) {
  if (node.isGetAttr()) {
    const GraphModule* child = scope.module->findChild(node.targetText());
    if (child != nullptr) scope.values[&node] = {branch(*child)};
    return;  // delegates are run where they are called
  }
  if (const LoweredModule* lowered = findLoweredModule(*scope.module, node)) {
    Numbers inputs;
    for (const Argument& argument : node.args().subspan(1))
      inputs.push_back(valueOf(scope, argument.asNode()));
    scope.values[&node] = runProgram(lowered->program, inputs, effects, nullptr);
    return;
  }
  if (const std::optional<int64_t> index = getitemIndex(node)) {
    const Numbers& values = scope.values.at(&node.arg(0).asNode());
    const bool fromDelegate = callsDelegate(node.arg(0).asNode());
    if (fromDelegate) {
      scope.values[&node] = {values.at(static_cast<size_t>(*index))};
      return;
    }
  }
  std::string key(node.target().fxText());
  for (const Argument& argument : node.args()) key += " " + text(scope, argument);
  for (const KeyedArgument item : node.kwargs())
    key += fmt::format(" {}={}", item.key, text(scope, item.value));
  scope.values[&node] = {number(key)};
  if (isImpure(node, *scope.module))
    effects.writes.push_back(fmt::format("effect = {}", scope.values[&node].front()));
}

ValueNumbers::Numbers ValueNumbers::runGraph(const GraphModule& module, const Numbers& inputs,
                                             Effects& effects) {
  Scope scope{&module, {}};
  size_t input = 0;
  Numbers results;
  for (const Node& node : module.graph().nodes()) {
    if (node.isPlaceholder()) {
      scope.values[&node] = {inputs.at(input++)};
    } else if (!node.isOutput()) {
      visit(scope, node, effects);
    } else if (node.arg(0).isSequence()) {
      for (const Argument& item : node.arg(0).items()) {
        const Node* result = item.findNode();
        results.push_back(result != nullptr ? valueOf(scope, *result)
                                            : number("constant " + text(scope, item)));
      }
    } else {
      results.push_back(number("bare " + text(scope, node.arg(0))));
    }
  }
  if (input != inputs.size()) throw std::logic_error("more inputs than placeholders");
  return results;
}

ValueNumbers::Numbers ValueNumbers::runProgram(const ExportedProgram& program, const Numbers& userInputs,
                                               Effects& effects, std::vector<std::string>* userResults) {
  Numbers inputs;
  size_t userInput = 0;
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.target) {
      inputs.push_back(number(fmt::format("{} {}", name(spec.kind), *spec.target)));
    } else {
      inputs.push_back(userInputs.at(userInput++));
    }
  }
  if (userInput != userInputs.size()) throw std::logic_error("more inputs than a program takes");
  const Numbers results = runGraph(program.graphModule(), inputs, effects);
  Numbers values;
  for (size_t i = 0; i < results.size(); ++i) {
    const OutputSpec& spec = program.signature.outputs.at(i);
    if (isMutation(spec.kind)) {
      effects.writes.push_back(fmt::format("{} {} = {}", name(spec.kind), *spec.target, results[i]));
    } else {
      if (userResults != nullptr) {
        userResults->push_back(fmt::format("{} {} = {}", name(spec.kind), values.size(), results[i]));
      }
      values.push_back(results[i]);
    }
  }
  return values;
}

std::vector<std::string> ValueNumbers::resultsOf(const ExportedProgram& program) {
  Numbers userInputs;
  for (const InputSpec& spec : program.signature.inputs) {
    if (!spec.target) userInputs.push_back(number(fmt::format("input {}", userInputs.size())));
  }
  Effects effects;
  std::vector<std::string> results;
  runProgram(program, userInputs, effects, &results);
  results.insert(results.end(), effects.writes.begin(), effects.writes.end());
  std::sort(results.begin(), results.end());
  return results;
}

}  // namespace edgefx::test

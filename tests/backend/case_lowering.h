#pragma once

#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "backend/test_delegates.h"
#include "support/hand_partitioner.h"
#include "support/test_data.h"
#include "support/value_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Lowering the small programs of tests/data/cases, which made trouble somewhere, and looking at the result.
namespace edgefx::test::cases {

using Names = std::vector<std::string>;
using Wanted = HandPartitioner::Wanted;

inline ExportedProgram caseProgram(const std::string& name) {
  return loadProgram(corpusRoots()[1] / (name + ".pt2"));
}

inline const BackendRegistry& backends() {
  static const BackendRegistry registry = textBackends({"BackendA", "BackendB"});
  return registry;
}

// Lowers, and checks that the result holds together and computes what the original does.
inline ExportedProgram lowerWith(const ExportedProgram& program, const Partitioner& partitioner) {
  const std::string before = fxText(program.graphModule());
  ExportedProgram lowered = toBackend(program, partitioner, backends());
  EXPECT_EQ(fxText(program.graphModule()), before);
  EXPECT_EQ(render(checkProgram(lowered)), "");
  ValueNumbers numbers;
  EXPECT_EQ(numbers.resultsOf(lowered), numbers.resultsOf(program));
  return lowered;
}

inline ExportedProgram lower(const ExportedProgram& program, Wanted wanted,
                             HandPartitioner::Options options = {}) {
  return lowerWith(program, HandPartitioner(std::move(wanted), std::move(options)));
}

// The message of the refusal; the program must be as it was.
inline std::string refusal(const ExportedProgram& program, Wanted wanted,
                           HandPartitioner::Options options = {}) {
  const std::string before = fxText(program.graphModule());
  std::string message = "nothing thrown";
  try {
    toBackend(program, HandPartitioner(std::move(wanted), std::move(options)), backends());
  } catch (const LoweringError& error) {
    message = error.what();
  }
  EXPECT_EQ(fxText(program.graphModule()), before);
  EXPECT_NE(message.find("method 'forward'"), std::string::npos) << message;
  return message;
}

inline void expectMentions(const std::string& message, const std::vector<std::string_view>& parts) {
  for (std::string_view part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

inline const LoweredModule& delegate(const GraphModule& module, size_t number) {
  return *module.findDelegate("lowered_module_" + std::to_string(number))->module;
}
inline const LoweredModule& delegate(const ExportedProgram& program, size_t number) {
  return delegate(program.graphModule(), number);
}

inline size_t numDelegates(const ExportedProgram& program) {
  return program.graphModule().delegates().size();
}

// Names of what the call of that delegate passes.
inline Names argumentsOf(const GraphModule& module, size_t number) {
  const LoweredModule& wanted = delegate(module, number);
  Names names;
  for (const Node& node : module.graph().nodes()) {
    if (!callsDelegate(node) || findLoweredModule(module, node) != &wanted) continue;
    for (const Argument& argument : node.args().subspan(1)) names.emplace_back(argument.asNode().name());
  }
  return names;
}
inline Names argumentsOf(const ExportedProgram& program, size_t number) {
  return argumentsOf(program.graphModule(), number);
}

inline Names callsOf(const Graph& graph) {
  Names names;
  for (const Node& node : graph.nodes()) {
    if (node.isCall()) names.emplace_back(node.name());
  }
  return names;
}
inline Names callsOf(const LoweredModule& lowered) {
  return callsOf(lowered.program.graph());
}

// "b_k: BUFFER k", "x: USER_INPUT".
template <typename Spec>
Names specTexts(const std::vector<Spec>& specs) {
  Names names;
  for (const Spec& spec : specs) {
    std::string text = spec.arg.name + ": " + std::string(name(spec.kind));
    names.push_back(spec.target ? text + ' ' + *spec.target : text);
  }
  return names;
}
inline Names inputsOf(const ExportedProgram& program) {
  return specTexts(program.signature.inputs);
}
inline Names outputsOf(const ExportedProgram& program) {
  return specTexts(program.signature.outputs);
}

inline Names keysOf(const TensorTable& table) {
  Names names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

inline std::vector<Names> proposalNames(const ExportedProgram& program, const OperatorSupport& support) {
  std::vector<Names> sets;
  for (const ProposedPartition& partition :
       proposePartitions(program.graph(), support, {.allowsSingleNodePartition = true})) {
    Names names;
    for (const Node* node : partition.nodes) names.emplace_back(node->name());
    sets.push_back(std::move(names));
  }
  std::ranges::sort(sets);
  return sets;
}

inline OperatorSupport allBut(const std::vector<Target>& operators) {
  return support::anyCall() && !support::operators(operators);
}

}  // namespace edgefx::test::cases

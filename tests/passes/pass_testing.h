#pragma once

#include <edgefx/ir/fx_text.h>
#include <edgefx/passes/pass_manager.h>
#include <edgefx/passes/standard.h>
#include <edgefx/run/verify_lowering.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Running passes on small programs.
namespace edgefx::test {

// Runs a pass on a copy; the program must compute what it did, and running the pass again must change
// nothing.
inline ExportedProgram afterPass(const ExportedProgram& program, const PassRef& pass) {
  ExportedProgram result = program.clone();
  const PassManager manager({pass});
  manager.run(result);
  const VerifyReport report = verifyLowering(program, result, {.tolerance = {0, 0}, .calls = 2});
  EXPECT_TRUE(report.agrees()) << report.text() << fxText(program.graphModule()) << "\nafter "
                               << fxText(result.graphModule());
  EXPECT_FALSE(manager.run(result)) << pass->name() << " changes its own result:\n"
                                    << fxText(result.graphModule());
  return result;
}
inline ExportedProgram afterPass(const ExportedProgram& program, std::string_view pass) {
  return afterPass(program, makePass(pass));
}

// Names of the nodes of a graph that are calls, in order.
inline std::vector<std::string> callNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.isCall()) names.emplace_back(node.name());
  }
  return names;
}
inline std::vector<std::string> callNames(const ExportedProgram& program) {
  return callNames(program.graph());
}

inline std::vector<std::string> inputNames(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const InputSpec& spec : program.signature.inputs) names.push_back(spec.arg.name);
  return names;
}

inline std::string resultLine(const ExportedProgram& program) {
  return program.graph().outputNode().text();
}

}  // namespace edgefx::test

#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/to_edge.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace edgefx::test {
namespace {

ExportedProgram callsOne(Target target) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call(target, {x}, tensorValue({2}), "called"));
  return builder.finish();
}

TEST(ManagerToEdge, MethodsKeepTheirOrderAndTheManagerItsConfig) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("zeta", callsOne("aten.relu.default"));
  methods.emplace_back("alpha", callsOne("aten.neg.default"));
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  const EdgeProgramManager manager = toEdge(std::move(methods), config, {{"size", 7}});
  EXPECT_EQ(manager.methods(), (std::vector<std::string>{"zeta", "alpha"}));
  EXPECT_EQ(manager.compileConfig(), config);
  EXPECT_EQ(manager.constantMethods().size(), 1u);
  const ExportedProgram& program = manager.exportedProgram("alpha");
  EXPECT_EQ(program.dialect, Dialect::Edge);
  EXPECT_NE(program.graph().find("aten_neg_default"), nullptr) << fxText(program.graph());
}

TEST(ManagerToEdge, WritesBecomeMutations) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  builder.userOutput(builder.call("aten.relu_.default", {state}, tensorValue({2})));
  const EdgeProgramManager manager = toEdge(builder.finish());
  EXPECT_EQ(manager.exportedProgram().signature.outputs[0].kind, OutputKind::BufferMutation);
}

TEST(ManagerToEdge, TheCallersProgramIsItsOwn) {
  const ExportedProgram program = callsOne("aten.relu.default");
  const ExportedProgram before = program.clone();
  toEdge(program.clone());
  EXPECT_FALSE(findDifference(before, program));
}

TEST(ManagerToEdge, WhatHasNoWayToEdgeDialectIsNamedWithMethodAndNode) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("good", callsOne("aten.relu.default"));
  methods.emplace_back("bad", callsOne("aten.median.default"));
  try {
    toEdge(std::move(methods));
    FAIL();
  } catch (const VerificationError& error) {
    const Diagnostic& found = error.diagnostics().front();
    EXPECT_EQ(found.method, "bad");
    EXPECT_EQ(found.node, "called");
    EXPECT_NE(found.message.find("'aten.median.default'"), std::string::npos) << found.message;
  }
}

TEST(ManagerToEdge, ExceptionsPreservedOperatorsAndUncheckedProgramsPass) {
  EdgeCompileConfig exception, preserved, unchecked;
  exception.coreAtenOpsExceptionList = {"aten.median.default"};
  preserved.preserveOps = {"aten.median.default"};
  unchecked.checkIrValidity = false;
  for (const EdgeCompileConfig& config : {exception, preserved, unchecked}) {
    const EdgeProgramManager manager = toEdge(callsOne("aten.median.default"), config);
    EXPECT_NE(manager.exportedProgram().graph().find("aten_median_default"), nullptr);
  }
}

TEST(ManagerToEdge, WhatCannotBeMadeFunctionalIsNamedWithItsMethod) {
  ProgramBuilder builder;
  Node& table = builder.constant("table", sampleTensor({2}));
  builder.userOutput(builder.call("aten.relu_.default", {table}, tensorValue({2})));
  try {
    toEdge(builder.finish());
    FAIL();
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.diagnostics().front().method, "forward");
  }
}

}  // namespace
}  // namespace edgefx::test

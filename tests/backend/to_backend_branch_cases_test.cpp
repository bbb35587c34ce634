#include <edgefx/ir/dead_code.h>

#include "backend/case_lowering.h"

namespace edgefx::test::cases {
namespace {

TEST(ToBackendBranchCases, BranchesInsideOfBranches) {
  const ExportedProgram program = caseProgram("nested_cond");
  const ExportedProgram lowered =
      lower(program, {{"t0", {"true_graph_0", "false_graph_0", "cond", "getitem"}}});
  ASSERT_EQ(numDelegates(lowered), 1u);
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"x", "p", "q"}));
  const ExportedProgram& inner = delegate(lowered, 0).program;
  EXPECT_EQ(keysOf(inner.stateDict()), (Names{"w"}));
  EXPECT_TRUE(lowered.graphModule().children().empty());
  for (const char* path :
       {"true_graph_0", "true_graph_0.true_graph_0", "true_graph_0.false_graph_0", "false_graph_0"}) {
    const GraphModule* branch = inner.graphModule().findChild(path);
    ASSERT_NE(branch, nullptr) << path;
    EXPECT_EQ(fxText(branch->graph()), fxText(program.graphModule().findChild(path)->graph())) << path;
  }
}

// Whole or not at all: an operator in a branch that is not supported, at any depth, keeps the operator
// outside.
TEST(ToBackendBranchCases, ABranchThatIsNotSupported) {
  const ExportedProgram program = caseProgram("nested_cond");
  for (const char* missing : {"aten.tan.default", "aten.add.Tensor"}) {
    const PartitionResult result = partitionBySupport(program, allBut({missing}), {.spec = {"BackendA"}});
    const Node& cond = *program.graph().find("cond");
    EXPECT_FALSE(result.tags.isTagged(cond)) << missing;
    expectMentions(std::string(result.tags.reasonOf(cond)), {missing});
  }
}

TEST(ToBackendBranchCases, BranchesOfOperatorsThatStay) {
  const ExportedProgram program = caseProgram("nested_cond");
  const ExportedProgram lowered =
      lowerWith(program, AotiPartitioner({"BackendA"}, "inside", ControlFlow::Branches));
  EXPECT_EQ(numDelegates(lowered), 0u);
  const GraphModule& top = lowered.graphModule();
  EXPECT_EQ(callsOf(delegate(*top.findChild("true_graph_0"), 0)), (Names{"add"}));
  EXPECT_EQ(callsOf(delegate(*top.findChild("true_graph_0.true_graph_0"), 0)), (Names{"mul"}));
  EXPECT_EQ(callsOf(delegate(*top.findChild("true_graph_0.false_graph_0"), 0)), (Names{"add"}));
  EXPECT_EQ(callsOf(delegate(*top.findChild("false_graph_0"), 0)), (Names{"tan"}));

  const ExportedProgram loop = caseProgram("while_loop_operands");
  const ExportedProgram loopLowered =
      lowerWith(loop, AotiPartitioner({"BackendA"}, "inside", ControlFlow::Branches));
  for (const char* path : {"while_loop_cond_graph_0", "while_loop_body_graph_0"}) {
    EXPECT_EQ(loopLowered.graphModule().findChild(path)->delegates().size(), 1u) << path;
  }
}

TEST(ToBackendBranchCases, ALoopWithItsBuffer) {
  const ExportedProgram program = caseProgram("while_loop_operands");
  const ExportedProgram lowered = lower(program, {{"t0", {"*"}}}, {.branches = true});
  ASSERT_EQ(numDelegates(lowered), 1u);
  EXPECT_EQ(inputsOf(lowered), (Names{"i: USER_INPUT", "x: USER_INPUT"}));
  const ExportedProgram& inner = delegate(lowered, 0).program;
  EXPECT_EQ(keysOf(inner.stateDict()), (Names{"one"}));
  EXPECT_EQ(inner.graphModule().findChild("while_loop_cond_graph_0")->graph().outputNode().text(),
            "return gt");
  EXPECT_EQ(inner.graphModule().findChild("while_loop_body_graph_0")->graph().outputNode().text(),
            "return (sub, add)");
}

TEST(ToBackendBranchCases, OperandsOfBranchesAreNoParameters) {
  const ExportedProgram program = caseProgram("cond_with_parameters");
  const ExportedProgram lowered = lower(
      program, {{"b_true", {"true_graph_0/mul", "true_graph_0/add"}}, {"b_false", {"false_graph_0/sub"}}});
  EXPECT_EQ(inputsOf(lowered), inputsOf(program));
  EXPECT_EQ(keysOf(lowered.stateDict()), keysOf(program.stateDict()));
  const GraphModule& yes = *lowered.graphModule().findChild("true_graph_0");
  const GraphModule& no = *lowered.graphModule().findChild("false_graph_0");
  EXPECT_EQ(argumentsOf(yes, 0), (Names{"x", "p_w"}));
  EXPECT_EQ(argumentsOf(no, 0), (Names{"x", "p_v"}));
  for (const GraphModule* branch : {&yes, &no}) {
    EXPECT_EQ(branch->graph().placeholders().size(), 3u);
    EXPECT_TRUE(branch->children().empty());
    const ExportedProgram& inner = delegate(*branch, 0).program;
    EXPECT_TRUE(inner.stateDict().empty());
    for (const InputSpec& spec : inner.signature.inputs) EXPECT_EQ(spec.kind, InputKind::UserInput);
  }

  const ExportedProgram shared =
      lower(program, {{"t", {"true_graph_0/mul", "true_graph_0/add", "false_graph_0/sub"}}});
  EXPECT_EQ(numDelegates(shared), 0u);
  EXPECT_EQ(callsOf(delegate(*shared.graphModule().findChild("true_graph_0"), 0)), (Names{"mul", "add"}));
  EXPECT_EQ(callsOf(delegate(*shared.graphModule().findChild("false_graph_0"), 0)), (Names{"sub"}));
}

TEST(ToBackendBranchCases, WhatABranchReadsFromOutside) {
  const ExportedProgram program = caseProgram("cond_with_parameters");
  const ExportedProgram lowered = lower(program, {{"t0", {"*"}}}, {.branches = true});
  EXPECT_EQ(inputsOf(lowered), (Names{"x: USER_INPUT"}));
  const ExportedProgram& inner = delegate(lowered, 0).program;
  Names keys = keysOf(inner.stateDict());
  std::ranges::sort(keys);
  EXPECT_EQ(keys, (Names{"v", "w"}));
  Names operands;
  for (const Argument& item : inner.graph().find("cond")->arg(3).items())
    operands.emplace_back(item.asNode().name());
  EXPECT_EQ(operands, (Names{"x", "p_w", "p_v"}));

  expectMentions(refusal(program, {{"t0", {"*"}}}), {"'t0'", "true_graph_0", "cond"});
}

TEST(ToBackendBranchCases, AnEffectInABranchOfADelegate) {
  const ExportedProgram program = caseProgram("cond_with_assert");
  ExportedProgram lowered = lower(program, {{"t0", {"true_graph_0", "false_graph_0", "cond", "getitem"}}});
  ASSERT_EQ(numDelegates(lowered), 1u);
  eliminateDeadCode(lowered.graphModule());
  EXPECT_EQ(numDelegates(lowered), 1u);
  EXPECT_NE(lowered.graph().find("executorch_call_delegate"), nullptr);
}

}  // namespace
}  // namespace edgefx::test::cases

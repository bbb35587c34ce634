#include <edgefx/program/check_dialect.h>
#include <edgefx/program/check_program.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

ExportedProgram programCalling(const std::vector<Target>& targets) {
  ProgramBuilder builder;
  Node* node = &builder.userInput("x", tensorValue({2}));
  for (const Target target : targets) {
    node = &builder.call(target, {*node}, tensorValue({2}), "n" + std::to_string(builder.graph().size()));
  }
  builder.userOutput(*node);
  return builder.finish();
}

// "rule: node, ..." of everything found.
std::string foundIn(const ExportedProgram& program, OperatorSet operators,
                    const EdgeCompileConfig& config = {}) {
  std::string out;
  for (const Diagnostic& found : checkDialect(program, operators, config)) {
    out += (out.empty() ? "" : ", ") + found.rule + ": " + (found.graph.empty() ? "" : found.graph + ".") +
           found.node;
  }
  return out;
}

EdgeCompileConfig withoutDimOrder() {
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  return config;
}

TEST(CheckDialect, WritesAreForTrainingProgramsOnly) {
  const ExportedProgram program = programCalling({"aten.relu_.default", "aten.relu.default"});
  EXPECT_EQ(foundIn(program, OperatorSet::Training), "");
  EXPECT_EQ(foundIn(program, OperatorSet::Aten), "functional: n1");
  EXPECT_EQ(foundIn(program, OperatorSet::CoreAten), "functional: n1");
}

// exir lets operators of other libraries that write pass once they are edge operators.
TEST(CheckDialect, EdgeOperatorsThatWriteAreFoundWhateverTheirLibrary) {
  const ExportedProgram program =
      programCalling({Target::edge("aten.relu_.default"), Target::edge("quantized.relu6.default")});
  EXPECT_EQ(foundIn(program, OperatorSet::Edge), "functional: n1");
}

TEST(CheckDialect, TrainedBatchNormsWriteWithoutSayingSo) {
  ProgramBuilder builder;
  Node& mean = builder.buffer("mean", sampleTensor({2}));
  Node& variance = builder.buffer("variance", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({3, 2}));
  builder.userOutput(builder.call("aten.batch_norm.default",
                                  {x, nullptr, nullptr, mean, variance, true, 0.1, 1e-5, false},
                                  tensorValue({3, 2}), "norm"));
  const ExportedProgram program = builder.finish();
  EXPECT_EQ(foundIn(program, OperatorSet::Training), "");
  EXPECT_EQ(foundIn(program, OperatorSet::Aten), "functional: norm");
}

TEST(CheckDialect, CoreAtenIsPartOfAten) {
  const ExportedProgram program =
      programCalling({"aten.median.default", "aten.relu.default", "mylib.twice.default"});
  EXPECT_EQ(foundIn(program, OperatorSet::Aten), "");
  EXPECT_EQ(foundIn(program, OperatorSet::CoreAten), "core ATen: n1");
  const std::vector<Diagnostic> found = checkDialect(program, OperatorSet::CoreAten);
  EXPECT_NE(found[0].message.find("'aten.median.default' is not in the Core ATen opset"), std::string::npos);
  EXPECT_NE(found[0].nodeText.find("%n1"), std::string::npos);
}

TEST(CheckDialect, ExceptionsAndPreservedOperatorsPass) {
  const ExportedProgram program =
      programCalling({Target::edge("aten.median.default"), Target::edge("aten.std.default")});
  EXPECT_EQ(foundIn(program, OperatorSet::Edge), "core ATen: n1, core ATen: n2");
  EdgeCompileConfig config;
  config.coreAtenOpsExceptionList = {"torch.ops.aten.median.default"};
  config.preserveOps = {"aten.std"};
  EXPECT_EQ(foundIn(program, OperatorSet::Edge, config), "");
}

TEST(CheckDialect, AnExceptionMayStayAnAtenOperator) {
  const ExportedProgram program = programCalling({"aten.median.default"});
  EdgeCompileConfig config;
  config.coreAtenOpsExceptionList = {"aten.median.default"};
  EXPECT_EQ(foundIn(program, OperatorSet::Edge, config), "");
}

TEST(CheckDialect, EdgeProgramsCallEdgeOperatorsButForSymbolicOnes) {
  const ExportedProgram program = programCalling(
      {"aten.relu.default", "mylib.twice.default", "aten.sym_size.int", "operator.getitem",
       "higher_order.cond", "executorch.exir.memory.alloc", Target::edge("aten.relu.default")});
  EXPECT_EQ(foundIn(program, OperatorSet::Edge), "edge operator: n1, edge operator: n2");
  EXPECT_EQ(foundIn(program, OperatorSet::Aten), "known functions: n6, edge operator: n7");
}

TEST(CheckDialect, EdgeProgramsCallCopiesOfViews) {
  const ExportedProgram program =
      programCalling({Target::edge("aten.view_copy.default"), Target::edge("aten.view.default")});
  EXPECT_EQ(foundIn(program, OperatorSet::Edge), "core ATen: n2");
  EdgeCompileConfig config;
  config.preserveOps = {"aten.view.default"};
  EXPECT_EQ(foundIn(program, OperatorSet::Edge, config), "preserved: n2");
  EXPECT_EQ(foundIn(programCalling({"aten.view.default"}), OperatorSet::CoreAten), "");
  EXPECT_EQ(foundIn(programCalling({"aten.view_copy.default"}), OperatorSet::CoreAten), "core ATen: n1");
}

TEST(CheckDialect, DimOrderOperatorsOrMemoryFormats) {
  const ExportedProgram plain =
      programCalling({Target::edge("aten.clone.default"), Target::edge("aten._to_copy.default")});
  const ExportedProgram ordered = programCalling({Target::edge("dim_order_ops._clone_dim_order.default")});
  EXPECT_EQ(foundIn(plain, OperatorSet::Edge), "dim order: n1, dim order: n2");
  EXPECT_EQ(foundIn(plain, OperatorSet::Edge, withoutDimOrder()), "");
  EXPECT_EQ(foundIn(ordered, OperatorSet::Edge), "");
  EXPECT_EQ(foundIn(ordered, OperatorSet::Edge, withoutDimOrder()), "dim order: n1");
}

TEST(CheckDialect, OperatorsWithoutOverloadAndModulesAreNoCallsOfAProgram) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& module = builder.graph().callModule("inner", {x}, {}, "module");
  builder.userOutput(builder.call("aten.relu", {module}, tensorValue({2}), "packet"));
  EXPECT_EQ(foundIn(builder.finish(), OperatorSet::Training),
            "functions only: module, known functions: packet");
}

// exir's check of what operators take ends at the first control flow.
TEST(CheckDialect, GoesOnBehindControlFlowAndIntoBranches) {
  const auto graph = [] {
    auto made = std::make_unique<Graph>();
    Node& x = made->placeholder("x");
    Node& median = made->call("aten.median.default", {x}, {}, "inner");
    made->output(Arg::tuple({median}));
    return made;
  };
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& first = builder.branch("a", graph());
  Node& second = builder.branch("b", graph());
  Node& cond = builder.call("higher_order.cond", {x, first, second, Arg::list({x})}, tensorValue({2}));
  builder.userOutput(builder.call("aten.median.default", {cond}, tensorValue({2}), "outer"));
  EXPECT_EQ(foundIn(builder.finish(), OperatorSet::CoreAten),
            "core ATen: outer, core ATen: a.inner, core ATen: b.inner");
}

TEST(CheckDialect, ListsUpToTheUsualLimitAndCountsTheRest) {
  const ExportedProgram program =
      programCalling(std::vector<Target>(kMostProgramFindings + 7, Target("aten.median.default")));
  const std::vector<Diagnostic> found = checkDialect(program, OperatorSet::CoreAten);
  ASSERT_EQ(found.size(), kMostProgramFindings + 1);
  EXPECT_NE(found.back().message.find("7 more"), std::string::npos);
  EXPECT_THROW(verifyDialect(program, OperatorSet::CoreAten), VerificationError);
  EXPECT_NO_THROW(verifyDialect(program, OperatorSet::Aten));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/to_edge_transform_and_lower.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

// relu(linear(x)), then silu.
ExportedProgram linearProgram() {
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({4, 4}));
  Node& x = builder.userInput("x", tensorValue({1, 4}));
  Node& linear = builder.call("aten.linear.default", {x, weight}, tensorValue({1, 4}));
  Node& relu = builder.call("aten.relu.default", {linear}, tensorValue({1, 4}));
  builder.userOutput(builder.call("aten.silu.default", {relu}, tensorValue({1, 4})));
  return builder.finish();
}

// Wants linear whole, and takes it unless it is told not to.
class LinearPartitioner final : public Partitioner {
 public:
  explicit LinearPartitioner(bool takes) : takes_(takes) {}
  std::string_view name() const override { return "linear-partitioner"; }
  PartitionResult partition(const ExportedProgram& program) const override {
    const OperatorSupport none = support::operators({"aten.tanh.default"});
    return partitionBySupport(program, takes_ ? support::operators({"aten.linear.default"}) : none,
                              {.spec = {"BackendA"}});
  }
  bool keepsWhole(const Node& call) const override { return call.callsOperator("aten.linear.default"); }

 private:
  bool takes_;
};

const Graph& delegateGraph(const ExportedProgram& program) {
  for (const Node& node : program.graph().nodes()) {
    if (callsDelegate(node)) return findLoweredModule(program.graphModule(), node)->program.graph();
  }
  throw std::runtime_error("no delegate");
}

bool callsAny(const Graph& graph, std::string_view name) {
  for (const Node& node : graph.nodes()) {
    if (node.callsOperator(name)) return true;
  }
  return false;
}

TEST(ToEdgeTransformAndLower, EM28_WhatAPartitionerWantsWholeIsNotDecomposed) {
  const BackendRegistry registry = textBackends({"BackendA"});
  const ExportedProgram program = linearProgram();
  const EdgeProgramManager manager =
      toEdgeTransformAndLower(program.clone(), LinearPartitioner(true), registry);
  const ExportedProgram& lowered = manager.exportedProgram();
  EXPECT_TRUE(callsAny(delegateGraph(lowered), "aten.linear.default")) << delegatedText(lowered);
  EXPECT_FALSE(callsAny(lowered.graph(), "aten.silu.default"));  // decomposed
  EXPECT_TRUE(callsAny(lowered.graph(), "aten.sigmoid.default"));
  const VerifyReport report = verifyLowering(program, lowered);
  EXPECT_TRUE(report.agrees()) << report.text();
}

TEST(ToEdgeTransformAndLower, EM28_WhatIsKeptWholeAndNotDelegatedIsRefused) {
  const BackendRegistry registry = textBackends({"BackendA"});
  const VerificationError error = caught<VerificationError>(
      [&] { toEdgeTransformAndLower(linearProgram(), LinearPartitioner(false), registry); });
  EXPECT_CONTAINS(error.what(), "method 'forward'");
  EXPECT_CONTAINS(error.what(),
                  "'aten.linear.default' was kept whole for a partitioner, but is neither decomposed nor "
                  "delegated");
  for (const char* name : {"aten.linear.default", "aten.linear"}) {
    EdgeCompileConfig config;
    config.coreAtenOpsExceptionList = {name};
    const EdgeProgramManager manager =
        toEdgeTransformAndLower(linearProgram(), LinearPartitioner(false), registry, config);
    EXPECT_TRUE(callsAny(manager.exportedProgram().graph(), "aten.linear.default")) << name;
  }
}

TEST(ToEdgeTransformAndLower, EM28_PassesComeBeforePartitionersInRounds) {
  const BackendRegistry registry = textBackends({"BackendA", "BackendB"});
  std::vector<std::string> order;
  const auto noting = [&](const char* name, const char* op, const char* backend) {
    return FunctionPartitioner(
        [&order, name, op, backend](const ExportedProgram& program) {
          order.emplace_back(name);
          return partitionBySupport(program, support::operators({op}), {.spec = {backend}});
        },
        name);
  };
  const FunctionPartitioner relus = noting("relus", "aten.relu.default", "BackendA");
  const FunctionPartitioner sigmoids = noting("sigmoids", "aten.sigmoid.default", "BackendB");
  EdgeProgramManager::Methods methods;
  methods.emplace_back("a", linearProgram());
  methods.emplace_back("b", linearProgram());
  methods.emplace_back("c", linearProgram());
  const PassRef pass = programPass("noting", [&](ExportedProgram&) {
    order.emplace_back("pass");
    return false;
  });
  const EdgeProgramManager manager = toEdgeTransformAndLower(
      std::move(methods), {{"b", {{}, {&relus, &sigmoids}}}, {"a", {{pass}, {&sigmoids}}}}, registry);
  EXPECT_EQ(order, (std::vector<std::string>{"pass", "sigmoids", "relus", "sigmoids"}));
  EXPECT_FALSE(callsAny(manager.exportedProgram("b").graph(), "aten.relu.default"));
  EXPECT_TRUE(callsAny(manager.exportedProgram("a").graph(), "aten.relu.default"));
  EXPECT_TRUE(callsAny(manager.exportedProgram("c").graph(), "aten.sigmoid.default"));
}

TEST(ToEdgeTransformAndLower, FaultyCallsAreRefusedBeforeAnythingRuns) {
  const BackendRegistry registry = textBackends({"BackendA"});
  const LinearPartitioner partitioner(true);
  const auto refuse = [&](const std::vector<std::pair<std::string, MethodLowering>>& lowerings) {
    EdgeProgramManager::Methods methods;
    methods.emplace_back("forward", linearProgram());
    return std::string(
        caught<UsageError>([&] { toEdgeTransformAndLower(std::move(methods), lowerings, registry); }).what());
  };
  EXPECT_CONTAINS(refuse({{"decode", {}}}), "'decode'");
  EXPECT_CONTAINS(refuse({{"forward", {}}, {"forward", {}}}), "named twice");
  EXPECT_CONTAINS(refuse({{"forward", {{}, {&partitioner, nullptr}}}}), "null");
  EXPECT_CONTAINS(refuse({{"forward", {{nullptr}, {}}}}), "null");
}

TEST(ToEdgeTransformAndLower, WhatAPartitionerThrowsNamesIt) {
  class Throwing final : public Partitioner {
   public:
    std::string_view name() const override { return "throwing"; }
    PartitionResult partition(const ExportedProgram&) const override { return {}; }
    bool keepsWhole(const Node&) const override { throw std::runtime_error("no idea"); }
  };
  const BackendRegistry registry;
  const LoweringError error =
      caught<LoweringError>([&] { toEdgeTransformAndLower(linearProgram(), Throwing(), registry); });
  EXPECT_CONTAINS(error.what(), "method 'forward'");
  EXPECT_CONTAINS(error.what(), "partitioner 'throwing'");
  EXPECT_CONTAINS(error.what(), "no idea");
}

TEST(ToEdgeTransformAndLower, AotiTakesEverythingWhole) {
  const BackendRegistry registry = textBackends({"BackendA"});
  const EdgeProgramManager manager =
      toEdgeTransformAndLower(linearProgram(), AotiPartitioner({"BackendA"}), registry);
  EXPECT_TRUE(callsAny(delegateGraph(manager.exportedProgram()), "aten.silu.default"));
  EXPECT_TRUE(callsAny(delegateGraph(manager.exportedProgram()), "aten.linear.default"));
}

}  // namespace
}  // namespace edgefx::test

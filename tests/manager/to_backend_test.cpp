#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/partition/partition_by_support.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/delegated_text.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

// Tags calls of one operator, each for itself.
FunctionPartitioner taking(std::string op, std::string backend = "npu") {
  return FunctionPartitioner(
      [op = std::move(op), backend = std::move(backend)](const ExportedProgram& program) {
        PartitionResult result;
        for (const Node& node : program.graph().nodes()) {
          if (!node.callsOperator(op)) continue;
          const std::string tag = "t" + std::to_string(node.id());
          result.tags.tag(node, tag);
          result.addSpec(tag, {backend});
        }
        return result;
      });
}

EdgeProgramManager twoTinyMethods() {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("prefill", tinyProgram());
  methods.emplace_back("decode", countingProgram());
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  config.preserveOps = {"aten.linear.default"};
  return EdgeProgramManager(std::move(methods), config, {{"max_len", ConstantValue(int64_t{128})}});
}

size_t numDelegates(const ExportedProgram& program) {
  return program.graphModule().delegates().size();
}

TEST(ToBackend, EveryMethodIsPartitioned) {
  const EdgeProgramManager manager = twoTinyMethods();
  const ExportedProgram before = manager.exportedProgram("decode").clone();
  const EdgeProgramManager lowered = manager.toBackend(taking("aten.relu.default"), textBackends({"npu"}));
  EXPECT_EQ(lowered.methods(), manager.methods());
  EXPECT_EQ(numDelegates(lowered.exportedProgram("prefill")), 1u);
  EXPECT_EQ(numDelegates(lowered.exportedProgram("decode")), 1u);
  EXPECT_EQ(numDelegates(manager.exportedProgram("decode")), 0u);
  EXPECT_FALSE(findDifference(before, manager.exportedProgram("decode")).has_value());
}

TEST(ToBackend, TheCompileConfigIsCarriedButForValidity) {
  const EdgeProgramManager manager = twoTinyMethods();
  EdgeCompileConfig expected = manager.compileConfig();
  expected.checkIrValidity = false;
  const EdgeProgramManager lowered = manager.toBackend(taking("aten.relu.default"), textBackends({"npu"}));
  EXPECT_EQ(lowered.compileConfig(), expected);
  EXPECT_EQ(lowered.constantMethods(), manager.constantMethods());
}

TEST(ToBackend, AMapLowersTheMethodsItNames) {
  const EdgeProgramManager manager = twoTinyMethods();
  const FunctionPartitioner relu = taking("aten.relu.default");
  const EdgeProgramManager lowered =
      manager.toBackend(EdgeProgramManager::PartitionerOfMethod{{"decode", &relu}}, textBackends({"npu"}));
  EXPECT_EQ(&lowered.exportedProgram("prefill"), &manager.exportedProgram("prefill"));
  EXPECT_EQ(numDelegates(lowered.exportedProgram("decode")), 1u);
}

TEST(ToBackend, AMapIsCheckedBeforeAnythingIsLowered) {
  const EdgeProgramManager manager = twoTinyMethods();
  const FunctionPartitioner relu = taking("aten.relu.default");
  const BackendRegistry registry = textBackends({"npu"});
  using Map = EdgeProgramManager::PartitionerOfMethod;
  EXPECT_CONTAINS(caught<UsageError>([&] {
                    manager.toBackend(Map{{"warmup", &relu}}, registry);
                  }).what(),
                  "there is no method 'warmup'; the manager has 'prefill', 'decode'");
  EXPECT_CONTAINS(caught<UsageError>([&] {
                    manager.toBackend(Map{{"decode", nullptr}}, registry);
                  }).what(),
                  "expected a partitioner for method 'decode', found null");
  EXPECT_CONTAINS(caught<UsageError>([&] {
                    manager.toBackend(Map{{"decode", &relu}, {"decode", &relu}}, registry);
                  }).what(),
                  "method 'decode' is named twice");
}

// Calls an operator of its own for every relu that it finds.
FunctionBackend retargetingRelu() {
  return editing([](ExportedProgram& program) {
    for (const NestedModule& nested : namedModules(program.graphModule())) {
      for (Node& node : nested.module->graph().nodes()) {
        if (node.callsOperator("aten.relu.default")) node.setTarget("npu.relu.default");
      }
    }
  });
}

TEST(ToBackend, AnOpBackendAfterwardsLeavesDelegatesAlone) {
  const BackendRegistry registry = textBackends({"npu"});
  const EdgeProgramManager delegated = twoTinyMethods().toBackend(taking("aten.relu.default"), registry);
  const EdgeProgramManager both = delegated.toOpBackend(retargetingRelu());
  const auto& before = delegated.exportedProgram("prefill").graphModule().delegates();
  const auto& after = both.exportedProgram("prefill").graphModule().delegates();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].module, before[0].module);
  EXPECT_CONTAINS(after[0].module->processedBytes.text(), "aten.relu.default");
  EXPECT_EQ(delegatedText(both.exportedProgram("prefill")),
            delegatedText(delegated.exportedProgram("prefill")));
}

TEST(ToBackend, AnOpBackendBeforehandChangesWhatDelegatesHold) {
  const BackendRegistry registry = textBackends({"npu"});
  const EdgeProgramManager both =
      twoTinyMethods().toOpBackend(retargetingRelu()).toBackend(taking("npu.relu.default"), registry);
  const auto& delegates = both.exportedProgram("prefill").graphModule().delegates();
  ASSERT_EQ(delegates.size(), 1u);
  EXPECT_CONTAINS(delegates[0].module->processedBytes.text(), "npu.relu.default");
}

TEST(ToBackend, AnOpBackendThatBreaksTheCallOfADelegateIsCaught) {
  const EdgeProgramManager delegated =
      twoTinyMethods().toBackend(taking("aten.relu.default"), textBackends({"npu"}));
  const FunctionBackend breaking = editing([](ExportedProgram& program) {
    for (Node& node : program.graph().nodes()) {
      if (callsDelegate(node)) node.setArgs({node.arg(0)});
    }
  });
  EXPECT_CONTAINS(caught<LoweringError>([&] { delegated.toOpBackend(breaking); }).what(),
                  "the delegate takes 1 inputs, but the call passes 0");
}

// Sees all partitions of all methods at once and numbers them.
class CountingBackend final : public BackendDetails {
 public:
  std::string_view name() const override { return "npu"; }
  PreprocessResult preprocess(const ExportedProgram&, std::span<const CompileSpec>) const override {
    return {};
  }
  std::vector<std::vector<PreprocessResult>> preprocessMethods(
      std::span<const MethodPartitions> methods) const override {
    std::vector<std::vector<PreprocessResult>> results;
    int number = 0;
    for (const MethodPartitions& method : methods) {
      results.emplace_back();
      for (size_t i = 0; i < method.partitions.size(); ++i) {
        PreprocessResult made{SharedBytes::copyOf(method.method + std::to_string(number++))};
        made.namedData.push_back(
            {"weights", SharedBytes::copyOf(sameData ? "w" : made.processedBytes.text()), 16});
        results.back().push_back(std::move(made));
      }
    }
    return results;
  }

  bool sameData = true;
};

TEST(ToBackend, ABackendSeesThePartitionsOfAllMethods) {
  BackendRegistry registry;
  registry.add(std::make_unique<CountingBackend>());
  const EdgeProgramManager lowered = twoTinyMethods().toBackend(taking("aten.relu.default"), registry);
  auto payload = [&](std::string_view method) {
    return std::string(
        lowered.exportedProgram(method).graphModule().delegates()[0].module->processedBytes.text());
  };
  EXPECT_EQ(payload("prefill"), "prefill0");
  EXPECT_EQ(payload("decode"), "decode1");
}

TEST(ToBackend, EM20_OneKeyWithTwoContentsIsRefused) {
  auto backend = std::make_unique<CountingBackend>();
  backend->sameData = false;
  BackendRegistry registry;
  registry.add(std::move(backend));
  const LoweringError error =
      caught<LoweringError>([&] { twoTinyMethods().toBackend(taking("aten.relu.default"), registry); });
  EXPECT_CONTAINS(error.what(), "backend 'npu', method 'decode'");
  EXPECT_CONTAINS(
      error.what(),
      "named data 'weights' has 7 bytes here, but another delegate stored 8 other bytes under that key");
}

}  // namespace
}  // namespace edgefx::test

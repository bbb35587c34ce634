#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/recipe.h>
#include <edgefx/manager/to_edge.h>
#include <edgefx/partition/partition_by_support.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

EdgeProgramManager::Methods promptAndStep() {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("prefill", tinyProgram());
  methods.emplace_back("decode", countingProgram());
  return methods;
}

// Takes multiplications.
std::shared_ptr<const Partitioner> multiplications() {
  return std::make_shared<FunctionPartitioner>([](const ExportedProgram& program) {
    return partitionBySupport(program, support::operators({"aten.mul.Tensor"}), {.spec = {"BackendA"}});
  });
}

// The operator backend of a library that has its own relu.
std::shared_ptr<const OpBackend> ownRelu() {
  return std::make_shared<FunctionBackend>([](ExportedProgram program, std::string_view) {
    for (Node& node : program.graph().nodes()) {
      if (node.callsOperator("aten.relu.default")) node.setTarget("mylib.relu.default");
    }
    return program;
  });
}

std::set<std::string> operatorsOf(const EdgeProgramManager& manager, std::string_view method) {
  std::set<std::string> names;
  for (const Node& node : manager.exportedProgram(method).graph().nodes()) {
    if (node.isCall()) names.emplace(node.target().name());
  }
  return names;
}

bool calls(const EdgeProgramManager& manager, std::string_view method, const std::string& name) {
  return operatorsOf(manager, method).contains(name);
}

LoweringRecipe wholeRecipe() {
  return {.name = "npu", .partitioners = {multiplications()}, .opBackends = {ownRelu()}};
}

TEST(LoweringSession, EM22_OperatorBackendsSeeWhatDelegatesLeft) {
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringSession session(promptAndStep(), wholeRecipe(), registry, {{"eos", ConstantValue(2)}});
  session.run();
  const EdgeProgramManager* const lowered = session.artifact(Stage::ToEdgeTransformAndLower);
  const EdgeProgramManager* const transformed = session.artifact(Stage::TransformManager);
  ASSERT_NE(lowered, nullptr);
  ASSERT_NE(transformed, nullptr);
  EXPECT_EQ(session.artifact(Stage::ToEdge), nullptr);
  for (const char* method : {"prefill", "decode"}) {
    EXPECT_TRUE(calls(*lowered, method, "executorch_call_delegate"));
    EXPECT_FALSE(calls(*lowered, method, "aten.mul.Tensor"));
    EXPECT_TRUE(calls(*lowered, method, "aten.relu.default"));
    EXPECT_TRUE(calls(*transformed, method, "executorch_call_delegate"));
    EXPECT_TRUE(calls(*transformed, method, "mylib.relu.default"));
  }
  EXPECT_EQ(transformed->constantMethods().size(), 1u);
}

TEST(LoweringSession, EM24_TheManagerIsThatOfTheLastStage) {
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringSession session(promptAndStep(), wholeRecipe(), registry);
  EXPECT_THROW(session.edgeProgramManager(), UsageError);
  session.run();
  EXPECT_EQ(&session.edgeProgramManager(), session.artifact(Stage::TransformManager));
  LoweringRecipe staged = wholeRecipe();
  staged.stages = {Stage::ToEdge, Stage::ToBackend};
  LoweringSession early(promptAndStep(), staged, registry);
  early.run();
  EXPECT_EQ(&early.edgeProgramManager(), early.artifact(Stage::ToBackend));
  EXPECT_TRUE(calls(early.edgeProgramManager(), "decode", "executorch_call_delegate"));
  EXPECT_TRUE(calls(*early.artifact(Stage::ToEdge), "decode", "aten.mul.Tensor"));
}

TEST(LoweringSession, EM25_AFailedRunKeepsWhatItsEarlierStagesMade) {
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringRecipe recipe = wholeRecipe();
  bool fails = false;
  const std::shared_ptr<const OpBackend> inner = ownRelu();
  recipe.opBackends = {std::make_shared<FunctionBackend>(
      [&](ExportedProgram program, std::string_view method) {
        if (fails) throw LoweringError(Diagnostic("no kernel today"));
        return inner->lower(std::move(program), method);
      },
      "moody")};
  LoweringSession session(promptAndStep(), recipe, registry);
  session.run();
  ASSERT_NE(session.artifact(Stage::TransformManager), nullptr);
  fails = true;
  const LoweringError error = caught<LoweringError>([&] { session.run(); });
  EXPECT_CONTAINS(error.what(), "no kernel today");
  EXPECT_CONTAINS(error.what(), "in stage 'transform-manager' of recipe 'npu'");
  // The stage's artifact of the run before is gone, that of this run's stage before stays.
  EXPECT_EQ(session.artifact(Stage::TransformManager), nullptr);
  ASSERT_NE(session.artifact(Stage::ToEdgeTransformAndLower), nullptr);
  EXPECT_EQ(&session.edgeProgramManager(), session.artifact(Stage::ToEdgeTransformAndLower));
  EXPECT_TRUE(calls(session.edgeProgramManager(), "decode", "aten.relu.default"));
  fails = false;
  session.run();
  EXPECT_TRUE(calls(session.edgeProgramManager(), "decode", "mylib.relu.default"));
}

TEST(LoweringSession, EM26_ValidityIsOffIfThereAreOperatorBackends) {
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringRecipe recipe{.name = "r", .config = EdgeCompileConfig()};
  recipe.config->skipDimOrder = true;
  recipe.stages = {Stage::ToEdge};
  LoweringSession strict(promptAndStep(), recipe, registry);
  strict.run();
  EXPECT_TRUE(strict.edgeProgramManager().compileConfig().checkIrValidity);
  recipe.opBackends = {ownRelu()};
  LoweringSession relaxed(promptAndStep(), recipe, registry);
  relaxed.run();
  EXPECT_FALSE(relaxed.edgeProgramManager().compileConfig().checkIrValidity);
  EXPECT_TRUE(relaxed.edgeProgramManager().compileConfig().skipDimOrder);
  EXPECT_TRUE(recipe.config->checkIrValidity);
}

TEST(LoweringSession, EM23_TransformPassesRunOnce) {
  const BackendRegistry registry = textBackends({"BackendA"});
  using enum Stage;
  const std::vector<std::vector<Stage>> pipelines = {{ToEdgeTransformAndLower, TransformManager},
                                                     {ToEdge, TransformManager},
                                                     {ToEdge, ToBackend, TransformManager},
                                                     {ToEdge, TransformManager, TransformManager}};
  for (const std::vector<Stage>& stages : pipelines) {
    std::vector<std::string> ran;
    const auto counting = [&](std::string name) {
      return programPass(name, [&ran, name](ExportedProgram&) {
        ran.push_back(name);
        return false;
      });
    };
    LoweringRecipe recipe{.name = "r",
                          .transformPasses = {counting("all")},
                          .transformPassesOfMethod = {{"decode", {counting("decode")}}},
                          .stages = stages};
    LoweringSession session(promptAndStep(), recipe, registry);
    session.run();
    EXPECT_EQ(ran, (std::vector<std::string>{"all", "all", "decode"}));
  }
}

TEST(LoweringSession, EM23_WithoutPassesTheProgramsStayTheSame) {
  const BackendRegistry registry = textBackends({"BackendA"});
  bool wasAsked = false;
  LoweringRecipe recipe{.name = "r", .managerPasses = {[&](const EdgeProgramManager& manager) {
                                       wasAsked = manager.methods().size() == 2;
                                       return std::vector<PassRef>();
                                     }}};
  LoweringSession session(promptAndStep(), recipe, registry);
  session.run();
  EXPECT_TRUE(wasAsked);
  for (const char* method : {"prefill", "decode"}) {
    EXPECT_EQ(&session.artifact(Stage::ToEdgeTransformAndLower)->exportedProgram(method),
              &session.artifact(Stage::TransformManager)->exportedProgram(method));
  }
}

TEST(LoweringSession, EM23_EachBackendGetsTheResultOfTheOneBeforeAndPassesFollow) {
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringRecipe recipe{.name = "r", .opBackends = {ownRelu()}};
  bool sawRelu = false, sawSwish = false;
  recipe.opBackends.push_back(
      std::make_shared<FunctionBackend>([&](ExportedProgram program, std::string_view) {
        for (Node& node : program.graph().nodes()) {
          if (!node.callsOperator("mylib.relu.default")) continue;
          sawRelu = true;
          node.setTarget("mylib.swish.default");
        }
        return program;
      }));
  recipe.managerPasses = {[&](const EdgeProgramManager& manager) {
    sawSwish = calls(manager, "decode", "mylib.swish.default");
    return std::vector<PassRef>();
  }};
  LoweringSession session(promptAndStep(), recipe, registry);
  session.run();
  EXPECT_TRUE(sawRelu);
  EXPECT_TRUE(sawSwish);
}

TEST(LoweringSession, PartitionersOfAMethodComeAfterThoseOfAll) {
  const BackendRegistry registry = textBackends({"BackendA", "BackendB"});
  LoweringRecipe recipe{.name = "r", .partitioners = {multiplications()}};
  recipe.partitionersOfMethod = {
      {"decode", {std::make_shared<FunctionPartitioner>([](const ExportedProgram& program) {
         return partitionBySupport(program, support::operators({"aten.relu.default"}),
                                   {.spec = {"BackendB"}});
       })}}};
  LoweringSession session(promptAndStep(), recipe, registry);
  session.run();
  EXPECT_TRUE(calls(session.edgeProgramManager(), "prefill", "aten.relu.default"));
  EXPECT_FALSE(calls(session.edgeProgramManager(), "prefill", "aten.mul.Tensor"));
  EXPECT_FALSE(calls(session.edgeProgramManager(), "decode", "aten.relu.default"));
  EXPECT_FALSE(calls(session.edgeProgramManager(), "decode", "aten.mul.Tensor"));
}

TEST(LoweringSession, SavesTheMethodsAsModelsOfOneFile) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "recipe_save.pt2";
  const BackendRegistry registry = textBackends({"BackendA"});
  LoweringRecipe recipe = wholeRecipe();
  recipe.saveTo = file;
  LoweringSession session(promptAndStep(), recipe, registry);
  session.run();
  const Archive archive = loadArchive(file);
  ASSERT_EQ(archive.models.size(), 2u);
  EXPECT_EQ(archive.models[0].name, "prefill");
  EXPECT_EQ(fxText(archive.program("decode").graphModule()),
            fxText(session.edgeProgramManager().exportedProgram("decode").graphModule()));
  std::filesystem::remove(file);
}

TEST(LoweringSession, UnknownMethodsAreRefused) {
  const BackendRegistry registry = textBackends({"BackendA"});
  const LoweringRecipe recipe{.name = "r", .partitionersOfMethod = {{"warmup", {multiplications()}}}};
  const UsageError error = caught<UsageError>([&] { LoweringSession(promptAndStep(), recipe, registry); });
  EXPECT_CONTAINS(error.what(),
                  "recipe 'r' names method 'warmup', which there is not; there are 'prefill', 'decode'");
}

TEST(LoweringSession, AFaultNamesStageAndRecipe) {
  const BackendRegistry registry;  // without the backend that the tags ask for
  LoweringSession session(promptAndStep(), wholeRecipe(), registry);
  const LoweringError error = caught<LoweringError>([&] { session.run(); });
  EXPECT_CONTAINS(error.what(), "BackendA");
  EXPECT_CONTAINS(error.what(), "in stage 'to-edge-transform-and-lower' of recipe 'npu'");
  EXPECT_EQ(session.artifact(Stage::ToEdgeTransformAndLower), nullptr);
}

}  // namespace
}  // namespace edgefx::test

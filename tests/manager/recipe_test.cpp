#include <edgefx/manager/recipe.h>
#include <edgefx/passes/standard.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

std::shared_ptr<const Partitioner> somePartitioner(const char* name = "some") {
  return std::make_shared<FunctionPartitioner>([](const ExportedProgram&) { return PartitionResult(); },
                                               name);
}

std::shared_ptr<const OpBackend> someBackend(const char* name) {
  return std::make_shared<FunctionBackend>([](ExportedProgram program, std::string_view) { return program; },
                                           name);
}

std::string refusalOf(const LoweringRecipe& recipe) {
  try {
    checkRecipe(recipe);
  } catch (const UsageError& error) {
    return error.diagnostics().front().message;
  }
  return "";
}

// Warnings of category "recipe" while it lives.
class RecipeWarnings {
 public:
  RecipeWarnings()
      : before_(setWarningHandler([this](const Warning& warning) {
          if (warning.category == "recipe") messages.push_back(warning.message);
        })) {}
  ~RecipeWarnings() { setWarningHandler(before_); }

  std::vector<std::string> messages;

 private:
  WarningHandler before_;
};

TEST(Recipe, EM22_TheUsualStagesFollowFromWhatThereIsToDo) {
  LoweringRecipe recipe{.name = "r"};
  EXPECT_EQ(stagesOf(recipe), (std::vector{Stage::ToEdgeTransformAndLower}));
  recipe.opBackends = {someBackend("b")};
  EXPECT_EQ(stagesOf(recipe), (std::vector{Stage::ToEdgeTransformAndLower, Stage::TransformManager}));
  recipe.opBackends.clear();
  recipe.managerPasses = {[](const EdgeProgramManager&) { return std::vector<PassRef>(); }};
  recipe.saveTo = "out.pt2";
  EXPECT_EQ(stagesOf(recipe),
            (std::vector{Stage::ToEdgeTransformAndLower, Stage::TransformManager, Stage::Save}));
  recipe.stages = {Stage::ToEdge};
  EXPECT_EQ(stagesOf(recipe), (std::vector{Stage::ToEdge}));
}

TEST(Recipe, EM23_NullEntriesAreRefused) {
  LoweringRecipe recipe{.name = "r"};
  recipe.opBackends = {someBackend("b"), nullptr};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': expected an operator backend at position 1, found null");
  recipe = {.name = "r", .partitioners = {nullptr}};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': expected a partitioner at position 0, found null");
  recipe = {.name = "r", .transformPassesOfMethod = {{"forward", {nullptr}}}};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': expected a pass at position 0, found null");
  recipe = {.name = "r", .managerPasses = {nullptr}};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': expected a source of passes at position 0, found null");
}

TEST(Recipe, EM24_StagesHaveAnOrder) {
  using enum Stage;
  const auto refusal = [](std::vector<Stage> stages) {
    return refusalOf({.name = "r", .saveTo = "out.pt2", .stages = std::move(stages)});
  };
  EXPECT_EQ(refusal({ToBackend}),
            "recipe 'r': expected 'to-edge' or 'to-edge-transform-and-lower' as the first stage, found "
            "'to-backend'");
  EXPECT_EQ(refusal({ToEdge, ToEdgeTransformAndLower}),
            "recipe 'r': 'to-edge-transform-and-lower' must be the first stage, found 'to-edge' before it");
  EXPECT_EQ(refusal({ToEdge, Save, ToBackend}),
            "recipe 'r': 'save' must be the last stage, found 'to-backend' after it");
  // TransformManager may follow each of the others.
  EXPECT_EQ(refusal({ToEdge, TransformManager, Save}), "");
  EXPECT_EQ(refusal({ToEdgeTransformAndLower, TransformManager}), "");
  EXPECT_EQ(refusal({ToEdge, ToBackend, TransformManager}), "");
}

TEST(Recipe, EM25_OperatorBackendsThatWouldNeverRunAreRefused) {
  using enum Stage;
  LoweringRecipe recipe{.name = "r", .opBackends = {someBackend("b")}, .saveTo = "out.pt2"};
  recipe.stages = {ToEdge, Save};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its operator backends would never run: expected 'transform-manager' before 'save'");
  recipe.stages = {ToEdge};  // ends early
  EXPECT_EQ(refusalOf(recipe), "");
}

TEST(Recipe, EM25_WhatElseWouldNeverRunIsRefused) {
  using enum Stage;
  LoweringRecipe recipe{.name = "r", .partitioners = {somePartitioner()}, .saveTo = "out.pt2"};
  recipe.stages = {ToEdge, Save};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its partitioners would never run: expected a partitioning stage before 'save'");
  recipe = {.name = "r", .transformPasses = {deadCodePass()}, .saveTo = "out.pt2", .stages = {ToEdge, Save}};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its transform passes would never run: expected 'transform-manager' before 'save'");
  recipe = {.name = "r",
            .managerPasses = {[](const EdgeProgramManager&) { return std::vector<PassRef>(); }},
            .saveTo = "out.pt2",
            .stages = {ToEdge, Save}};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its manager passes would never run: expected 'transform-manager' before 'save'");
  recipe = {.name = "r", .stages = {ToEdge, Save}};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': the stage 'save' needs a path, found none");
}

TEST(Recipe, EM25_TwoPartitioningStagesAreRefused) {
  using enum Stage;
  LoweringRecipe recipe{.name = "r", .stages = {ToEdgeTransformAndLower, ToBackend}};
  EXPECT_EQ(refusalOf(recipe), "");  // without partitioners neither does anything
  recipe.partitionersOfMethod = {{"forward", {somePartitioner()}}};
  EXPECT_EQ(refusalOf(recipe), "recipe 'r': its partitioners would run twice: found two partitioning stages");
}

TEST(Recipe, EM25_TwoManagerStagesWithOperatorBackendsAreRefused) {
  using enum Stage;
  LoweringRecipe recipe{.name = "r", .stages = {ToEdge, TransformManager, TransformManager}};
  EXPECT_EQ(refusalOf(recipe), "");
  recipe.opBackends = {someBackend("b")};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its operator backends would run twice: found two stages 'transform-manager'");
}

TEST(Recipe, EM25_OperatorBackendsBeforePartitioningAreRefused) {
  using enum Stage;
  LoweringRecipe recipe{.name = "r",
                        .partitioners = {somePartitioner()},
                        .opBackends = {someBackend("b")},
                        .stages = {ToEdge, TransformManager, ToBackend}};
  EXPECT_EQ(refusalOf(recipe),
            "recipe 'r': its operator backends would run before its partitioners: expected "
            "'transform-manager' after 'to-backend'");
  recipe.stages = {ToEdge, ToBackend, TransformManager};
  EXPECT_EQ(refusalOf(recipe), "");
}

TEST(Recipe, EM27_TheConfigOfTheRecipeThatPartitionsHolds) {
  LoweringRecipe delegate{.name = "npu", .config = EdgeCompileConfig(), .partitioners = {somePartitioner()}};
  delegate.config->skipDimOrder = true;
  LoweringRecipe kernels{.name = "kernels", .config = EdgeCompileConfig()};
  kernels.config->preserveOps = {"aten.linear.default"};
  kernels.config->coreAtenOpsExceptionList = {"aten.median.default"};
  for (const bool isFirst : {false, true}) {
    const RecipeWarnings warnings;
    const LoweringRecipe combined =
        combineRecipes(isFirst ? std::vector{delegate, kernels} : std::vector{kernels, delegate});
    EXPECT_TRUE(combined.config->skipDimOrder);
    // Empty lists are no opinion.
    EXPECT_EQ(combined.config->preserveOps, (std::vector<std::string>{"aten.linear.default"}));
    EXPECT_EQ(combined.config->coreAtenOpsExceptionList, (std::vector<std::string>{"aten.median.default"}));
    EXPECT_EQ(warnings.messages,
              (std::vector<std::string>{
                  "recipe 'npu' partitions, so its skipDimOrder holds, not that of recipe 'kernels'"}));
  }
  delegate.config->preserveOps = {"aten.silu.default"};
  const RecipeWarnings warnings;
  EXPECT_EQ(combineRecipes({kernels, delegate}).config->preserveOps,
            (std::vector<std::string>{"aten.silu.default"}));
  EXPECT_EQ(warnings.messages,
            (std::vector<std::string>{"recipe 'npu' partitions, so its skipDimOrder, preserveOps hold, not "
                                      "those of recipe 'kernels'"}));
}

TEST(Recipe, EM27_ListsAreComparedAsSets) {
  LoweringRecipe delegate{.name = "npu", .config = EdgeCompileConfig(), .partitioners = {somePartitioner()}};
  delegate.config->preserveOps = {"aten.linear.default", "aten.silu.default"};
  LoweringRecipe kernels{.name = "kernels", .config = EdgeCompileConfig()};
  kernels.config->preserveOps = {"aten.silu.default", "aten.linear.default", "aten.silu.default"};
  const RecipeWarnings warnings;
  EXPECT_EQ(combineRecipes({delegate, kernels}).config, delegate.config);
  EXPECT_TRUE(warnings.messages.empty());
}

TEST(Recipe, EM27_RecipesOfOneKindMustAgree) {
  for (const bool partition : {false, true}) {
    LoweringRecipe a{.name = "a", .config = EdgeCompileConfig()},
        b{.name = "b", .config = EdgeCompileConfig()};
    if (partition) a.partitioners = b.partitioners = {somePartitioner()};
    b.config->skipDimOrder = true;
    b.config->checkIrValidity = false;
    try {
      combineRecipes({a, b});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.diagnostics().front().message,
                std::string("recipes 'a' and 'b' disagree in checkIrValidity, skipDimOrder of their configs, "
                            "and ") +
                    (partition ? "both partition" : "neither partitions"));
    }
    b.config.reset();
    EXPECT_EQ(combineRecipes({a, b}).config, a.config);
  }
}

TEST(Recipe, EM27_OperatorBackendsOfARecipeThatPartitionsComeLast) {
  const LoweringRecipe delegate{
      .name = "npu", .partitioners = {somePartitioner()}, .opBackends = {someBackend("npu-ops")}};
  const LoweringRecipe first{.name = "first", .opBackends = {someBackend("one"), someBackend("two")}};
  const LoweringRecipe second{.name = "second", .opBackends = {someBackend("three")}};
  const LoweringRecipe combined = combineRecipes({delegate, first, second});
  std::vector<std::string> names;
  for (const auto& backend : combined.opBackends) names.emplace_back(backend->name());
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two", "three", "npu-ops"}));
  EXPECT_EQ(combined.name, "npu + first + second");
}

TEST(Recipe, WhatTheOthersDoIsDoneInTheirOrder) {
  const LoweringRecipe a{.name = "a",
                         .transformPasses = {deadCodePass()},
                         .partitioners = {somePartitioner("p1")},
                         .partitionersOfMethod = {{"decode", {somePartitioner("p2")}}}};
  const LoweringRecipe b{.name = "b",
                         .transformPasses = {noOpsPass()},
                         .partitionersOfMethod = {{"decode", {somePartitioner("p3")}}},
                         .saveTo = "out.pt2"};
  const LoweringRecipe combined = combineRecipes({a, b});
  ASSERT_EQ(combined.transformPasses.size(), 2u);
  EXPECT_EQ(combined.transformPasses[0]->name(), "dead-code");
  EXPECT_EQ(combined.transformPasses[1]->name(), "no-ops");
  EXPECT_EQ(combined.partitioners.size(), 1u);
  ASSERT_EQ(combined.partitionersOfMethod.size(), 1u);
  ASSERT_EQ(combined.partitionersOfMethod[0].second.size(), 2u);
  EXPECT_EQ(combined.partitionersOfMethod[0].second[1]->name(), "p3");
  EXPECT_EQ(combined.saveTo, "out.pt2");
}

TEST(Recipe, EM27_WhatCannotBeCombinedIsRefused) {
  EXPECT_THROW(combineRecipes({}), UsageError);
  const LoweringRecipe plain{.name = "plain"};
  EXPECT_THROW(combineRecipes({plain, {.name = "own", .stages = {Stage::ToEdge}}}), UsageError);
  EXPECT_THROW(combineRecipes({{.name = "a", .saveTo = "a"}, {.name = "b", .saveTo = "b"}}), UsageError);
  EXPECT_EQ(combineRecipes({{.name = "own", .stages = {Stage::ToEdge}}}).stages.size(), 1u);
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/backend_registry.h>
#include <edgefx/manager/recipe.h>
#include <edgefx/support/warning.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace edgefx {

using detail::fail;

namespace {

constexpr std::array<std::string_view, 5> kStageNames = {"to-edge", "to-edge-transform-and-lower",
                                                         "to-backend", "transform-manager", "save"};

bool partitions(Stage stage) {
  return stage == Stage::ToEdgeTransformAndLower || stage == Stage::ToBackend;
}

bool hasPartitioners(const LoweringRecipe& recipe) {
  return !recipe.partitioners.empty() ||
         std::ranges::any_of(recipe.partitionersOfMethod,
                             [](const auto& method) { return !method.second.empty(); });
}

bool hasTransformPasses(const LoweringRecipe& recipe) {
  return !recipe.transformPasses.empty() || !recipe.transformPassesOfMethod.empty();
}

// Refusals name the recipe.
template <typename... Args>
[[noreturn]] void refuse(const LoweringRecipe& recipe, fmt::format_string<Args...> format, Args&&... args) {
  fail<UsageError>("recipe '{}': {}", recipe.name, fmt::format(format, std::forward<Args>(args)...));
}

void checkEntries(const LoweringRecipe& recipe) {
  const auto check = [&](const auto& entries, std::string_view what) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (!entries[i]) refuse(recipe, "expected {} at position {}, found null", what, i);
    }
  };
  check(recipe.transformPasses, "a pass");
  for (const auto& [method, passes] : recipe.transformPassesOfMethod) check(passes, "a pass");
  check(recipe.partitioners, "a partitioner");
  for (const auto& [method, partitioners] : recipe.partitionersOfMethod) check(partitioners, "a partitioner");
  check(recipe.opBackends, "an operator backend");
  check(recipe.managerPasses, "a source of passes");
}

void checkOrder(const LoweringRecipe& recipe, const std::vector<Stage>& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool begins = stages[i] == Stage::ToEdge || stages[i] == Stage::ToEdgeTransformAndLower;
    if (i == 0 && !begins) {
      refuse(recipe, "expected 'to-edge' or 'to-edge-transform-and-lower' as the first stage, found '{}'",
             name(stages[i]));
    }
    if (i == 0) continue;
    if (begins)
      refuse(recipe, "'{}' must be the first stage, found '{}' before it", name(stages[i]), name(stages[0]));
    if (stages[i - 1] == Stage::Save) {
      refuse(recipe, "'save' must be the last stage, found '{}' after it", name(stages[i]));
    }
  }
}

// An empty list says nothing.
template <typename T>
bool disagree(const std::vector<T>& a, const std::vector<T>& b) {
  return !a.empty() && !b.empty() && std::set<T>(a.begin(), a.end()) != std::set<T>(b.begin(), b.end());
}

// Names of the fields in which two configs disagree.
std::vector<std::string_view> differingFields(const EdgeCompileConfig& a, const EdgeCompileConfig& b) {
  std::vector<std::string_view> fields;
  if (a.checkIrValidity != b.checkIrValidity) fields.emplace_back("checkIrValidity");
  if (a.skipDimOrder != b.skipDimOrder) fields.emplace_back("skipDimOrder");
  if (disagree(a.coreAtenOpsExceptionList, b.coreAtenOpsExceptionList))
    fields.emplace_back("coreAtenOpsExceptionList");
  if (disagree(a.preserveOps, b.preserveOps)) fields.emplace_back("preserveOps");
  return fields;
}

// Of configs that agree, what all of them say.
void fillLists(EdgeCompileConfig& config, const EdgeCompileConfig& other) {
  if (config.coreAtenOpsExceptionList.empty())
    config.coreAtenOpsExceptionList = other.coreAtenOpsExceptionList;
  if (config.preserveOps.empty()) config.preserveOps = other.preserveOps;
}

// The config of the recipes that partition, or of those that do not; null if none has one.
struct SharedConfig {
  const LoweringRecipe* source = nullptr;
  std::optional<EdgeCompileConfig> config;
};

SharedConfig sharedConfig(const std::vector<LoweringRecipe>& recipes, bool ofPartitioning) {
  SharedConfig shared;
  for (const LoweringRecipe& recipe : recipes) {
    if (!recipe.config || hasPartitioners(recipe) != ofPartitioning) continue;
    if (!shared.config) {
      shared = {&recipe, recipe.config};
      continue;
    }
    if (const auto fields = differingFields(*shared.config, *recipe.config); !fields.empty()) {
      fail<UsageError>("recipes '{}' and '{}' disagree in {} of their configs, and {}", shared.source->name,
                       recipe.name, fmt::join(fields, ", "),
                       ofPartitioning ? "both partition" : "neither partitions");
    }
    fillLists(*shared.config, *recipe.config);
  }
  return shared;
}

std::optional<EdgeCompileConfig> combineConfigs(const std::vector<LoweringRecipe>& recipes) {
  SharedConfig winner = sharedConfig(recipes, true);
  const SharedConfig other = sharedConfig(recipes, false);
  if (!winner.config) return other.config;
  if (!other.config) return winner.config;
  if (const auto fields = differingFields(*winner.config, *other.config); !fields.empty()) {
    warn({"recipe", fmt::format("recipe '{}' partitions, so its {} hold{}, not {} of recipe '{}'",
                                winner.source->name, fmt::join(fields, ", "), fields.size() == 1 ? "s" : "",
                                fields.size() == 1 ? "that" : "those", other.source->name)});
  }
  fillLists(*winner.config, *other.config);
  return winner.config;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Entries of one method become one, in the order of first mention.
template <typename T>
void appendOfMethod(LoweringRecipe::OfMethod<std::vector<T>>& to,
                    const LoweringRecipe::OfMethod<std::vector<T>>& from) {
  for (const auto& [method, entries] : from) {
    auto found = std::ranges::find_if(to, [&](const auto& known) { return known.first == method; });
    if (found == to.end()) {
      to.emplace_back(method, entries);
    } else {
      append(found->second, entries);
    }
  }
}

}  // namespace

std::string_view name(Stage stage) {
  return kStageNames.at(static_cast<size_t>(stage));
}

std::vector<Stage> stagesOf(const LoweringRecipe& recipe) {
  if (!recipe.stages.empty()) return recipe.stages;
  std::vector<Stage> stages{Stage::ToEdgeTransformAndLower};
  if (!recipe.opBackends.empty() || !recipe.managerPasses.empty()) stages.push_back(Stage::TransformManager);
  if (recipe.saveTo) stages.push_back(Stage::Save);
  return stages;
}

void checkRecipe(const LoweringRecipe& recipe) {
  checkEntries(recipe);
  const std::vector<Stage> stages = stagesOf(recipe);
  checkOrder(recipe, stages);
  const auto partitioning = std::ranges::find_if(stages, partitions);
  const auto transforming = std::ranges::find(stages, Stage::TransformManager);
  const bool saves = std::ranges::find(stages, Stage::Save) != stages.end();
  const bool isPartitioned = hasPartitioners(recipe), hasBackends = !recipe.opBackends.empty();
  if (isPartitioned && std::ranges::count_if(stages, partitions) > 1) {
    refuse(recipe, "its partitioners would run twice: found two partitioning stages");
  }
  if (hasBackends && std::ranges::count(stages, Stage::TransformManager) > 1) {
    refuse(recipe, "its operator backends would run twice: found two stages 'transform-manager'");
  }
  if (isPartitioned && hasBackends && transforming < partitioning && transforming != stages.end() &&
      partitioning != stages.end()) {
    refuse(recipe,
           "its operator backends would run before its partitioners: expected 'transform-manager' after '{}'",
           name(*partitioning));
  }
  if (!saves) return;
  if (!recipe.saveTo) refuse(recipe, "the stage 'save' needs a path, found none");
  if (hasBackends && transforming == stages.end()) {
    refuse(recipe, "its operator backends would never run: expected 'transform-manager' before 'save'");
  }
  if (isPartitioned && partitioning == stages.end()) {
    refuse(recipe, "its partitioners would never run: expected a partitioning stage before 'save'");
  }
  if (!recipe.managerPasses.empty() && transforming == stages.end()) {
    refuse(recipe, "its manager passes would never run: expected 'transform-manager' before 'save'");
  }
  const bool runsPasses = transforming != stages.end() || stages.front() == Stage::ToEdgeTransformAndLower;
  if (hasTransformPasses(recipe) && !runsPasses) {
    refuse(recipe, "its transform passes would never run: expected 'transform-manager' before 'save'");
  }
}

LoweringRecipe combineRecipes(const std::vector<LoweringRecipe>& recipes) {
  if (recipes.empty()) fail<UsageError>("expected recipes to combine, found none");
  if (recipes.size() == 1) return recipes.front();
  LoweringRecipe combined;
  for (const bool ofPartitioning : {false, true}) {
    for (const LoweringRecipe& recipe : recipes) {
      if (hasPartitioners(recipe) == ofPartitioning) append(combined.opBackends, recipe.opBackends);
    }
  }
  for (const LoweringRecipe& recipe : recipes) {
    if (!recipe.stages.empty())
      refuse(recipe, "a recipe that sets its stages cannot be combined with others");
    if (!combined.name.empty()) combined.name += " + ";
    combined.name += recipe.name;
    append(combined.transformPasses, recipe.transformPasses);
    appendOfMethod(combined.transformPassesOfMethod, recipe.transformPassesOfMethod);
    append(combined.partitioners, recipe.partitioners);
    appendOfMethod(combined.partitionersOfMethod, recipe.partitionersOfMethod);
    append(combined.managerPasses, recipe.managerPasses);
    if (!recipe.saveTo) continue;
    if (combined.saveTo && *combined.saveTo != *recipe.saveTo) {
      refuse(recipe, "it saves to '{}', another recipe to '{}'", recipe.saveTo->string(),
             combined.saveTo->string());
    }
    combined.saveTo = recipe.saveTo;
  }
  combined.config = combineConfigs(recipes);
  return combined;
}

}  // namespace edgefx

#include <edgefx/manager/recipe.h>
#include <edgefx/manager/to_edge.h>
#include <edgefx/manager/to_edge_transform_and_lower.h>
#include <edgefx/serialization/pt2.h>

#include "manager/lower_in_rounds.h"
#include "support/fail.h"
#include "support/guarded_call.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace edgefx {

using detail::fail;

namespace {

template <typename T>
void checkMethodNames(const LoweringRecipe& recipe, const LoweringRecipe::OfMethod<T>& entries,
                      const std::vector<std::string_view>& known) {
  for (const auto& [method, entry] : entries) {
    if (std::ranges::find(known, method) != known.end()) continue;
    fail<UsageError>("recipe '{}' names method '{}', which there is not; there are '{}'", recipe.name, method,
                     fmt::join(known, "', '"));
  }
}

template <typename T>
void appendFor(std::string_view method, const LoweringRecipe::OfMethod<std::vector<T>>& entries,
               std::vector<T>& found) {
  for (const auto& [name, own] : entries) {
    if (name == method) found.insert(found.end(), own.begin(), own.end());
  }
}

// Every method's partitioners, in the order in which they run.
std::vector<const Partitioner*> partitionersOf(const LoweringRecipe& recipe, std::string_view method) {
  LoweringRecipe::Partitioners shared = recipe.partitioners;
  appendFor(method, recipe.partitionersOfMethod, shared);
  std::vector<const Partitioner*> partitioners;
  for (const auto& partitioner : shared) partitioners.push_back(partitioner.get());
  return partitioners;
}

EdgeCompileConfig configOf(const LoweringRecipe& recipe) {
  EdgeCompileConfig config = recipe.config.value_or(EdgeCompileConfig());
  // What is for an operator backend may be outside the dialect before it ran, and is afterwards.
  if (!recipe.opBackends.empty()) config.checkIrValidity = false;
  return config;
}

}  // namespace

LoweringSession::LoweringSession(EdgeProgramManager::Methods methods, LoweringRecipe recipe,
                                 const BackendRegistry& registry, ConstantMethods constantMethods)
    : methods_(std::move(methods)),
      recipe_(std::move(recipe)),
      registry_(registry),
      constantMethods_(std::move(constantMethods)) {
  checkRecipe(recipe_);
  std::vector<std::string_view> names;
  for (const auto& [name, program] : methods_) names.push_back(name);
  checkMethodNames(recipe_, recipe_.transformPassesOfMethod, names);
  checkMethodNames(recipe_, recipe_.partitionersOfMethod, names);
  stages_ = stagesOf(recipe_);
}

void LoweringSession::run() {
  artifacts_.clear();
  for (const Stage stage : stages_) {
    try {
      switch (stage) {
        case Stage::ToEdge:
          artifacts_.emplace_back(stage, toEdgeStage());
          break;
        case Stage::ToEdgeTransformAndLower:
          artifacts_.emplace_back(stage, lowerStage());
          break;
        case Stage::ToBackend:
          artifacts_.emplace_back(stage, toBackendStage(edgeProgramManager()));
          break;
        case Stage::TransformManager:
          artifacts_.emplace_back(stage, transformStage(edgeProgramManager()));
          break;
        case Stage::Save:
          saveStage(edgeProgramManager());
          break;
      }
    } catch (Error& error) {
      error.addNote(fmt::format("in stage '{}' of recipe '{}'", name(stage), recipe_.name));
      throw;
    }
  }
}

const EdgeProgramManager* LoweringSession::artifact(Stage stage) const {
  const auto found = std::find_if(artifacts_.rbegin(), artifacts_.rend(),
                                  [stage](const auto& made) { return made.first == stage; });
  return found == artifacts_.rend() ? nullptr : &found->second;
}

const EdgeProgramManager& LoweringSession::edgeProgramManager() const {
  if (artifacts_.empty()) {
    fail<UsageError>("recipe '{}' has made no program yet: its first stage '{}' did not run to its end",
                     recipe_.name, name(stages_.front()));
  }
  return artifacts_.back().second;
}

EdgeProgramManager::Methods LoweringSession::copyMethods() const {
  EdgeProgramManager::Methods copies;
  for (const auto& [name, program] : methods_) copies.emplace_back(name, program.clone());
  return copies;
}

std::vector<PassRef> LoweringSession::passesOf(std::string_view method) const {
  std::vector<PassRef> passes = recipe_.transformPasses;
  appendFor(method, recipe_.transformPassesOfMethod, passes);
  return passes;
}

EdgeProgramManager LoweringSession::toEdgeStage() const {
  return toEdge(copyMethods(), configOf(recipe_), constantMethods_);
}

EdgeProgramManager LoweringSession::lowerStage() const {
  std::vector<std::pair<std::string, MethodLowering>> lowerings;
  for (const auto& [name, program] : methods_) {
    lowerings.emplace_back(name, MethodLowering{passesOf(name), partitionersOf(recipe_, name)});
  }
  return toEdgeTransformAndLower(copyMethods(), lowerings, registry_, configOf(recipe_), constantMethods_);
}

EdgeProgramManager LoweringSession::toBackendStage(const EdgeProgramManager& manager) const {
  detail::PartitionersOfMethod partitioners;
  for (const auto& [name, program] : methods_) partitioners.emplace_back(name, partitionersOf(recipe_, name));
  return detail::lowerInRounds(manager, partitioners, registry_);
}

EdgeProgramManager LoweringSession::transformStage(const EdgeProgramManager& manager) const {
  EdgeProgramManager transformed = manager;
  for (const auto& backend : recipe_.opBackends) transformed = transformed.toOpBackend(*backend);
  const bool haveRun =
      artifact(Stage::ToEdgeTransformAndLower) != nullptr || artifact(Stage::TransformManager) != nullptr;
  if (!haveRun) {
    EdgeProgramManager::PassesOfMethod passes;
    for (const auto& [name, program] : methods_) {
      if (std::vector<PassRef> own = passesOf(name); !own.empty()) passes.emplace_back(name, std::move(own));
    }
    if (!passes.empty()) transformed = transformed.transform(passes);
  }
  for (const LoweringRecipe::PassSource& source : recipe_.managerPasses) {
    const std::vector<PassRef> passes =
        detail::guardedCall(Diagnostic(), "a source of passes", [&] { return source(transformed); });
    if (!passes.empty()) transformed = transformed.transform(passes);
  }
  return transformed;
}

void LoweringSession::saveStage(const EdgeProgramManager& manager) const {
  Archive archive;
  for (const std::string& name : manager.methods()) {
    archive.models.push_back({name, manager.exportedProgram(name).clone()});
  }
  saveArchive(archive, recipe_.saveTo.value());
}

}  // namespace edgefx

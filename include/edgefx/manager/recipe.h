#pragma once

#include <edgefx/backend/op_backend.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/partition/partitioner.h>
#include <edgefx/passes/pass.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

// A step on the way from torch.export's programs to what a device gets. Each but Save yields a manager.
enum class Stage : uint8_t {
  ToEdge,                   // "to-edge"
  ToEdgeTransformAndLower,  // "to-edge-transform-and-lower"
  ToBackend,                // "to-backend"
  TransformManager,         // "transform-manager": operator backends, then passes
  Save,                     // "save": the methods as models of one .pt2 file
};
std::string_view name(Stage stage);

// How programs are lowered for a device, as data: recipes can be combined, checked, and run (see
// LoweringSession). The rules are those of exir's ExportRecipe.
struct LoweringRecipe {
  template <typename T>
  using OfMethod = std::vector<std::pair<std::string, T>>;
  using Partitioners = std::vector<std::shared_ptr<const Partitioner>>;
  // Gives passes for a manager; none is an answer.
  using PassSource = std::function<std::vector<PassRef>(const EdgeProgramManager& manager)>;

  std::string name;
  // Without one, and in empty lists of one, the recipe has no opinion. If there are operator backends the
  // check of IR validity is off whatever it says.
  std::optional<EdgeCompileConfig> config{};
  // Run between edge dialect and partitioning, or by TransformManager if no stage lowers so: the passes for
  // all methods, then those of the method.
  std::vector<PassRef> transformPasses{};
  OfMethod<std::vector<PassRef>> transformPassesOfMethod{};
  // One after another, each over what the ones before left: those for all methods, then those of the method.
  Partitioners partitioners{};
  OfMethod<Partitioners> partitionersOfMethod{};
  // By TransformManager, each over what the one before returned, so that they see what delegates left.
  std::vector<std::shared_ptr<const OpBackend>> opBackends{};
  // By TransformManager, at its end.
  std::vector<PassSource> managerPasses{};
  // Where Save writes.
  std::optional<std::filesystem::path> saveTo{};
  // If empty: ToEdgeTransformAndLower, TransformManager if there is something for it to do, Save if saveTo is
  // set.
  std::vector<Stage> stages{};
};

// The stages that running the recipe goes through.
std::vector<Stage> stagesOf(const LoweringRecipe& recipe);

// Throws UsageError if the recipe holds null or an empty function, or its stages do not work out:
// - a stage that cannot follow the one before it, or come first;
// - two partitioning stages, if there are partitioners; TransformManager twice, if there are operator
// backends;
// - TransformManager before the partitioning stage, if there are both: the backends would take what is for
//   delegates;
// - Save, if there are partitioners, operator backends or passes and no stage that runs them, or no path.
// A pipeline that ends early, before Save too, is fine.
void checkRecipe(const LoweringRecipe& recipe);

// One recipe that does what all do: passes, partitioners and manager passes in the order given, though those
// for all methods still come before those of one; of operator backends, those of recipes with partitioners
// last. Configs that disagree: that of the recipe with partitioners holds, and a warning ("recipe") names the
// fields that were passed over. Throws UsageError if there are no recipes, if two of them disagree that both
// partition or both do not, if one sets its stages, and if two save to different files.
LoweringRecipe combineRecipes(const std::vector<LoweringRecipe>& recipes);

// Runs a recipe on the methods of a model and keeps what every stage made.
class LoweringSession {
 public:
  // Backends of delegates are found in the registry, which must outlive the session. Throws as checkRecipe;
  // UsageError if the recipe names methods that there are not.
  LoweringSession(EdgeProgramManager::Methods methods, LoweringRecipe recipe, const BackendRegistry& registry,
                  ConstantMethods constantMethods = {});

  // Runs all stages. What an earlier run made is gone then. If a stage throws, the error names stage and
  // recipe, and the artifacts of the stages before it stay.
  void run();

  // What a stage of the last run made, that of the last if it ran twice; null if it did not come to an end,
  // and for Save.
  const EdgeProgramManager* artifact(Stage stage) const;
  // What the last stage that came to an end made. Throws UsageError if there is none.
  const EdgeProgramManager& edgeProgramManager() const;

 private:
  EdgeProgramManager toEdgeStage() const;
  EdgeProgramManager lowerStage() const;
  EdgeProgramManager toBackendStage(const EdgeProgramManager& manager) const;
  EdgeProgramManager transformStage(const EdgeProgramManager& manager) const;
  void saveStage(const EdgeProgramManager& manager) const;

  EdgeProgramManager::Methods copyMethods() const;
  std::vector<PassRef> passesOf(std::string_view method) const;

  EdgeProgramManager::Methods methods_;
  LoweringRecipe recipe_;
  const BackendRegistry& registry_;
  ConstantMethods constantMethods_;
  std::vector<Stage> stages_;
  std::vector<std::pair<Stage, EdgeProgramManager>> artifacts_;
};

}  // namespace edgefx

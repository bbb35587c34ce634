#include <edgefx/backend/lower_program.h>
#include <edgefx/backend/to_backend.h>
#include <edgefx/manager/edge_program_manager.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {

using detail::fail;

namespace {

[[noreturn]] void failUnknownMethod(std::string_view name, const std::vector<std::string>& known) {
  if (known.empty()) fail<UsageError>("there is no method '{}': the manager has none", name);
  fail<UsageError>("there is no method '{}'; the manager has '{}'", name, fmt::join(known, "', '"));
}

EdgeProgramManager::Methods oneMethod(ExportedProgram program) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("forward", std::move(program));
  return methods;
}

}  // namespace

EdgeProgramManager::EdgeProgramManager(Methods methods, EdgeCompileConfig config,
                                       ConstantMethods constantMethods,
                                       std::shared_ptr<const EtRecord> etRecord)
    : config_(std::move(config)),
      constantMethods_(std::move(constantMethods)),
      etRecord_(std::move(etRecord)) {
  std::unordered_set<std::string_view> names;
  auto take = [&names](std::string_view name, std::string_view what) {
    if (name.empty()) fail<UsageError>("a {} needs a name, found an empty one", what);
    if (!names.insert(name).second)
      fail<UsageError>("there are two methods or constant methods called '{}'", name);
  };
  for (const auto& [name, program] : methods) {
    take(name, "method");
    if (!program.isValid())
      fail<UsageError>("method '{}' needs a program, got one that was moved from", name);
  }
  for (const auto& [name, value] : constantMethods_) take(name, "constant method");

  methods_.reserve(methods.size());
  for (auto& [name, program] : methods) {
    methods_.push_back({std::move(name), std::make_shared<const ExportedProgram>(std::move(program))});
  }
}

EdgeProgramManager::EdgeProgramManager(ExportedProgram program, EdgeCompileConfig config,
                                       ConstantMethods constantMethods,
                                       std::shared_ptr<const EtRecord> etRecord)
    : EdgeProgramManager(oneMethod(std::move(program)), std::move(config), std::move(constantMethods),
                         std::move(etRecord)) {}

std::vector<std::string> EdgeProgramManager::methods() const {
  std::vector<std::string> names;
  names.reserve(methods_.size());
  for (const Method& method : methods_) names.push_back(method.name);
  return names;
}

const ExportedProgram& EdgeProgramManager::exportedProgram(std::string_view method) const {
  for (const Method& candidate : methods_) {
    if (candidate.name == method) return *candidate.program;
  }
  failUnknownMethod(method, methods());
}

template <typename T>
EdgeProgramManager::OfMethod<T> EdgeProgramManager::forEveryMethod(const T& what) const {
  OfMethod<T> all;
  all.reserve(methods_.size());
  for (const Method& method : methods_) all.emplace_back(method.name, &what);
  return all;
}

template <typename T>
void EdgeProgramManager::checkMethods(const OfMethod<T>& what, std::string_view kind) const {
  std::unordered_set<std::string_view> known, named;
  for (const Method& method : methods_) known.insert(method.name);
  for (const auto& [name, item] : what) {
    if (!known.contains(name)) failUnknownMethod(name, methods());
    if (item == nullptr) fail<UsageError>("expected {} for method '{}', found null", kind, name);
    if (!named.insert(name).second) fail<UsageError>("method '{}' is named twice", name);
  }
}

EdgeProgramManager EdgeProgramManager::transform(const PassManager& passes,
                                                 std::optional<EdgeCompileConfig> config) const {
  EdgeProgramManager transformed = *this;
  if (config) transformed.config_ = std::move(*config);
  for (Method& method : transformed.methods_) method.program = passes.run(method.program, method.name);
  return transformed;
}

EdgeProgramManager EdgeProgramManager::transform(const std::vector<PassRef>& passes,
                                                 std::optional<EdgeCompileConfig> config) const {
  return transform(PassManager(passes), std::move(config));
}

EdgeProgramManager EdgeProgramManager::transform(const PassesOfMethod& passes,
                                                 std::optional<EdgeCompileConfig> config) const {
  OfMethod<std::vector<PassRef>> named;
  for (const auto& [name, list] : passes) named.emplace_back(name, &list);
  checkMethods(named, "passes");
  std::unordered_map<std::string_view, PassManager> passesOf;
  for (const auto& [name, list] : passes) passesOf.emplace(name, PassManager(list));
  EdgeProgramManager transformed = *this;
  if (config) transformed.config_ = std::move(*config);
  for (Method& method : transformed.methods_) {
    const auto found = passesOf.find(method.name);
    if (found != passesOf.end()) method.program = found->second.run(method.program, method.name);
  }
  return transformed;
}

EdgeProgramManager EdgeProgramManager::toOpBackend(const OpBackend& backend) const {
  return toOpBackend(forEveryMethod(backend));
}

EdgeProgramManager EdgeProgramManager::toOpBackend(const BackendOfMethod& backends) const {
  checkMethods(backends, "an operator backend");
  const std::unordered_map<std::string_view, const OpBackend*> backendOf(backends.begin(), backends.end());
  EdgeProgramManager lowered = *this;
  lowered.config_.checkIrValidity = false;
  for (Method& method : lowered.methods_) {
    auto found = backendOf.find(method.name);
    if (found == backendOf.end()) continue;
    method.program =
        std::make_shared<const ExportedProgram>(lowerProgram(*method.program, *found->second, method.name));
  }
  return lowered;
}

EdgeProgramManager EdgeProgramManager::toBackend(const Partitioner& partitioner,
                                                 const BackendRegistry& registry) const {
  return toBackend(forEveryMethod(partitioner), registry);
}

EdgeProgramManager EdgeProgramManager::toBackend(const PartitionerOfMethod& partitioners,
                                                 const BackendRegistry& registry) const {
  checkMethods(partitioners, "a partitioner");
  const std::unordered_map<std::string_view, const Partitioner*> partitionerOf(partitioners.begin(),
                                                                               partitioners.end());
  EdgeProgramManager lowered = *this;
  lowered.config_.checkIrValidity = false;
  std::vector<Method*> changed;
  std::vector<MethodToPartition> methods;
  for (Method& method : lowered.methods_) {
    auto found = partitionerOf.find(method.name);
    if (found == partitionerOf.end()) continue;
    changed.push_back(&method);
    methods.push_back({method.name, method.program.get(), found->second});
  }
  std::vector<ExportedProgram> programs = edgefx::toBackend(methods, registry);
  for (size_t i = 0; i < changed.size(); ++i) {
    changed[i]->program = std::make_shared<const ExportedProgram>(std::move(programs[i]));
  }
  return lowered;
}

}  // namespace edgefx

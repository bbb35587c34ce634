#include <edgefx/backend/lower_program.h>
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

EdgeProgramManager EdgeProgramManager::toOpBackend(const OpBackend& backend) const {
  BackendOfMethod backends;
  backends.reserve(methods_.size());
  for (const Method& method : methods_) backends.emplace_back(method.name, &backend);
  return toOpBackend(backends);
}

EdgeProgramManager EdgeProgramManager::toOpBackend(const BackendOfMethod& backends) const {
  std::unordered_set<std::string_view> known;
  for (const Method& method : methods_) known.insert(method.name);
  std::unordered_map<std::string_view, const OpBackend*> backendOf;
  for (const auto& [name, backend] : backends) {
    if (known.count(name) == 0) failUnknownMethod(name, methods());
    if (backend == nullptr)
      fail<UsageError>("expected an operator backend for method '{}', found null", name);
    if (!backendOf.emplace(name, backend).second) fail<UsageError>("method '{}' is named twice", name);
  }

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

}  // namespace edgefx

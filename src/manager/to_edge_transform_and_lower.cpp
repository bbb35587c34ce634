#include <edgefx/backend/to_backend.h>
#include <edgefx/manager/to_edge_transform_and_lower.h>
#include <edgefx/passes/standard.h>

#include "manager/lower_in_rounds.h"
#include "manager/method_to_edge.h"
#include "program/core_aten_ops.h"
#include "program/findings.h"
#include "program/operator_names.h"
#include "support/fail.h"
#include "support/guarded_call.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace edgefx {

using detail::fail;

namespace {

using detail::PartitionersOfMethod;

bool wantsWhole(const std::vector<const Partitioner*>& partitioners, const Node& call,
                std::string_view method) {
  return std::ranges::any_of(partitioners, [&](const Partitioner* partitioner) {
    Diagnostic place;
    place.method = method;
    return detail::guardedCall(place, fmt::format("partitioner '{}'", partitioner->name()),
                               [&] { return partitioner->keepsWhole(call); });
  });
}

void refuseLeftovers(const EdgeProgramManager& manager, std::string_view method,
                     const std::set<std::string>& keptOperators) {
  const EdgeCompileConfig& config = manager.compileConfig();
  const detail::OperatorNames exceptions(config.coreAtenOpsExceptionList), preserved(config.preserveOps);
  std::unordered_set<std::string_view> refused;
  for (const std::string& name : keptOperators) {
    if (!detail::isCoreAten(name) && !exceptions.lists(Target(name)) && !preserved.lists(Target(name)))
      refused.insert(name);
  }
  if (refused.empty()) return;
  detail::Findings findings;
  for (const ConstNestedModule& at : namedModules(manager.exportedProgram(method).graphModule())) {
    for (const Node& node : std::as_const(at.module->graph()).nodes()) {
      if (!node.isCall() || !refused.contains(node.target().name()) || !findings.wantsNext()) continue;
      Diagnostic diagnostic(
          fmt::format("'{}' was kept whole for a partitioner, but is neither decomposed nor delegated",
                      node.target().name()));
      diagnostic.method = method;
      diagnostic.graph = at.path;
      diagnostic.node = node.name();
      diagnostic.nodeText = node.text();
      if (const SharedText* reason = node.meta().find(kWhyNotDelegated))
        diagnostic.notes.push_back(fmt::format("it was not delegated: {}", **reason));
      findings.add(std::move(diagnostic));
    }
  }
  std::vector<Diagnostic> found = std::move(findings).take();
  if (!found.empty()) throw VerificationError(std::move(found));
}

}  // namespace

EdgeProgramManager toEdgeTransformAndLower(
    EdgeProgramManager::Methods methods,
    const std::vector<std::pair<std::string, MethodLowering>>& loweringOfMethod,
    const BackendRegistry& registry, EdgeCompileConfig config, ConstantMethods constantMethods) {
  EdgeProgramManager::PassesOfMethod passes;
  std::unordered_map<std::string_view, const MethodLowering*> loweringOf;
  PartitionersOfMethod partitioners;
  for (const auto& [name, program] : methods) loweringOf.try_emplace(name, nullptr);
  for (const auto& [name, lowering] : loweringOfMethod) {
    const auto found = loweringOf.find(name);
    if (found == loweringOf.end()) fail<UsageError>("there is no method '{}' to be lowered", name);
    if (found->second != nullptr) fail<UsageError>("method '{}' is named twice", name);
    found->second = &lowering;
    for (const Partitioner* partitioner : lowering.partitioners) {
      if (partitioner == nullptr)
        fail<UsageError>("expected a partitioner for method '{}', found null", name);
    }
    passes.emplace_back(name, lowering.passes);
    passes.back().second.push_back(liftAttributesPass());
    partitioners.emplace_back(name, lowering.partitioners);
  }

  std::vector<std::set<std::string>> keptOperators(methods.size());
  for (size_t i = 0; i < methods.size(); ++i) {
    auto& [name, program] = methods[i];
    if (!program.isValid()) continue;  // the manager names it
    const MethodLowering* const lowering = loweringOf.at(name);
    const auto keeps = [&](const Node& call) {
      return lowering != nullptr && wantsWhole(lowering->partitioners, call, name);
    };
    program = detail::methodToEdge(std::move(program), name, config, keeps, keptOperators[i]);
  }
  EdgeProgramManager manager(std::move(methods), std::move(config), std::move(constantMethods));
  manager = detail::lowerInRounds(manager.transform(passes), partitioners, registry);
  const std::vector<std::string> names = manager.methods();
  for (size_t i = 0; i < names.size(); ++i) refuseLeftovers(manager, names[i], keptOperators[i]);
  return manager;
}

EdgeProgramManager toEdgeTransformAndLower(ExportedProgram program, const Partitioner& partitioner,
                                           const BackendRegistry& registry, EdgeCompileConfig config) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("forward", std::move(program));
  return toEdgeTransformAndLower(std::move(methods), {{"forward", {{}, {&partitioner}}}}, registry,
                                 std::move(config));
}

}  // namespace edgefx

#include <edgefx/dialect/decompose.h>
#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/manager/to_edge.h>
#include <edgefx/program/check_dialect.h>

#include "manager/method_to_edge.h"

#include <utility>

namespace edgefx {

namespace detail {

ExportedProgram methodToEdge(ExportedProgram program, std::string_view method,
                             const EdgeCompileConfig& config,
                             const std::function<bool(const Node& call)>& keeps,
                             std::set<std::string>& keptOperators) {
  try {
    program = functionalize(std::move(program));
    DecomposeOptions options{config.preserveOps, config.coreAtenOpsExceptionList};
    if (keeps) {
      options.keeps = [&](const Node& call) {
        if (!keeps(call)) return false;
        keptOperators.emplace(call.target().name());
        return true;
      };
    }
    decompose(program, options);
    EdgeCompileConfig checked = config;
    checked.coreAtenOpsExceptionList.insert(checked.coreAtenOpsExceptionList.end(), keptOperators.begin(),
                                            keptOperators.end());
    if (config.checkIrValidity) {
      // Edge dialect drops it.
      EdgeCompileConfig before = checked;
      before.coreAtenOpsExceptionList.emplace_back("aten._assert_tensor_metadata.default");
      verifyDialect(program, OperatorSet::CoreAten, before);
    }
    program = toEdgeDialect(std::move(program), config);
    if (config.checkIrValidity) verifyDialect(program, OperatorSet::Edge, checked);
  } catch (Error& error) {
    Diagnostic place;
    place.method = method;
    error.fillIn(place);
    throw;
  }
  return program;
}

}  // namespace detail

EdgeProgramManager toEdge(EdgeProgramManager::Methods methods, EdgeCompileConfig config,
                          ConstantMethods constantMethods) {
  for (auto& [name, program] : methods) {
    if (!program.isValid()) continue;  // the manager names it
    std::set<std::string> none;
    program = detail::methodToEdge(std::move(program), name, config, {}, none);
  }
  return EdgeProgramManager(std::move(methods), std::move(config), std::move(constantMethods));
}

EdgeProgramManager toEdge(ExportedProgram program, EdgeCompileConfig config,
                          ConstantMethods constantMethods) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("forward", std::move(program));
  return toEdge(std::move(methods), std::move(config), std::move(constantMethods));
}

}  // namespace edgefx

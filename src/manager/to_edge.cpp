#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/manager/to_edge.h>
#include <edgefx/program/check_dialect.h>

#include <utility>

namespace edgefx {
namespace {

ExportedProgram methodToEdge(ExportedProgram program, const EdgeCompileConfig& config) {
  program = functionalize(std::move(program));
  // Decomposition to Core ATen belongs here, and leaves alone what the config preserves. Until there is one,
  // programs are expected to have been decomposed by torch.export.
  if (config.checkIrValidity) verifyDialect(program, OperatorSet::CoreAten, config);
  program = toEdgeDialect(std::move(program), config);
  if (config.checkIrValidity) verifyDialect(program, OperatorSet::Edge, config);
  return program;
}

}  // namespace

EdgeProgramManager toEdge(EdgeProgramManager::Methods methods, EdgeCompileConfig config,
                          ConstantMethods constantMethods) {
  for (auto& [name, program] : methods) {
    if (!program.isValid()) continue;  // the manager names it
    try {
      program = methodToEdge(std::move(program), config);
    } catch (Error& error) {
      Diagnostic place;
      place.method = name;
      error.fillIn(place);
      throw;
    }
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

#include "program/delegate_programs.h"

#include <edgefx/program/lowered_module.h>

#include <utility>
#include <vector>

namespace edgefx::detail {

void forEachProgram(
    const ExportedProgram& program,
    const std::function<void(const ExportedProgram& program, const std::string& path)>& visit) {
  struct Visit {
    const ExportedProgram* program;
    std::string path;
  };
  std::vector<Visit> pending{{&program, ""}};
  while (!pending.empty()) {
    const Visit at = std::move(pending.back());
    pending.pop_back();
    visit(*at.program, at.path);
    for (const ConstNestedModule& nested : namedModules(at.program->graphModule())) {
      for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
        pending.push_back(
            {&delegate.module->program, childPath(at.path, childPath(nested.path, delegate.name))});
      }
    }
  }
}

}  // namespace edgefx::detail

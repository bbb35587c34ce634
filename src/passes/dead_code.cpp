#include <edgefx/ir/dead_code.h>
#include <edgefx/passes/standard.h>

namespace edgefx {

PassRef deadCodePass() {
  return programPass("dead-code",
                     [](ExportedProgram& program) { return eliminateDeadCode(program.graphModule()) != 0; });
}

}  // namespace edgefx

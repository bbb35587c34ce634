#include <edgefx/passes/standard.h>
#include <edgefx/rewrite/program_rewriter.h>

namespace edgefx {

PassRef unusedInputsPass() {
  return programPass("unused-inputs", [](ExportedProgram& program) {
    return ProgramRewriter(program).eraseDeadInputs() != 0;
  });
}

}  // namespace edgefx

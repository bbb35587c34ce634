#include "backend.h"

#include <edgefx/passes/pass_manager.h>
#include <edgefx/passes/standard.h>

#include "kernels.h"
#include "layout.h"

namespace nhwc {

using namespace edgefx;

ExportedProgram ExplicitLayoutBackend::lower(ExportedProgram program, std::string_view methodName) const {
  registerOperators();
  PassManager passes({
      deadCodePass(),  // getitems that nobody reads would count as readers of batch norms
      programPass("fold-batch-norms", foldBatchNorms),
      programPass("insert-permutes",
                  [this](ExportedProgram& at) { return insertPermutes(at, options_.skipDimOrder); }),
  });
  if (options_.cancels) passes.add(programPass("cancel-permutes", cancelPermutes));
  passes.add(unusedInputsPass());
  passes.run(program, methodName);
  return program;
}

void ExplicitLayoutBackend::addShapeRules(ShapeRules& rules) const {
  addOwnShapeRules(rules);
}

}  // namespace nhwc

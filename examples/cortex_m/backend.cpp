#include "backend.h"

#include "lowering.h"

#include <utility>

namespace cortex_m {

edgefx::ExportedProgram Backend::lower(edgefx::ExportedProgram program,
                                       std::string_view /*methodName*/) const {
  Report report = Lowering(program).run();
  if (report_ != nullptr) *report_ = std::move(report);
  return program;
}

void Backend::addShapeRules(edgefx::ShapeRules& rules) const {
  addShapes(rules);
}

}  // namespace cortex_m

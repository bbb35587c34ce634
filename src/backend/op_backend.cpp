#include <edgefx/backend/op_backend.h>

namespace edgefx {

void OpBackend::addShapeRules(ShapeRules&) const {}

}  // namespace edgefx

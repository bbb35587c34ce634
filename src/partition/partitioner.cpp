#include <edgefx/partition/partitioner.h>

namespace edgefx {

bool Partitioner::keepsWhole(const Node& /*call*/) const {
  return false;
}

}  // namespace edgefx

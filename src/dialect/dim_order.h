#pragma once

#include <edgefx/ir/node.h>

namespace edgefx::detail {

// If the call copies tensors or makes an empty one (aten._to_copy, clone, empty.memory_format), calls the
// operator of dim_order_ops in its place, which names the order of dimensions: that of the memory format, or
// of the operand if there is none or it is to be preserved. The value stays. Returns whether it did; false
// also if nothing is known of the operand. Throws UnsupportedError naming the node for a memory format that
// its rank does not have.
bool useDimOrder(Node& call);

}  // namespace edgefx::detail

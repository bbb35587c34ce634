#pragma once

#include <edgefx/ir/node.h>

namespace edgefx::detail {

// What LibTorch's kernel for tensors without data says of a call of an operator. Null if LibTorch has no such
// kernel, an argument is symbolic or not known, or the kernel refuses. Microseconds a call.
ValueRef inferWithKernel(const Node& node);

}  // namespace edgefx::detail

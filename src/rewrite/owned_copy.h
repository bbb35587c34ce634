#pragma once

#include <edgefx/ir/argument.h>

namespace edgefx::detail {

// A copy of an argument that does not refer to its node's storage, which a new argument overwrites. O(its
// leaves).
Arg ownedCopy(const Argument& argument);

}  // namespace edgefx::detail

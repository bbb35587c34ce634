#pragma once

#include <edgefx/ir/target.h>

namespace edgefx::detail {

// Operators that an edge program calls as they are: exir's symbolic ones, and those that it takes out of Core
// ATen checks.
bool staysAten(Target target);

}  // namespace edgefx::detail

#pragma once

#include "run/kernel.h"

#include <c10/util/Exception.h>

#include <vector>

// Releases of LibTorch differ in which CPU kernels they have for float16 and bfloat16. Those that exist
// compute in float32 and round once, so an operator without one can be run in float32 and rounded.
namespace edgefx::detail {

// Whether a kernel threw this because it does not exist for float16 or bfloat16.
bool lacksNarrowType(const c10::Error& error);

// Calls the kernel with float32 for the narrow types among the arguments, and rounds the results.
void callWidened(const Kernel& kernel, std::vector<c10::IValue>& stack);

}  // namespace edgefx::detail

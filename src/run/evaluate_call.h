#pragma once

#include <edgefx/ir/node.h>

#include "ir/convert_argument.h"

#include <optional>

namespace edgefx::detail {

// What a call of an operator gives for these values of nodes: a tensor, a number, a tuple of several results.
// Nothing if no kernel of this process takes it. Throws what kernels and conversions of arguments throw.
std::optional<c10::IValue> evaluateCall(const Node& call, const LeafValues& leaves);

}  // namespace edgefx::detail

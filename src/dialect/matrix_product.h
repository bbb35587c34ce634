#pragma once

#include "dialect/decomposition.h"

namespace edgefx::detail {

// aten.matmul of any two ranks.
Node& matrixProduct(Decomposition& c, Node& a, Node& b);

// aten.linear; `bias` may be null.
Node& linearProduct(Decomposition& c, Node& x, Node& weight, Node* bias);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/dtype.h>

#include <c10/core/ScalarType.h>

#include <optional>

namespace edgefx {

// LibTorch's element type, none if this LibTorch lacks it; and back, none if no .pt2 file has it.
std::optional<at::ScalarType> toScalarType(Dtype dtype);
std::optional<Dtype> fromScalarType(at::ScalarType type);

}  // namespace edgefx

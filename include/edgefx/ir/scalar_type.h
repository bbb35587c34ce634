#pragma once

#include <edgefx/ir/dtype.h>

#include <c10/core/ScalarType.h>

#include <optional>

namespace edgefx {

std::optional<at::ScalarType> toScalarType(Dtype dtype);  // none if this LibTorch lacks it
std::optional<Dtype> fromScalarType(at::ScalarType type);

}  // namespace edgefx

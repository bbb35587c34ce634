#pragma once

#include "run/on_stack.h"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace edgefx::detail {

// The matrix as rows of one group each; a group larger than a row that has a single scale is the row. Throws
// std::runtime_error if the groups do not fit.
at::Tensor quantizedGroups(const at::Tensor& matrix, const at::Tensor& scales, int64_t groupSize);

// (group - zero point) * scale, in the matrix's shape and the type that the arithmetic gives.
at::Tensor dequantizedGroups(const at::Tensor& matrix, const at::Tensor& scales,
                             const OptionalTensor& zeroPoints, int64_t groupSize);

}  // namespace edgefx::detail

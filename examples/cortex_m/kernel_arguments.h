#pragma once

#include "requantize.h"

#include <ATen/core/Tensor.h>

// How the arguments of the library's operators are read; what does not fit is an error of LibTorch's kind.
namespace cortex_m {

inline int32_t narrow(int64_t value) {
  TORCH_CHECK(value == static_cast<int32_t>(value), "q8: ", value, " does not fit 32 bits");
  return static_cast<int32_t>(value);
}

inline Factor factorFrom(at::IntArrayRef pair) {
  TORCH_CHECK(pair.size() == 2, "q8: a factor is [value, shift], found ", pair);
  TORCH_CHECK(pair[1] >= -31 && pair[1] <= 30, "q8: expected a shift from -31 to 30, found ", pair[1]);
  return {narrow(pair[0]), narrow(pair[1])};
}

inline Output outputFrom(int64_t zero, int64_t min, int64_t max) {
  TORCH_CHECK(min >= -128 && max <= 127 && min <= max, "q8: [", min, ", ", max, "] is no range of int8");
  return {narrow(zero), narrow(min), narrow(max)};
}

}  // namespace cortex_m

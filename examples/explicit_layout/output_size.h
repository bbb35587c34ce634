#pragma once

#include <cstdint>

namespace nhwc {

// Height or width of what a window makes that moves over an image.
constexpr int64_t outputSize(int64_t input, int64_t kernel, int64_t stride, int64_t padding,
                             int64_t dilation) {
  if (stride <= 0) return 0;  // which no image has
  return (input + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

}  // namespace nhwc

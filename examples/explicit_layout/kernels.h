#pragma once

namespace nhwc {

// Makes the operators below known to LibTorch. Calling it again does nothing. All are for float32 on the CPU,
// and for images whose channels are the last dimension: [N, H, W, C].
//
//   nhwc::conv2d(Tensor x, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation,
//                int groups) -> Tensor
//     weight [O, KH, KW, C / groups], bias [O]
//
//   nhwc::max_pool2d(Tensor x, int[] kernel, int[] stride, int[] padding, int[] dilation) -> Tensor
//
// Lists have two entries, for height and width.
void registerOperators();

}  // namespace nhwc

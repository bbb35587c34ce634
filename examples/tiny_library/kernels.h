#pragma once

#include <ATen/core/Tensor.h>

namespace tiny {

// Makes the operators below known to LibTorch under the namespace "tiny". Calling it again does nothing.
//
//   tiny::linear(Tensor x, Tensor packed, Tensor bias) -> Tensor
//     x [M, K], packed [K, N] contiguous, bias [N]
//
//   tiny::atan_relu(Tensor x) -> Tensor
//     any shape
//
// Both are for float32 on the CPU.
void registerOperators();

// The layout that tiny::linear reads, made once from a weight [N, K]: its transpose [K, N], contiguous.
at::Tensor packWeight(const at::Tensor& weight);

}  // namespace tiny

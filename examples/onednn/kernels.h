#pragma once

#include "primitives.h"

#include <ATen/core/Tensor.h>

#include <string>

namespace onednn {

// Makes the operators below known to LibTorch under the namespace "onednn". Calling it again does nothing.
// All are for float32 on the CPU.
//
//   onednn::convolution(Tensor x, Tensor packed, Tensor? bias, Tensor? other, int[] weight_sizes,
//                       str weight_layout, int[] stride, int[] padding, int[] dilation, int groups,
//                       str activation, bool channels_last) -> Tensor
//     activation(convolution of x [N, C, H, W] + bias + other); other has the shape of the result
//
//   onednn::linear(Tensor x, Tensor packed, Tensor? bias, Tensor? other, int[] weight_sizes,
//                  str weight_layout, str activation) -> Tensor
//     activation(x [..., K] times the transpose of the weight [N, K] + bias + other)
//
//   onednn::matmul(Tensor a, Tensor b, Tensor? bias, str activation) -> Tensor
//     activation(a [..., M, K] times b [..., K, N] + bias [N]); what comes before is equal
//
// activation is "none", "relu", "gelu", "gelu_tanh" or "tanh".
//
// `packed` holds the weight as oneDNN wants it on the machine that lowered: the layout's name goes with it.
// Where another layout would be better, on another processor, the weight is reordered at every call.
void registerOperators();

struct PackedWeight {
  at::Tensor bytes;    // floats in one dimension, padded as the layout has it
  std::string layout;  // its name
};
PackedWeight packConvolution(const at::Tensor& weight, const ConvolutionShape& shape);
PackedWeight packLinear(const at::Tensor& weight, int64_t rows);

// How often a call had to reorder a packed weight, in this process.
size_t reorderedWeights();

}  // namespace onednn

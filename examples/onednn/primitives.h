#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// oneDNN's primitives by shape: each is made once in a process and kept.
namespace onednn {

using Sizes = std::vector<int64_t>;

// What is done to the result while it is still in registers.
struct Fused {
  bool addsToResult = false;  // what is in the result before the call is added
  std::string activation{};   // "none", "relu", "gelu", "gelu_tanh" or "tanh"
};
bool isActivation(std::string_view name);

struct ConvolutionShape {
  Sizes input;   // N, C, H, W
  Sizes weight;  // O, I / groups, H, W
  Sizes stride, padding, dilation;
  int64_t groups = 1;

  Sizes output() const;
};

// A primitive with the layouts that it reads and writes. Activations are channels last.
struct Kernel {
  dnnl::primitive primitive;
  dnnl::memory::desc source, weights, bias, result, scratchpad;
};
using KernelRef = std::shared_ptr<const Kernel>;

// Throw dnnl::error for what oneDNN has no implementation of.
KernelRef convolution(const ConvolutionShape& shape, bool hasBias, const Fused& fused);
// [rows, weight[1]] times the transpose of weight.
KernelRef innerProduct(int64_t rows, const Sizes& weight, bool hasBias, const Fused& fused);
// [batch, rows, inner] times [batch, inner, columns], a bias [columns].
KernelRef product(int64_t batch, int64_t rows, int64_t inner, int64_t columns, bool hasBias,
                  const Fused& fused);

// The name that oneDNN has for the layout of these weights, such as "Acdb16a"; empty if it has none.
std::string layoutName(const dnnl::memory::desc& weights);
// The layout of that name for weights of these sizes. Throws std::invalid_argument for unknown names.
dnnl::memory::desc layoutOf(const Sizes& weight, int64_t groups, const std::string& name);
// That of a contiguous tensor.
dnnl::memory::desc plainLayout(const Sizes& weight, int64_t groups);

// From one layout to another.
void reorder(const dnnl::memory::desc& from, const void* source, const dnnl::memory::desc& to, void* result);

// Runs a kernel; `bias` may be null. Waits until the result is there.
void run(const Kernel& kernel, const void* source, const void* weights, const void* bias, void* result);

}  // namespace onednn

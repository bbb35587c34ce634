#include "kernel.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <algorithm>

namespace custom {
namespace {

at::Tensor addRelu(const at::Tensor& x, const at::Tensor& y) {
  TORCH_CHECK(x.sizes() == y.sizes() && x.scalar_type() == at::kFloat && y.scalar_type() == at::kFloat,
              "custom::add_relu: expected two float32 tensors of one shape, found ", x.sizes(), " and ",
              y.sizes());
  const at::Tensor left = x.contiguous(), right = y.contiguous();
  at::Tensor result = at::empty_like(left);
  const float* a = left.data_ptr<float>();
  const float* b = right.data_ptr<float>();
  float* out = result.data_ptr<float>();
  for (int64_t i = 0; i < left.numel(); ++i) out[i] = std::max(a[i] + b[i], 0.0f);
  return result;
}

}  // namespace

void registerKernels() {
  static torch::Library* library = [] {
    auto* made = new torch::Library(torch::Library::DEF, "custom", c10::nullopt, __FILE__, __LINE__);
    made->def("add_relu(Tensor x, Tensor y) -> Tensor", TORCH_FN(addRelu));
    return made;
  }();
  static_cast<void>(library);
}

}  // namespace custom

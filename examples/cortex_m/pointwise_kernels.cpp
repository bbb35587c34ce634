#include "kernel_arguments.h"
#include "kernels.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

// The operators of the library that take one element of each operand to one of the result.
namespace cortex_m {
namespace {

using at::IntArrayRef;
using at::Tensor;

// A tensor whose elements can be walked in the order of memory.
Tensor dense(const Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kChar, "q8: expected int8, found ", x.scalar_type());
  return x.is_non_overlapping_and_dense() ? x : x.contiguous();
}

template <typename Element>
Tensor elementwise(const Tensor& x, Element&& element) {
  const Tensor from = dense(x);
  Tensor result = at::empty_like(from);
  const int8_t* in = from.data_ptr<int8_t>();
  int8_t* out = result.data_ptr<int8_t>();
  for (int64_t i = 0; i < from.numel(); ++i) out[i] = element(in[i]);
  return result;
}

// The result lies in memory as `a` does.
template <typename Element>
Tensor elementwise(const Tensor& a, const Tensor& b, Element&& element) {
  TORCH_CHECK(a.sizes() == b.sizes(), "q8: expected operands of one shape, found ", a.sizes(), " and ",
              b.sizes());
  const Tensor left = dense(a);
  Tensor right = dense(b);
  if (right.strides() != left.strides()) right = at::empty_like(left).copy_(b);
  const int8_t* other = right.data_ptr<int8_t>();
  return elementwise(left, [&](int8_t value) { return element(value, *other++); });
}

Tensor add(const Tensor& a, const Tensor& b, int64_t aZero, IntArrayRef aFactor, int64_t bZero,
           IntArrayRef bFactor, IntArrayRef yFactor, int64_t yZero, int64_t yMin, int64_t yMax) {
  const Factor left = factorFrom(aFactor), right = factorFrom(bFactor), both = factorFrom(yFactor);
  const Output output = outputFrom(yZero, yMin, yMax);
  const int32_t leftZero = narrow(aZero), rightZero = narrow(bZero);
  return elementwise(a, b, [&](int8_t p, int8_t q) {
    const int32_t sum = requantize((p - leftZero) * (1 << kAddBits), left) +
                        requantize((q - rightZero) * (1 << kAddBits), right);
    return output(requantize(sum, both));
  });
}

Tensor mul(const Tensor& a, const Tensor& b, int64_t aZero, int64_t bZero, IntArrayRef yFactor, int64_t yZero,
           int64_t yMin, int64_t yMax) {
  const Factor factor = factorFrom(yFactor);
  const Output output = outputFrom(yZero, yMin, yMax);
  const int32_t leftZero = narrow(aZero), rightZero = narrow(bZero);
  return elementwise(
      a, b, [&](int8_t p, int8_t q) { return output(requantize((p - leftZero) * (q - rightZero), factor)); });
}

Tensor requantized(const Tensor& x, int64_t xZero, IntArrayRef yFactor, int64_t yZero, int64_t yMin,
                   int64_t yMax) {
  const Factor factor = factorFrom(yFactor);
  const Output output = outputFrom(yZero, yMin, yMax);
  const int32_t zero = narrow(xZero);
  return elementwise(x, [&](int8_t value) { return output(requantize(value - zero, factor)); });
}

}  // namespace

TORCH_LIBRARY_IMPL(q8, CPU, library) {
  library.impl("add", TORCH_FN(add));
  library.impl("mul", TORCH_FN(mul));
  library.impl("requantize", TORCH_FN(requantized));
}

}  // namespace cortex_m

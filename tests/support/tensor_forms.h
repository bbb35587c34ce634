#pragma once

#include <edgefx/ir/argument.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <utility>

// What kind of tensor random programs have before them.
namespace edgefx::test::forms {

inline bool isBool(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBool;
}
inline bool isNumber(const at::Tensor& tensor) {
  return !isBool(tensor);
}
inline bool isFloat(const at::Tensor& tensor) {
  return tensor.is_floating_point();
}
inline bool isFull(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}
inline bool isWhole(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kLong;
}

inline bool broadcasts(const at::Tensor& a, const at::Tensor& b) {
  const int64_t dims = std::min(a.dim(), b.dim());
  for (int64_t i = 1; i <= dims; ++i) {
    if (a.size(-i) != b.size(-i) && a.size(-i) != 1 && b.size(-i) != 1) return false;
  }
  return true;
}

inline Arg sizesArg(at::IntArrayRef sizes) {
  Args items;
  for (int64_t size : sizes) items.emplace_back(size);
  return Arg::list(std::move(items));
}

}  // namespace edgefx::test::forms

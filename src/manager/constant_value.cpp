#include <edgefx/manager/constant_value.h>

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace edgefx {
namespace {

bool equalTensors(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_same(b)) return true;
  if (!a.defined() || !b.defined()) return false;
  if (a.scalar_type() != b.scalar_type() || a.layout() != b.layout() || a.device() != b.device())
    return false;
  if (a.sizes() != b.sizes()) return false;
  if (!a.is_floating_point() && !a.is_complex()) return a.equal(b);
  return a.eq(b).logical_or(a.ne(a).logical_and(b.ne(b))).all().item<bool>();
}

bool equalItems(const ConstantValue::List& a, const ConstantValue::List& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

ConstantValue::ConstantValue(const at::Tensor& tensor) : data_(std::make_shared<const at::Tensor>(tensor)) {}

bool operator==(const ConstantValue& a, const ConstantValue& b) {
  if (a.data_.index() != b.data_.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const auto& right = std::get<T>(b.data_);
        if constexpr (std::is_same_v<T, ConstantValue::TensorHandle>) {
          return equalTensors(*left, *right);
        } else if constexpr (std::is_same_v<T, ConstantValue::List>) {
          return equalItems(left, right);
        } else if constexpr (std::is_same_v<T, ConstantValue::Tuple>) {
          return equalItems(left.items, right.items);
        } else if constexpr (std::is_same_v<T, double>) {
          return left == right || (std::isnan(left) && std::isnan(right));
        } else {
          return left == right;
        }
      },
      a.data_);
}

}  // namespace edgefx

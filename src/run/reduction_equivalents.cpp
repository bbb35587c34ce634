#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <array>

namespace edgefx::detail {
namespace {

// Which of both reductions, over several dimensions.
template <bool isAll>
at::Tensor reduceLogical(const at::Tensor& self, const c10::optional<Ints>& dims, bool keepsDims) {
  if (!dims) {
    const at::Tensor result = isAll ? self.all() : self.any();
    return keepsDims ? result.expand(Ints(static_cast<size_t>(self.dim()), 1)) : result;
  }
  // No dimension: the truth of each element, in the type that the reductions have.
  if (dims->empty()) {
    const at::Tensor isTrue = self.ne(0);
    return self.scalar_type() == at::ScalarType::Byte ? isTrue.to(at::ScalarType::Byte) : isTrue;
  }
  Ints ordered;
  for (const int64_t dim : *dims) ordered.push_back(c10::maybe_wrap_dim(dim, self.dim()));
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  if (const auto twice = std::adjacent_find(ordered.begin(), ordered.end()); twice != ordered.end())
    fail<UsageError>("dim {} appears multiple times in the list of dims", *twice);
  at::Tensor result = self;
  for (const int64_t dim : ordered) result = isAll ? result.all(dim, keepsDims) : result.any(dim, keepsDims);
  return result;
}

// The number of elements that go into one result.
double reducedCount(const at::Tensor& self, const Ints& dims) {
  if (dims.empty()) return static_cast<double>(self.numel());
  double count = 1;
  for (const int64_t dim : dims) count *= self.dim() == 0 ? 1.0 : static_cast<double>(self.size(dim));
  return count;
}

at::Tensor varianceOf(const at::Tensor& self, const c10::optional<Ints>& dims,
                      const c10::optional<at::Scalar>& correction, bool keepsDims) {
  const double reduction = correction ? correction->toDouble() : 1.0;
  const Ints over = dims.value_or(Ints());
  const auto plain = [&](bool isUnbiased) {
    return self.var(at::OptionalIntArrayRef(at::IntArrayRef(over)), isUnbiased, keepsDims);
  };
  if (reduction == 0 || reduction == 1) return plain(reduction == 1);
  const double count = reducedCount(self, over);
  // A tensor for divisor, so that 0 gives inf or nan and no error.
  const at::Tensor result = plain(false);
  return result.mul(count).div(at::scalar_tensor(std::max(0.0, count - reduction), result.options()));
}

at::Tensor deviationOf(const at::Tensor& self, const c10::optional<Ints>& dims,
                       const c10::optional<at::Scalar>& correction, bool keepsDims) {
  return varianceOf(self, dims, correction, keepsDims).sqrt();
}

at::Tensor meanOf(const at::Tensor& self, const c10::optional<Ints>& dims, bool keepsDims) {
  const Ints over = dims.value_or(Ints());
  return self.mean(at::OptionalIntArrayRef(at::IntArrayRef(over)), keepsDims);
}

std::tuple<at::Tensor, at::Tensor> varianceAndMean(const at::Tensor& self, const c10::optional<Ints>& dims,
                                                   const c10::optional<at::Scalar>& correction,
                                                   bool keepsDims) {
  return {varianceOf(self, dims, correction, keepsDims), meanOf(self, dims, keepsDims)};
}

std::tuple<at::Tensor, at::Tensor> deviationAndMean(const at::Tensor& self, const c10::optional<Ints>& dims,
                                                    const c10::optional<at::Scalar>& correction,
                                                    bool keepsDims) {
  return {deviationOf(self, dims, correction, keepsDims), meanOf(self, dims, keepsDims)};
}

}  // namespace

std::span<const EquivalentEntry> reductionEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten.all.dims", onStack<&reduceLogical<true>>},
      EquivalentEntry{"aten.any.dims", onStack<&reduceLogical<false>>},
      EquivalentEntry{"aten.std.correction", onStack<&deviationOf>, true},
      EquivalentEntry{"aten.std_mean.correction", onStack<&deviationAndMean>, true},
      EquivalentEntry{"aten.var.correction", onStack<&varianceOf>, true},
      EquivalentEntry{"aten.var_mean.correction", onStack<&varianceAndMean>, true},
  };
  return kEntries;
}

}  // namespace edgefx::detail

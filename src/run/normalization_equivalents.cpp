#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/OpMathType.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>

#include <array>
#include <limits>
#include <stdexcept>

namespace edgefx::detail {
namespace {

using BatchNormResult = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

BatchNormResult batchNormLegit(const at::Tensor& input, const OptionalTensor& weight,
                               const OptionalTensor& bias, const at::Tensor& mean, const at::Tensor& variance,
                               bool isTraining, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, mean, variance, isTraining, momentum, eps);
}

BatchNormResult batchNormNoStats(const at::Tensor& input, const OptionalTensor& weight,
                                 const OptionalTensor& bias, bool isTraining, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, c10::nullopt, c10::nullopt, isTraining, momentum, eps);
}

BatchNormResult batchNormNoTraining(const at::Tensor& input, const OptionalTensor& weight,
                                    const OptionalTensor& bias, const at::Tensor& mean,
                                    const at::Tensor& variance, double momentum, double eps) {
  return at::native_batch_norm(input, weight, bias, mean, variance, false, momentum, eps);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> batchNormFunctional(
    const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
    const at::Tensor& variance, bool isTraining, double momentum, double eps) {
  at::Tensor newMean = mean.clone(), newVariance = variance.clone();
  auto [result, savedMean, savedInverse] =
      at::native_batch_norm(input, weight, bias, newMean, newVariance, isTraining, momentum, eps);
  return {result, savedMean, savedInverse, newMean, newVariance};
}

// What kernels other than the CPU's keep for the backward pass.
at::Tensor noReserve(const at::Tensor& input) {
  return at::empty({0}, input.options().dtype(at::ScalarType::Byte));
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batchNormWithUpdate(
    const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias, const at::Tensor& mean,
    const at::Tensor& variance, double momentum, double eps) {
  auto [result, savedMean, savedInverse] =
      at::native_batch_norm(input, weight, bias, mean, variance, true, momentum, eps);
  return {result, savedMean, savedInverse, noReserve(input)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> batchNormNoUpdate(
    const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
    const OptionalTensor& mean, const OptionalTensor& variance, double momentum, double eps) {
  const bool isTraining = !mean || !variance;
  auto [result, savedMean, savedInverse] =
      at::native_batch_norm(input, weight, bias, mean, variance, isTraining, momentum, eps);
  return {result, savedMean, savedInverse, noReserve(input)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>
batchNormWithUpdateFunctional(const at::Tensor& input, const OptionalTensor& weight,
                              const OptionalTensor& bias, const at::Tensor& mean, const at::Tensor& variance,
                              double momentum, double eps) {
  auto [result, savedMean, savedInverse, newMean, newVariance] =
      batchNormFunctional(input, weight, bias, mean, variance, true, momentum, eps);
  return {result, savedMean, savedInverse, noReserve(input), newMean, newVariance};
}

double machineEpsilon(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::Half:
      return std::numeric_limits<c10::Half>::epsilon();
    case at::ScalarType::BFloat16:
      return std::numeric_limits<c10::BFloat16>::epsilon();
    case at::ScalarType::Double:
    case at::ScalarType::ComplexDouble:
      return std::numeric_limits<double>::epsilon();
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

// The result, and the reciprocal of the root of the mean of the squares.
std::tuple<at::Tensor, at::Tensor> fusedRmsNorm(const at::Tensor& input, const Ints& shape,
                                                const OptionalTensor& weight,
                                                const c10::optional<double>& eps) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank < 1) throw std::runtime_error("Expected normalized_shape to be at least 1-dimensional");
  if (input.dim() < rank || !input.sizes().slice(static_cast<size_t>(input.dim() - rank)).equals(shape)) {
    throw std::runtime_error(
        fmt::format("expected an input whose last {} sizes are those of normalized_shape", rank));
  }
  if (weight && !weight->sizes().equals(shape))
    throw std::runtime_error("Expected weight to be of same shape as normalized_shape");
  Ints dims;
  for (int64_t i = 1; i <= rank; ++i) dims.push_back(-i);
  const at::Tensor wide = input.to(at::toOpMathType(input.scalar_type()));
  const double epsilon = eps.value_or(machineEpsilon(input.scalar_type()));
  const at::Tensor inverse = wide.pow(2).mean(dims, true).add(epsilon).rsqrt();
  at::Tensor result = wide.mul(inverse);
  if (weight) result = result.mul(*weight);
  return {result.to(input.scalar_type()), inverse};
}

at::Tensor rmsNorm(const at::Tensor& input, const Ints& shape, const OptionalTensor& weight,
                   const c10::optional<double>& eps) {
  return std::get<0>(fusedRmsNorm(input, shape, weight, eps));
}

}  // namespace

std::span<const EquivalentEntry> normalizationEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten._batch_norm_no_update.default", onStack<&batchNormNoUpdate>},
      EquivalentEntry{"aten._batch_norm_with_update.default", onStack<&batchNormWithUpdate>},
      EquivalentEntry{"aten._batch_norm_with_update_functional.default",
                      onStack<&batchNormWithUpdateFunctional>},
      EquivalentEntry{"aten._fused_rms_norm.default", onStack<&fusedRmsNorm>},
      EquivalentEntry{"aten._native_batch_norm_legit.default", onStack<&batchNormLegit>},
      EquivalentEntry{"aten._native_batch_norm_legit.no_stats", onStack<&batchNormNoStats>},
      EquivalentEntry{"aten._native_batch_norm_legit_functional.default", onStack<&batchNormFunctional>},
      EquivalentEntry{"aten._native_batch_norm_legit_no_training.default", onStack<&batchNormNoTraining>},
      EquivalentEntry{"aten.rms_norm.default", onStack<&rmsNorm>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

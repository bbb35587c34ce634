#include "run/equivalent_table.h"
#include "run/on_stack.h"
#include "run/quantized_groups.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <limits>
#include <stdexcept>

// The operators that Python defines in torch/ao/quantization/fx/_decomposed.py and torchao, step by step as
// there: every rounding counts.
namespace edgefx::detail {
namespace {

struct QuantRange {
  int64_t min, max;
};

QuantRange rangeOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::ScalarType::Byte:
      return {0, 255};
    case at::ScalarType::Char:
      return {-128, 127};
    case at::ScalarType::Short:
      return {INT16_MIN, INT16_MAX};
    case at::ScalarType::Int:
      return {INT32_MIN, INT32_MAX};
    default:
      throw std::runtime_error(fmt::format("Unsupported dtype: {}", c10::toString(dtype)));
  }
}

void checkQuantRange(int64_t quantMin, int64_t quantMax, at::ScalarType dtype) {
  const QuantRange range = rangeOf(dtype);
  if (quantMin < range.min) {
    throw std::runtime_error(fmt::format(
        "quant_min out of bound for dtype, quant_min_lower_bound: {} quant_min: {}", range.min, quantMin));
  }
  if (quantMax > range.max) {
    throw std::runtime_error(fmt::format(
        "quant_max out of bound for dtype, quant_max_upper_bound: {} quant_max: {}", range.max, quantMax));
  }
}

// Halves as float; all but float is refused.
at::Tensor floatInput(const at::Tensor& input) {
  const at::ScalarType type = input.scalar_type();
  if (type == at::ScalarType::Half || type == at::ScalarType::BFloat16)
    return input.to(at::ScalarType::Float);
  if (type != at::ScalarType::Float) {
    throw std::runtime_error(
        fmt::format("Expecting input to have dtype torch.float32, but got dtype: {}", c10::toString(type)));
  }
  return input;
}

void checkInputDtype(const at::Tensor& input, at::ScalarType dtype) {
  if (input.scalar_type() == dtype) return;
  throw std::runtime_error(fmt::format("Expecting input to have dtype: {}, but got {}", c10::toString(dtype),
                                       c10::toString(input.scalar_type())));
}

void checkOneElement(const at::Tensor& parameter, std::string_view name) {
  if (parameter.numel() == 1) return;
  throw std::runtime_error(
      fmt::format("Expecting {} tensor to be one element, but received : {}", name, parameter.numel()));
}

at::Tensor quantizePerTensor(const at::Tensor& input, double scale, int64_t zeroPoint, int64_t quantMin,
                             int64_t quantMax, at::ScalarType dtype) {
  const at::Tensor wide = floatInput(input);
  checkQuantRange(quantMin, quantMax, dtype);
  at::Tensor scaled = wide.mul(1.0 / scale);
  return scaled.round_().add_(zeroPoint).clamp_(quantMin, quantMax).to(dtype);
}

at::Tensor quantizePerTensorTensor(const at::Tensor& input, const at::Tensor& scale,
                                   const at::Tensor& zeroPoint, int64_t quantMin, int64_t quantMax,
                                   at::ScalarType dtype) {
  checkOneElement(zeroPoint, "zero_point");
  checkOneElement(scale, "scale");
  return quantizePerTensor(input, scale.item().toDouble(), zeroPoint.item().toLong(), quantMin, quantMax,
                           dtype);
}

at::Tensor quantizePerTensorTensor2(const at::Tensor& input, const at::Tensor& scale,
                                    const at::Tensor& zeroPoint, const at::Tensor& quantMin,
                                    const at::Tensor& quantMax, at::ScalarType dtype) {
  return quantizePerTensorTensor(input, scale, zeroPoint, quantMin.item().toLong(), quantMax.item().toLong(),
                                 dtype);
}

at::Tensor dequantizePerTensor(const at::Tensor& input, double scale, int64_t zeroPoint, int64_t, int64_t,
                               at::ScalarType dtype, const c10::optional<at::ScalarType>& outDtype) {
  checkInputDtype(input, dtype);
  rangeOf(dtype);  // refuses what is no quantized dtype
  at::Tensor shifted = input.to(outDtype.value_or(at::ScalarType::Float)).sub(zeroPoint);
  return shifted.is_floating_point() ? shifted.mul_(scale) : shifted.mul(scale);
}

at::Tensor dequantizePerTensorTensor(const at::Tensor& input, const at::Tensor& scale,
                                     const at::Tensor& zeroPoint, int64_t quantMin, int64_t quantMax,
                                     at::ScalarType dtype, const c10::optional<at::ScalarType>& outDtype) {
  checkOneElement(zeroPoint, "zero_point");
  checkOneElement(scale, "scale");
  return dequantizePerTensor(input, scale.item().toDouble(), zeroPoint.item().toLong(), quantMin, quantMax,
                             dtype, outDtype);
}

at::Tensor dequantizePerTensorTensor2(const at::Tensor& input, const at::Tensor& scale,
                                      const at::Tensor& zeroPoint, const at::Tensor& quantMin,
                                      const at::Tensor& quantMax, at::ScalarType dtype,
                                      const c10::optional<at::ScalarType>& outDtype) {
  return dequantizePerTensorTensor(input, scale, zeroPoint, quantMin.item().toLong(),
                                   quantMax.item().toLong(), dtype, outDtype);
}

// As schema without out_dtype, of a kernel library.
at::Tensor dequantizePerTensorToFloat(const at::Tensor& input, double scale, int64_t zeroPoint,
                                      int64_t quantMin, int64_t quantMax, at::ScalarType dtype) {
  return dequantizePerTensor(input, scale, zeroPoint, quantMin, quantMax, dtype, c10::nullopt);
}

// Dimension `axis` in the place of dimension 0, and the other way round.
at::Tensor swapAxis(const at::Tensor& input, int64_t axis) {
  if (axis < 0 || axis >= input.dim())
    throw std::runtime_error(fmt::format("Expecting axis to be < {}", input.dim()));
  return input.transpose(0, axis);
}

at::Tensor alongFirst(const at::Tensor& parameter, int64_t rank) {
  Ints shape(static_cast<size_t>(rank), 1);
  if (!shape.empty()) shape[0] = parameter.size(0);
  return parameter.reshape(shape);
}

at::Tensor quantizePerChannel(const at::Tensor& input, const at::Tensor& scales, const at::Tensor& zeroPoints,
                              int64_t axis, int64_t quantMin, int64_t quantMax, at::ScalarType dtype) {
  const at::Tensor moved = swapAxis(floatInput(input), axis);
  checkQuantRange(quantMin, quantMax, dtype);
  const at::Tensor scaled = moved.mul(alongFirst(scales, input.dim()).reciprocal()).round();
  const at::Tensor shifted = scaled.add(alongFirst(zeroPoints, input.dim()));
  return shifted.clamp(quantMin, quantMax).transpose(0, axis).to(dtype);
}

at::Tensor dequantizePerChannel(const at::Tensor& input, const at::Tensor& scales,
                                const OptionalTensor& zeroPoints, int64_t axis, int64_t quantMin,
                                int64_t quantMax, at::ScalarType dtype,
                                const c10::optional<at::ScalarType>& outDtype) {
  checkInputDtype(input, dtype);
  checkQuantRange(quantMin, quantMax, dtype);
  at::Tensor moved = swapAxis(input, axis);
  if (zeroPoints) moved = moved.sub(alongFirst(*zeroPoints, input.dim()));
  const at::Tensor result =
      moved.mul(alongFirst(scales, input.dim())).to(outDtype.value_or(at::ScalarType::Float));
  return result.transpose(0, axis);
}

at::Tensor fakeQuantPerChannel(const at::Tensor& input, const at::Tensor& scales,
                               const at::Tensor& zeroPoints, int64_t axis, int64_t quantMin,
                               int64_t quantMax) {
  if (input.scalar_type() != at::ScalarType::Float) {
    throw std::runtime_error(fmt::format("Expecting input to have dtype torch.float32, but got dtype: {}",
                                         c10::toString(input.scalar_type())));
  }
  if (axis < 0 || axis >= input.dim())
    throw std::runtime_error(fmt::format("Expecting axis to be < {}", input.dim()));
  Ints shape(static_cast<size_t>(input.dim()), 1);
  shape[static_cast<size_t>(axis)] = -1;
  const at::Tensor scale = scales.to(at::ScalarType::Float).reshape(shape);
  const at::Tensor zero = zeroPoints.to(at::ScalarType::Int).reshape(shape);
  const at::Tensor quantized = input.div(scale).round().add(zero).clamp(quantMin, quantMax);
  return quantized.sub(zero).mul(scale);
}

using QuantParameters = std::tuple<at::Tensor, at::Tensor>;

// Scale and zero point of a whole tensor, as double and int64 tensors of one element.
QuantParameters chooseParameters(const at::Tensor& input, int64_t quantMin, int64_t quantMax, double eps,
                                 at::ScalarType dtype, bool isSymmetric) {
  const at::ScalarType type = input.scalar_type();
  if (type != at::ScalarType::Float && type != at::ScalarType::Half && type != at::ScalarType::BFloat16) {
    throw std::runtime_error(fmt::format(
        "Expecting input to have dtype torch.float32/16/b16, but got dtype: {}", c10::toString(type)));
  }
  rangeOf(dtype);
  if (quantMin > 0 || quantMax < 0)
    throw std::runtime_error("Used-specified quantization range must include 0.");
  if (quantMin >= quantMax)
    throw std::runtime_error("qmin must be strictly less than qmax for user-specified quantization range.");
  const auto [low, high] = at::aminmax(input);
  const auto options = input.options();
  const bool isUnset = low.item().toDouble() == std::numeric_limits<double>::infinity() &&
                       high.item().toDouble() == -std::numeric_limits<double>::infinity();
  if (isUnset) {
    return {at::full({1}, 1.0, options.dtype(at::ScalarType::Double)),
            at::zeros({1}, options.dtype(at::ScalarType::Long))};
  }
  if (!(low.item().toDouble() <= high.item().toDouble()))
    throw std::runtime_error(
        fmt::format("min {} should be less than max {}", low.item().toDouble(), high.item().toDouble()));
  const at::Tensor least = at::full({1}, eps, options.dtype(at::ScalarType::Float));
  const at::Tensor none = at::zeros({}, options);
  const at::Tensor negative = at::minimum(low, none);
  at::Tensor positive = at::maximum(high, none);
  const double steps = static_cast<double>(quantMax - quantMin);
  at::Tensor scale, zero;
  if (isSymmetric) {
    positive = at::maximum(negative.neg(), positive);
    scale = at::maximum(positive.div(steps / 2), least);
    zero = at::full({1}, dtype == at::ScalarType::Byte ? 128 : 0, options.dtype(at::ScalarType::Long));
  } else {
    scale = at::maximum(positive.sub(negative).div(steps), least);
    zero = negative.div(scale).round().to(at::ScalarType::Int).neg().add(quantMin).clamp(quantMin, quantMax);
  }
  return {scale.to(at::ScalarType::Double), zero.to(at::ScalarType::Long)};
}

QuantParameters chooseParametersAffine(const at::Tensor& input, int64_t quantMin, int64_t quantMax,
                                       double eps, at::ScalarType dtype) {
  return chooseParameters(input, quantMin, quantMax, eps, dtype, false);
}

QuantParameters chooseParametersSymmetric(const at::Tensor& input, int64_t quantMin, int64_t quantMax,
                                          double eps, at::ScalarType dtype) {
  return chooseParameters(input, quantMin, quantMax, eps, dtype, true);
}

// A token is what the last dimension holds.
QuantParameters chooseParametersPerToken(const at::Tensor& input, at::ScalarType dtype) {
  if (dtype != at::ScalarType::Char) {
    throw std::runtime_error(
        fmt::format("unsupported dtype in choose_qparams_per_token: {}", c10::toString(dtype)));
  }
  at::Tensor scales = input.abs().amax({-1}, true);
  if (scales.scalar_type() == at::ScalarType::Half) scales = scales.to(at::ScalarType::Float);
  scales = scales.clamp_min(1e-5).div(127);
  return {scales, at::zeros(scales.sizes(), scales.options())};
}

QuantParameters chooseParametersPerTokenAsymmetric(const at::Tensor& input, at::ScalarType) {
  constexpr int64_t kMin = -128, kMax = 127;
  const at::Tensor none = at::zeros({}, input.options());
  const at::Tensor negative = at::minimum(input.amin({-1}, true), none);
  const at::Tensor positive = at::maximum(input.amax({-1}, true), none);
  const at::Tensor scale = positive.sub(negative)
                               .div(static_cast<double>(kMax - kMin))
                               .clamp_min(static_cast<double>(std::numeric_limits<float>::epsilon()));
  const at::Tensor low = negative.div(scale), high = positive.div(scale);
  const at::Tensor isLower = low.add(kMin).add(high.add(kMax)).gt(0);
  const at::Tensor zero = at::where(isLower, low.neg().add(kMin), high.neg().add(kMax));
  return {scale.to(at::ScalarType::Double), zero.clamp(kMin, kMax).round().to(at::ScalarType::Long)};
}

at::Tensor quantizePerToken(const at::Tensor& input, const at::Tensor& scales, const at::Tensor& zeroPoints,
                            int64_t quantMin, int64_t quantMax, at::ScalarType dtype) {
  checkQuantRange(quantMin, quantMax, dtype);
  int64_t tokens = 1;
  for (int64_t i = 0; i + 1 < input.dim(); ++i) tokens *= input.size(i);
  if (tokens != scales.numel() || tokens != zeroPoints.numel()) {
    throw std::runtime_error(
        fmt::format("num_tokens: {} scales: {} zero_points: {}", tokens, scales.numel(), zeroPoints.numel()));
  }
  return input.mul(scales.reciprocal()).add(zeroPoints).round().clamp(quantMin, quantMax).to(dtype);
}

at::Tensor dequantizePerToken(const at::Tensor& input, const at::Tensor& scales, const at::Tensor& zeroPoints,
                              int64_t, int64_t, at::ScalarType, at::ScalarType outDtype) {
  return input.sub(zeroPoints).mul(scales).to(outDtype);
}

at::Tensor quantizePerChannelGroup(const at::Tensor& input, const at::Tensor& scales,
                                   const at::Tensor& zeroPoints, int64_t quantMin, int64_t quantMax,
                                   at::ScalarType dtype, int64_t groupSize) {
  const at::Tensor groups = quantizedGroups(input, scales, groupSize);
  if (groups.isnan().any().item().toBool()) throw std::runtime_error("the tensor to quantize holds nan");
  const at::Tensor scaled = groups.mul(scales.reshape({-1, 1}).reciprocal());
  const at::Tensor rounded = scaled.add(zeroPoints.reshape({-1, 1})).round();
  return rounded.clamp(quantMin, quantMax).to(dtype).reshape_as(input);
}

at::Tensor dequantizePerChannelGroup(const at::Tensor& input, const at::Tensor& scales,
                                     const OptionalTensor& zeroPoints, int64_t, int64_t, at::ScalarType,
                                     int64_t groupSize, at::ScalarType outDtype) {
  return dequantizedGroups(input, scales, zeroPoints, groupSize).to(outDtype);
}

at::Tensor convertWithoutFusing(const at::Tensor& input, at::ScalarType dtype) {
  return input.to(dtype);
}

}  // namespace

std::span<const EquivalentEntry> quantizationEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"cortex_m.dequantize_per_tensor.default", onStack<&dequantizePerTensorToFloat>},
      EquivalentEntry{"cortex_m.quantize_per_tensor.default", onStack<&quantizePerTensor>},
      EquivalentEntry{"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
                      onStack<&chooseParametersPerTokenAsymmetric>},
      EquivalentEntry{"quantized_decomposed.choose_qparams.tensor", onStack<&chooseParametersAffine>},
      EquivalentEntry{"quantized_decomposed.choose_qparams_per_token.default",
                      onStack<&chooseParametersPerToken>},
      EquivalentEntry{"quantized_decomposed.choose_qparams_per_token_asymmetric.default",
                      onStack<&chooseParametersPerTokenAsymmetric>},
      EquivalentEntry{"quantized_decomposed.choose_qparams_symmetric.tensor",
                      onStack<&chooseParametersSymmetric>},
      EquivalentEntry{"quantized_decomposed.convert_element_type.no_fuse", onStack<&convertWithoutFusing>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_channel.default", onStack<&dequantizePerChannel>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_channel_group.default",
                      onStack<&dequantizePerChannelGroup>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_tensor.default", onStack<&dequantizePerTensor>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_tensor.tensor",
                      onStack<&dequantizePerTensorTensor>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_tensor.tensor2",
                      onStack<&dequantizePerTensorTensor2>},
      EquivalentEntry{"quantized_decomposed.dequantize_per_token.default", onStack<&dequantizePerToken>},
      EquivalentEntry{"quantized_decomposed.fake_quant_per_channel.default", onStack<&fakeQuantPerChannel>},
      EquivalentEntry{"quantized_decomposed.quantize_per_channel.default", onStack<&quantizePerChannel>},
      EquivalentEntry{"quantized_decomposed.quantize_per_channel_group.default",
                      onStack<&quantizePerChannelGroup>},
      EquivalentEntry{"quantized_decomposed.quantize_per_tensor.default", onStack<&quantizePerTensor>},
      EquivalentEntry{"quantized_decomposed.quantize_per_tensor.tensor", onStack<&quantizePerTensorTensor>},
      EquivalentEntry{"quantized_decomposed.quantize_per_tensor.tensor2", onStack<&quantizePerTensorTensor2>},
      EquivalentEntry{"quantized_decomposed.quantize_per_token.default", onStack<&quantizePerToken>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

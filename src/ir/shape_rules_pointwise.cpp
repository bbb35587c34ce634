#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

// The tensors among some operands, and the type that all operands promote to.
struct Operands {
  std::vector<const TensorMeta*> tensors;
  DtypePromotion promotion;

  void add(const Argument& operand) {
    promotion.add(operand);
    const Node* const node = operand.findNode();
    if (node != nullptr && !node->value()->isSymbolicNumber())
      tensors.push_back(ShapeCall::tensorOf(operand));
  }
};

TensorMeta elementwiseResult(const ShapeCall& call, TensorMetas tensors, Dtype dtype) {
  if (tensors.empty()) throw ShapeUnknown();
  TensorMeta made;
  made.dtype = dtype;
  const auto hasDims = [](const TensorMeta* tensor) { return !tensor->sizes.empty(); };
  const auto leader = std::ranges::find_if(tensors, hasDims);
  made.device = (leader == tensors.end() ? tensors.front() : *leader)->device;
  made.sizes = broadcast(call, tensors);
  made.strides = elementwiseStrides(made.sizes, tensors);
  return made;
}

Operands leadingOperands(const ShapeCall& call, size_t count) {
  static constexpr std::string_view kKeys[] = {"self", "other", "third"};
  Operands operands;
  for (size_t i = 0; i < count; ++i) operands.add(call.at(i, kKeys[i]));
  return operands;
}

template <size_t kCount>
ValueRef promotedShape(const ShapeCall& call) {
  const Operands operands = leadingOperands(call, kCount);
  return valueOf(elementwiseResult(call, operands.tensors, operands.promotion.result()));
}

template <size_t kCount>
ValueRef floatingShape(const ShapeCall& call) {
  const Operands operands = leadingOperands(call, kCount);
  return valueOf(elementwiseResult(call, operands.tensors, floatingOf(operands.promotion.result())));
}

template <size_t kCount>
ValueRef conditionShape(const ShapeCall& call) {
  const Operands operands = leadingOperands(call, kCount);
  static_cast<void>(operands.promotion.result());
  return valueOf(elementwiseResult(call, operands.tensors, Dtype::Bool));
}

// One tensor; further arguments are parameters.
ValueRef sameShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta* const inputs[] = {&self};
  return valueOf(elementwiseResult(call, inputs, self.dtype));
}

ValueRef absShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta* const inputs[] = {&self};
  return valueOf(elementwiseResult(call, inputs, realOf(self.dtype)));
}

ValueRef divShape(const ShapeCall& call) {
  const Operands operands = leadingOperands(call, 2);
  const Dtype dtype = operands.promotion.result();
  const bool isRounded = call.find(kKeywordOnly, "rounding_mode") != nullptr;
  return valueOf(elementwiseResult(call, operands.tensors, isRounded ? dtype : floatingOf(dtype)));
}

// clamp.Tensor and clamp: bounds take part in the promotion.
ValueRef clampShape(const ShapeCall& call) {
  Operands operands;
  operands.add(call.at(0, "self"));
  if (const Argument* const least = call.find(1, "min")) operands.add(*least);
  if (const Argument* const most = call.find(2, "max")) operands.add(*most);
  return valueOf(elementwiseResult(call, operands.tensors, operands.promotion.result()));
}

ValueRef whereShape(const ShapeCall& call) {
  if (call.overload() == "default") throw ShapeUnknown();  // the indices of what is not zero
  Operands operands;
  operands.add(call.at(1, "self"));
  operands.add(call.at(2, "other"));
  std::vector<const TensorMeta*> inputs = {&call.tensor(0, "condition")};
  inputs.insert(inputs.end(), operands.tensors.begin(), operands.tensors.end());
  return valueOf(elementwiseResult(call, inputs, operands.promotion.result()));
}

ValueRef maskedFillShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta* const inputs[] = {&self, &call.tensor(1, "mask")};
  return valueOf(contiguousLike(self, self.dtype, broadcast(call, inputs)));
}

// addcmul and addcdiv; of lerp, whose weight may be a number, all have one type.
ValueRef weightedShape(const ShapeCall& call) {
  Operands operands;
  operands.add(call.at(0, "self"));
  operands.add(call.at(1, "tensor1"));
  operands.add(call.at(2, "tensor2"));
  return valueOf(elementwiseResult(call, operands.tensors, operands.promotion.result()));
}

// A number to the power of a tensor is laid out anew.
ValueRef powShape(const ShapeCall& call) {
  if (call.overload() != "Scalar") return promotedShape<2>(call);
  const Operands operands = leadingOperands(call, 2);
  if (operands.tensors.empty()) throw ShapeUnknown();
  const TensorMeta& exponent = *operands.tensors.front();
  return valueOf(contiguousLike(exponent, operands.promotion.result(), exponent.sizes));
}

ValueRef dropoutShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  if (call.boolean(2, "train", true)) {
    const TensorMeta* const inputs[] = {&input};
    return valueOf(elementwiseResult(call, inputs, input.dtype));
  }
  TensorMeta same = input;
  same.requiresGrad = false;
  return valueOf(std::move(same));
}

ValueRef nativeDropoutShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  const TensorMeta* const inputs[] = {&input};
  return valuesOf(
      {elementwiseResult(call, inputs, input.dtype), elementwiseResult(call, inputs, Dtype::Bool)});
}

// quantized_decomposed: the result has the input's strides.
ValueRef quantizeShape(const ShapeCall& call) {
  const bool isPerChannel = call.op() == "quantize_per_channel";
  const std::optional<Dtype> dtype = call.dtype(isPerChannel ? 6 : 5, "dtype");
  if (!dtype) throw ShapeUnknown();
  return valueOf(copied(call, call.tensor(0, "input"), *dtype, MemoryFormat::Preserve));
}

ValueRef dequantizeShape(const ShapeCall& call) {
  const Dtype dtype = call.dtype(kKeywordOnly, "out_dtype").value_or(Dtype::Float32);
  return valueOf(copied(call, call.tensor(0, "input"), dtype, MemoryFormat::Preserve));
}

constexpr NamedShapeRule kPointwiseRules[] = {
    {"aten.add", promotedShape<2>},
    {"aten.sub", promotedShape<2>},
    {"aten.rsub", promotedShape<2>},
    {"aten.mul", promotedShape<2>},
    {"aten.pow", powShape},
    {"aten.remainder", promotedShape<2>},
    {"aten.fmod", promotedShape<2>},
    {"aten.floor_divide", promotedShape<2>},
    {"aten.maximum", promotedShape<2>},
    {"aten.minimum", promotedShape<2>},
    {"aten.fmax", promotedShape<2>},
    {"aten.fmin", promotedShape<2>},
    {"aten.bitwise_and", promotedShape<2>},
    {"aten.bitwise_or", promotedShape<2>},
    {"aten.bitwise_xor", promotedShape<2>},
    {"aten.bitwise_left_shift", promotedShape<2>},
    {"aten.bitwise_right_shift", promotedShape<2>},
    {"aten.__and__", promotedShape<2>},
    {"aten.__or__", promotedShape<2>},
    {"aten.__xor__", promotedShape<2>},
    {"aten.atan2", floatingShape<2>},
    {"aten.div", divShape},
    {"aten.true_divide", floatingShape<2>},
    {"aten.clamp", clampShape},
    {"aten.clamp_min", promotedShape<2>},
    {"aten.clamp_max", promotedShape<2>},
    {"aten.where", whereShape},
    {"aten.masked_fill", maskedFillShape},
    {"aten.addcmul", weightedShape},
    {"aten.addcdiv", weightedShape},
    {"aten.lerp", weightedShape},

    {"aten.eq", conditionShape<2>},
    {"aten.ne", conditionShape<2>},
    {"aten.lt", conditionShape<2>},
    {"aten.le", conditionShape<2>},
    {"aten.gt", conditionShape<2>},
    {"aten.ge", conditionShape<2>},
    {"aten.logical_and", conditionShape<2>},
    {"aten.logical_or", conditionShape<2>},
    {"aten.logical_xor", conditionShape<2>},
    {"aten.logical_not", conditionShape<1>},
    {"aten.isnan", conditionShape<1>},
    {"aten.isinf", conditionShape<1>},
    {"aten.isfinite", conditionShape<1>},
    {"aten.signbit", conditionShape<1>},

    {"aten.abs", absShape},
    {"aten.bitwise_not", sameShape},
    {"aten.ceil", sameShape},
    {"aten.celu", sameShape},
    {"aten.elu", sameShape},
    {"aten.fill", sameShape},
    {"aten.floor", sameShape},
    {"aten.frac", sameShape},
    {"aten.gelu", sameShape},
    {"aten.hardsigmoid", sameShape},
    {"aten.hardswish", sameShape},
    {"aten.hardtanh", sameShape},
    {"aten.leaky_relu", sameShape},
    {"aten.mish", sameShape},
    {"aten.nan_to_num", sameShape},
    {"aten.neg", sameShape},
    {"aten.relu", sameShape},
    {"aten.relu6", sameShape},
    {"aten.round", sameShape},
    {"aten.selu", sameShape},
    {"aten.sgn", sameShape},
    {"aten.sign", sameShape},
    {"aten.silu", sameShape},
    {"aten.softplus", sameShape},
    {"aten.square", sameShape},
    {"aten.threshold", sameShape},
    {"aten.trunc", sameShape},
    {"aten.dropout", dropoutShape},
    {"aten.native_dropout", nativeDropoutShape},

    {"aten.acos", floatingShape<1>},
    {"aten.acosh", floatingShape<1>},
    {"aten.asin", floatingShape<1>},
    {"aten.asinh", floatingShape<1>},
    {"aten.atan", floatingShape<1>},
    {"aten.atanh", floatingShape<1>},
    {"aten.cos", floatingShape<1>},
    {"aten.cosh", floatingShape<1>},
    {"aten.erf", floatingShape<1>},
    {"aten.erfc", floatingShape<1>},
    {"aten.erfinv", floatingShape<1>},
    {"aten.exp", floatingShape<1>},
    {"aten.exp2", floatingShape<1>},
    {"aten.expm1", floatingShape<1>},
    {"aten.log", floatingShape<1>},
    {"aten.log10", floatingShape<1>},
    {"aten.log1p", floatingShape<1>},
    {"aten.log2", floatingShape<1>},
    {"aten.logit", floatingShape<1>},
    {"aten.reciprocal", floatingShape<1>},
    {"aten.rsqrt", floatingShape<1>},
    {"aten.sigmoid", floatingShape<1>},
    {"aten.sin", floatingShape<1>},
    {"aten.sinh", floatingShape<1>},
    {"aten.sqrt", floatingShape<1>},
    {"aten.tan", floatingShape<1>},
    {"aten.tanh", floatingShape<1>},

    {"quantized_decomposed.quantize_per_tensor", quantizeShape},
    {"quantized_decomposed.quantize_per_channel", quantizeShape},
    {"quantized_decomposed.dequantize_per_tensor", dequantizeShape},
    {"quantized_decomposed.dequantize_per_channel", dequantizeShape},
    {"cortex_m.quantize_per_tensor", quantizeShape},
    {"cortex_m.dequantize_per_tensor", dequantizeShape},
};

}  // namespace

std::span<const NamedShapeRule> pointwiseShapeRules() {
  return kPointwiseRules;
}

}  // namespace edgefx::detail

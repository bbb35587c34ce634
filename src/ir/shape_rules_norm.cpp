#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

namespace edgefx::detail {
namespace {

// Of whole tensors in lower precision, means and such are kept in float32.
Dtype statisticsDtype(Dtype dtype) {
  return dtype == Dtype::Float16 || dtype == Dtype::BFloat16 ? Dtype::Float32 : dtype;
}

// Sizes with 1 for the normalized dimensions.
Dims normalizedSizes(const ShapeCall& call, const TensorMeta& input) {
  const Dims normalized = call.sizes(1, "normalized_shape");
  Dims sizes = input.sizes;
  bool fits = !normalized.empty() && normalized.size() <= sizes.size();
  for (size_t i = 0; fits && i < normalized.size(); ++i) {
    SymInt& size = sizes[sizes.size() - normalized.size() + i];
    fits = size.isSymbolic() || normalized[i].isSymbolic() || size.value() == normalized[i].value();
    size = SymInt(1);
  }
  if (!fits) {
    call.fail("expected an input whose last sizes are {}, found {}", dimsText(normalized),
              dimsText(input.sizes));
  }
  return sizes;
}

ValueRef layerNormShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  Dims statistics = normalizedSizes(call, input);
  TensorMeta output = contiguousLike(input, input.dtype, input.sizes);
  if (call.op() != "native_layer_norm") return valueOf(std::move(output));
  const TensorMeta each = contiguousLike(input, input.dtype, std::move(statistics));
  return valuesOf({std::move(output), each, each});
}

// Training, no_training and functional forms: the output, then mean and inverse deviation of each channel,
// which are empty where running ones are used.
ValueRef batchNormShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  if (input.sizes.size() < 2)
    call.fail("expected an input of 2 or more dimensions, found {}", dimsText(input.sizes));
  const TensorMeta* const weight = call.findTensor(1, "weight");
  const SymInt& channels = input.sizes[1];
  if (weight != nullptr &&
      (weight->sizes.size() != 1 || (!weight->sizes[0].isSymbolic() && !channels.isSymbolic() &&
                                     weight->sizes[0].value() != channels.value()))) {
    call.fail("expected a weight of size {}, found sizes {}", channels.text(), dimsText(weight->sizes));
  }
  TensorMeta output = formatted(call, input, input.dtype, input.sizes, suggestedFormat(input));
  const std::string_view op = call.op();
  if (op == "batch_norm") return valueOf(std::move(output));
  bool isTraining = false;
  if (op != "_native_batch_norm_legit_no_training") {
    isTraining = call.boolean(call.overload() == "no_stats" ? 3 : 5, "training", true);
  }
  const Dtype dtype = statisticsDtype(input.dtype);
  const TensorMeta each = contiguousLike(input, dtype, {isTraining ? channels : SymInt(0)});
  std::vector<TensorMeta> results = {std::move(output), each, each};
  if (op == "_native_batch_norm_legit_functional") {
    for (const auto& [position, key] :
         {std::pair(size_t{3}, "running_mean"), std::pair(size_t{4}, "running_var")}) {
      const TensorMeta& running = call.tensor(position, key);
      results.push_back(contiguousLike(running, running.dtype, running.sizes));
    }
  }
  return valuesOf(std::move(results));
}

ValueRef groupNormShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  if (!isContiguous(input)) throw ShapeUnknown();
  TensorMeta output = contiguousLike(input, input.dtype, input.sizes);
  if (call.op() == "group_norm") return valueOf(std::move(output));
  const SymInt groups = call.size(6, "group");
  const TensorMeta each = contiguousLike(input, input.dtype, {call.size(3, "N"), groups});
  return valuesOf({std::move(output), each, each});
}

ValueRef rmsNormShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  static_cast<void>(normalizedSizes(call, input));
  const TensorMeta* const weight = call.findTensor(2, "weight");
  if (!isContiguous(input) || (weight != nullptr && weight->dtype != input.dtype)) throw ShapeUnknown();
  return valueOf(contiguousLike(input, input.dtype, input.sizes));
}

// A softmax or a cumulative sum: as many elements, laid out anew.
ValueRef alongDimensionShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() == "Dimname" || call.overload() == "dimname") throw ShapeUnknown();
  call.dimension(call.integer(1, "dim"), self.sizes.size());
  Dtype dtype = self.dtype;
  const std::string_view op = call.op();
  if (op == "_softmax" || op == "_log_softmax") {
    if (call.boolean(2, "half_to_float", false)) dtype = Dtype::Float32;
  } else if (op == "cumsum" || op == "cumprod") {
    dtype = call.dtype(kKeywordOnly, "dtype").value_or(accumulatedOf(dtype));
  } else {
    dtype = call.dtype(2, "dtype").value_or(dtype);
  }
  return valueOf(contiguousLike(self, dtype, self.sizes));
}

constexpr NamedShapeRule kNormRules[] = {
    {"aten.layer_norm", layerNormShape},
    {"aten.native_layer_norm", layerNormShape},
    {"aten.rms_norm", rmsNormShape},
    {"aten.batch_norm", batchNormShape},
    {"aten._native_batch_norm_legit", batchNormShape},
    {"aten._native_batch_norm_legit_no_training", batchNormShape},
    {"aten._native_batch_norm_legit_functional", batchNormShape},
    {"aten.native_batch_norm", batchNormShape},
    {"aten.group_norm", groupNormShape},
    {"aten.native_group_norm", groupNormShape},
    {"aten.softmax", alongDimensionShape},
    {"aten._softmax", alongDimensionShape},
    {"aten._safe_softmax", alongDimensionShape},
    {"aten.log_softmax", alongDimensionShape},
    {"aten._log_softmax", alongDimensionShape},
    {"aten.cumsum", alongDimensionShape},
    {"aten.cumprod", alongDimensionShape},
};

}  // namespace

std::span<const NamedShapeRule> normShapeRules() {
  return kNormRules;
}

}  // namespace edgefx::detail

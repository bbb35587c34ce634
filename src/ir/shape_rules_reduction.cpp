#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

namespace edgefx::detail {
namespace {

// Sizes without the dimensions chosen, or with 1 in their place.
Dims reducedSizes(const TensorMeta& self, const std::vector<bool>& isReduced, bool keepDim) {
  Dims sizes;
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (!isReduced[i]) {
      sizes.push_back(self.sizes[i]);
    } else if (keepDim) {
      sizes.emplace_back(1);
    }
  }
  return sizes;
}

// Over the dimensions of argument 1, or all if it is not given or empty.
Dims sizesOverDims(const ShapeCall& call, const TensorMeta& self, size_t keepDim) {
  const std::vector<int64_t> dims = call.integers(1, "dim");
  return reducedSizes(self, call.dimensions(dims, self.sizes.size()),
                      call.boolean(keepDim, "keepdim", false));
}

void refuseNames(const ShapeCall& call) {
  const std::string_view overload = call.overload();
  if (overload.starts_with("names") || overload.find("imname") != std::string_view::npos)
    throw ShapeUnknown();
}

// sum, mean, prod: the type may be given.
ValueRef accumulationShape(const ShapeCall& call) {
  refuseNames(call);
  const TensorMeta& self = call.tensor(0, "self");
  const bool isMean = call.op() == "mean";
  const std::optional<Dtype> wanted = call.dtype(kKeywordOnly, "dtype");
  const Dtype dtype = wanted.value_or(isMean ? self.dtype : accumulatedOf(self.dtype));
  if (isMean && !isFloatingPoint(dtype) && !isComplex(dtype)) {
    call.fail("expected a floating or complex type, found {}", fxText(dtype));
  }
  if (call.overload() == "default") return valueOf(contiguousLike(self, dtype, {}));
  return valueOf(contiguousLike(self, dtype, sizesOverDims(call, self, 2)));
}

ValueRef extremaShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(contiguousLike(self, self.dtype, sizesOverDims(call, self, 2)));
}

ValueRef quantifierShape(const ShapeCall& call) {
  refuseNames(call);
  const TensorMeta& self = call.tensor(0, "self");
  const Dtype dtype = self.dtype == Dtype::UInt8 ? Dtype::UInt8 : Dtype::Bool;
  if (call.overload() == "default") return valueOf(contiguousLike(self, dtype, {}));
  return valueOf(contiguousLike(self, dtype, sizesOverDims(call, self, 2)));
}

// max.dim and min.dim; all elements; or of two tensors.
ValueRef maxMinShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() == "default") return valueOf(contiguousLike(self, self.dtype, {}));
  if (call.overload() == "other") {
    DtypePromotion promotion;
    const TensorMeta* const inputs[] = {&self, &call.tensor(1, "other")};
    for (const TensorMeta* input : inputs) promotion.addTensor(*input);
    TensorMeta out = contiguousLike(self, promotion.result(), broadcast(call, inputs));
    out.strides = elementwiseStrides(out.sizes, inputs);
    return valueOf(std::move(out));
  }
  if (call.overload() != "dim") throw ShapeUnknown();
  const int64_t dims[] = {call.integer(1, "dim")};
  const Dims sizes =
      reducedSizes(self, call.dimensions(dims, self.sizes.size()), call.boolean(2, "keepdim", false));
  return valuesOf({contiguousLike(self, self.dtype, sizes), contiguousLike(self, Dtype::Int64, sizes)});
}

ValueRef argExtremumShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(contiguousLike(self, Dtype::Int64, sizesOverDims(call, self, 2)));
}

// var, std and their _mean forms.
ValueRef varianceShape(const ShapeCall& call) {
  refuseNames(call);
  const TensorMeta& self = call.tensor(0, "self");
  Dims sizes;
  if (call.overload() == "default") {
    sizes = {};
  } else {
    sizes = sizesOverDims(call, self, call.overload() == "dim" ? 3 : kKeywordOnly);
  }
  TensorMeta variance = contiguousLike(self, realOf(self.dtype), sizes);
  if (!call.op().ends_with("_mean")) return valueOf(std::move(variance));
  return valuesOf({std::move(variance), contiguousLike(self, self.dtype, sizes)});
}

ValueRef vectorNormShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::vector<int64_t> dims = call.integers(2, "dim");
  const Dims sizes =
      reducedSizes(self, call.dimensions(dims, self.sizes.size()), call.boolean(3, "keepdim", false));
  return valueOf(contiguousLike(self, call.dtype(kKeywordOnly, "dtype").value_or(realOf(self.dtype)), sizes));
}

ValueRef logSumExpShape(const ShapeCall& call) {
  refuseNames(call);
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(contiguousLike(self, floatingOf(self.dtype), sizesOverDims(call, self, 2)));
}

ValueRef topkShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const size_t dim = call.dimension(call.integer(2, "dim", -1), self.sizes.size());
  const SymInt k = call.size(1, "k");
  Dims sizes = self.sizes;
  const SymInt room = sizes.empty() ? SymInt(1) : sizes[dim];
  if (!k.isSymbolic() && !room.isSymbolic() && (k.value() < 0 || k.value() > room.value())) {
    call.fail("expected at most {} elements, found {}", room.value(), k.value());
  }
  if (!sizes.empty()) sizes[dim] = k;
  return valuesOf({contiguousLike(self, self.dtype, sizes), contiguousLike(self, Dtype::Int64, sizes)});
}

ValueRef sortShape(const ShapeCall& call) {
  refuseNames(call);
  const TensorMeta& self = call.tensor(0, "self");
  const bool isStable = call.overload() == "stable";
  call.dimension(call.integer(isStable ? kKeywordOnly : 1, "dim", -1), self.sizes.size());
  return valuesOf({copied(call, self, self.dtype, MemoryFormat::Preserve),
                   copied(call, self, Dtype::Int64, MemoryFormat::Preserve)});
}

constexpr NamedShapeRule kReductionRules[] = {
    {"aten.sum", accumulationShape},    {"aten.mean", accumulationShape},
    {"aten.prod", accumulationShape},   {"aten.amax", extremaShape},
    {"aten.amin", extremaShape},        {"aten.any", quantifierShape},
    {"aten.all", quantifierShape},      {"aten.max", maxMinShape},
    {"aten.min", maxMinShape},          {"aten.argmax", argExtremumShape},
    {"aten.argmin", argExtremumShape},  {"aten.var", varianceShape},
    {"aten.std", varianceShape},        {"aten.var_mean", varianceShape},
    {"aten.std_mean", varianceShape},   {"aten.linalg_vector_norm", vectorNormShape},
    {"aten.logsumexp", logSumExpShape}, {"aten.topk", topkShape},
    {"aten.sort", sortShape},
};

}  // namespace

std::span<const NamedShapeRule> reductionShapeRules() {
  return kReductionRules;
}

}  // namespace edgefx::detail

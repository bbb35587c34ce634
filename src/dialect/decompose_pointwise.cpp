#include "dialect/decomposition.h"
#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"

#include <cmath>
#include <limits>
#include <numbers>

// Elementwise operators that are made of several.
namespace edgefx::detail {
namespace {

constexpr double kInfiniteNumber = std::numeric_limits<double>::infinity();

bool isNumberOne(const Argument* number) {
  return number == nullptr || (number->isInt() && number->asInt() == 1) ||
         (number->kind() == ArgumentKind::Float && number->asFloat() == 1);
}

// other - alpha * self
Replacement rsubRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Argument& other = c.at(1, "other");
  const Argument* const alpha = c.overload() == "Scalar" ? c.find(2, "alpha") : c.find(kKeywordOnly, "alpha");
  if (other.isNode() && c.overload() == "Tensor") {
    Kwargs kwargs;
    if (!isNumberOne(alpha)) kwargs.emplace_back("alpha", *alpha);
    return c.emit("sub.Tensor", {other, x}, kwargs);
  }
  Node& part = isNumberOne(alpha) ? x : c.emit("mul.Tensor", {x, *alpha});
  return c.emit("add.Tensor", {c.emit("neg.default", {part}), other});
}

Replacement addcmulRule(Decomposition& c) {
  const bool divides = c.op() == "addcdiv";
  const Argument* const value = c.find(kKeywordOnly, "value");
  Node* part = &c.emit(divides ? "div.Tensor" : "mul.Tensor", {c.in(1, "tensor1"), c.in(2, "tensor2")});
  if (!isNumberOne(value)) part = &c.emit("mul.Tensor", {*part, *value});
  return c.emit("add.Tensor", {c.in(0, "self"), *part});
}

// From the nearer end, as LibTorch's kernel does.
Replacement lerpRule(Decomposition& c) {
  Node& start = c.in(0, "self");
  Node& end = c.in(1, "end");
  Node& way = c.emit("sub.Tensor", {end, start});
  if (c.overload() == "Scalar") {
    const double weight = c.number(2, "weight", 0);
    if (std::abs(weight) < 0.5) return c.emit("add.Tensor", {start, c.emit("mul.Tensor", {way, weight})});
    return c.emit("sub.Tensor", {end, c.emit("mul.Tensor", {way, 1 - weight})});
  }
  Node& weight = c.in(2, "weight");
  Node& isNearEnd = c.emit("ge.Scalar", {c.emit("abs.default", {weight}), 0.5});
  Node& base = c.emit("where.self", {isNearEnd, end, start});
  Node& factor = c.emit("where.self", {isNearEnd, c.emit("sub.Tensor", {weight, 1}), weight});
  return c.emit("add.Tensor", {base, c.emit("mul.Tensor", {factor, way})});
}

Replacement squareRule(Decomposition& c) {
  return c.emit("pow.Tensor_Scalar", {c.in(0, "self"), 2});
}

Replacement floorDivideRule(Decomposition& c) {
  return c.emit("div.Tensor_mode", {c.in(0, "self"), c.at(1, "other")}, {{"rounding_mode", "floor"}});
}

Replacement remainderScalarRule(Decomposition& c) {
  Node& other = c.in(1, "other");
  return c.emit("remainder.Tensor", {c.scalarLike(Arg(c.at(0, "self")), other), other});
}

// clamp_min, clamp_max and clip
Replacement clampRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  if (c.op() == "clip") {
    return c.emit(c.overload() == "Tensor" ? "clamp.Tensor" : "clamp.default",
                  {x, c.argOr(1, "min", nullptr), c.argOr(2, "max", nullptr)});
  }
  const bool isLeast = c.op() == "clamp_min";
  const Argument& bound = c.at(1, isLeast ? "min" : "max");
  if (c.overload() == "Tensor") return c.emit(isLeast ? "maximum.default" : "minimum.default", {x, bound});
  return isLeast ? c.emit("clamp.default", {x, bound}) : c.emit("clamp.default", {x, nullptr, bound});
}

Replacement isfiniteRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  if (!isFloatingPoint(c.dtype(x))) {
    c.need(!isComplex(c.dtype(x)), "its operand is complex");
    return c.emit("ones_like.default", {x}, {{"dtype", Dtype::Bool}});
  }
  Node& isNumber = c.emit("eq.Tensor", {x, x});
  Node& isBelow = c.emit("ne.Scalar", {c.emit("abs.default", {x}), kInfiniteNumber});
  return c.emit("mul.Tensor", {isNumber, isBelow});
}

Replacement isInfinityRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(isFloatingPoint(c.dtype(x)), "its operand is no floating point tensor");
  return c.emit("eq.Scalar", {x, c.op() == "isposinf" ? kInfiniteNumber : -kInfiniteNumber});
}

std::pair<double, double> boundsOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::Float16:
      return {-65504.0, 65504.0};
    case Dtype::BFloat16:
      return {-3.3895313892515355e38, 3.3895313892515355e38};
    case Dtype::Float32:
      return {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max()};
    default:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};
  }
}

Replacement nanToNumRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Dtype dtype = c.dtype(x);
  if (!isFloatingPoint(dtype)) {
    c.need(!isComplex(dtype), "its operand is complex");
    return c.emit("clone.default", {x});
  }
  const auto [least, most] = boundsOf(dtype);
  Node* made =
      &c.emit("where.self", {c.emit("isnan.default", {x}), c.scalarLike(c.number(1, "nan", 0), x), x});
  Node& isLeast = c.emit("eq.Scalar", {x, -kInfiniteNumber});
  made = &c.emit("where.self", {isLeast, c.scalarLike(c.number(3, "neginf", least), x), *made});
  Node& isMost = c.emit("eq.Scalar", {x, kInfiniteNumber});
  return c.emit("where.self", {isMost, c.scalarLike(c.number(2, "posinf", most), x), *made});
}

Replacement sgnRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(!isComplex(c.dtype(x)), "its operand is complex");
  return c.emit("sign.default", {x});
}

Replacement fracRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  return c.emit("sub.Tensor", {x, c.emit("trunc.default", {x})});
}

Replacement exp2Rule(Decomposition& c) {
  return c.emit("pow.Scalar", {2.0, c.in(0, "self")});
}

Replacement degreesRule(Decomposition& c) {
  const double factor = c.op() == "deg2rad" ? std::numbers::pi / 180 : 180 / std::numbers::pi;
  return c.emit("mul.Tensor", {c.in(0, "self"), factor});
}

Replacement logaddexpRule(Decomposition& c) {
  Node& a = c.in(0, "self");
  Node& b = c.in(1, "other");
  Node& isFirstMore = c.emit("ge.Tensor", {a, b});
  Node& most = c.emit("where.self", {isFirstMore, a, b});
  Node& least = c.emit("where.self", {isFirstMore, b, a});
  Node& isInfinite =
      c.emit("logical_and.default", {c.emit("isinf.default", {a}), c.emit("eq.Tensor", {a, b})});
  Node& small = c.emit("exp.default", {c.emit("sub.Tensor", {least, most})});
  Node& sum = c.emit("add.Tensor", {most, c.emit("log1p.default", {small})});
  return c.emit("where.self", {isInfinite, most, sum});
}

Replacement xlogyRule(Decomposition& c) {
  Node& a = c.in(0, "self");
  Node& b = c.in(1, "other");
  c.need(isFloatingPoint(c.dtype(a)) && c.dtype(a) == c.dtype(b), "its operands are of several dtypes");
  Node& product = c.emit("mul.Tensor", {a, c.emit("log.default", {b})});
  Node& made = c.emit("where.self", {c.emit("eq.Scalar", {a, 0}), c.scalarLike(0.0, a), product});
  Node& nan = c.scalarLike(std::numeric_limits<double>::quiet_NaN(), a);
  return c.emit("where.self", {c.emit("isnan.default", {b}), nan, made});
}

Replacement logitRule(Decomposition& c) {
  Node* x = &c.in(0, "self");
  c.need(isFloatingPoint(c.dtype(*x)), "its operand is no floating point tensor");
  if (c.find(1, "eps") != nullptr) {
    const double eps = c.number(1, "eps", 0);
    x = &c.emit("clamp.default", {*x, eps, 1 - eps});
  }
  return c.emit("log.default", {c.emit("div.Tensor", {*x, c.emit("rsub.Scalar", {*x, 1})})});
}

// The dtype that numbers and tensors have together.
Dtype commonDtype(const Argument& a, const Argument& b) {
  DtypePromotion promotion;
  promotion.add(a);
  promotion.add(b);
  return promotion.result();
}

// where with numbers: they become tensors of the common dtype.
Replacement whereRule(Decomposition& c) {
  Node& mask = c.in(0, "condition");
  const Argument& a = c.at(1, "self");
  const Argument& b = c.at(2, "other");
  const Dtype dtype = commonDtype(a, b);
  const Kwargs kwargs{
      {"dtype", dtype}, {"layout", Layout::Strided}, {"device", Arg::device(text(c.meta(mask).device))}};
  const auto tensorOf = [&](const Argument& value) -> Arg {
    if (value.isNode() && value.asNode().value() != nullptr && value.asNode().value()->tensor() != nullptr) {
      return value;
    }
    return c.emit("scalar_tensor.default", {value}, kwargs);
  };
  const Arg first = tensorOf(a);
  return c.emit("where.self", {mask, first, tensorOf(b)});
}

// A number as one of the dtype's kind.
Arg numberOfKind(const Argument& number, Dtype dtype) {
  if (number.isInt() && isFloatingPoint(dtype)) return static_cast<double>(number.asInt());
  if (number.kind() == ArgumentKind::Bool && isFloatingPoint(dtype)) return number.asBool() ? 1.0 : 0.0;
  if (number.isInt() && dtype == Dtype::Bool) return number.asInt() != 0;
  if (isComplex(dtype)) return number;
  if (number.kind() == ArgumentKind::Float && dtype == Dtype::Bool) return number.asFloat() != 0;
  if (number.kind() == ArgumentKind::Float && !isFloatingPoint(dtype)) {
    Decomposition::need(std::abs(number.asFloat()) < 0x1p62, "a number does not fit its dtype");
    return static_cast<int64_t>(number.asFloat());
  }
  return number;
}

Replacement maskedFillRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& mask = c.in(1, "mask");
  const Argument& value = c.at(2, "value");
  if (c.overload() == "Tensor") {
    return c.contiguous(c.emit("where.self", {mask, c.toDtype(c.in(2, "value"), c.dtype(x)), x}));
  }
  return c.contiguous(c.emit("where.self", {mask, c.scalarLike(numberOfKind(value, c.dtype(x)), x), x}));
}

constexpr NamedDecomposition kPointwiseDecompositions[] = {
    {"rsub.Scalar", rsubRule},
    {"rsub.Tensor", rsubRule},
    {"addcmul.default", addcmulRule},
    {"addcdiv.default", addcmulRule},
    {"lerp.Scalar", lerpRule},
    {"lerp.Tensor", lerpRule},
    {"square.default", squareRule},
    {"floor_divide.default", floorDivideRule},
    {"floor_divide.Scalar", floorDivideRule},
    {"remainder.Scalar_Tensor", remainderScalarRule},
    {"clamp_min.default", clampRule},
    {"clamp_min.Tensor", clampRule},
    {"clamp_max.default", clampRule},
    {"clamp_max.Tensor", clampRule},
    {"clip.default", clampRule},
    {"clip.Tensor", clampRule},
    {"isfinite.default", isfiniteRule},
    {"isposinf.default", isInfinityRule},
    {"isneginf.default", isInfinityRule},
    {"nan_to_num.default", nanToNumRule},
    {"sgn.default", sgnRule},
    {"frac.default", fracRule},
    {"exp2.default", exp2Rule},
    {"special_exp2.default", exp2Rule},
    {"deg2rad.default", degreesRule},
    {"rad2deg.default", degreesRule},
    {"logaddexp.default", logaddexpRule},
    {"xlogy.Tensor", xlogyRule},
    {"special_xlogy.default", xlogyRule},
    {"logit.default", logitRule},
    {"special_logit.default", logitRule},
    {"where.ScalarSelf", whereRule},
    {"where.ScalarOther", whereRule},
    {"where.Scalar", whereRule},
    {"masked_fill.Scalar", maskedFillRule},
    {"masked_fill.Tensor", maskedFillRule},
};

}  // namespace

std::span<const NamedDecomposition> pointwiseDecompositions() {
  return kPointwiseDecompositions;
}

}  // namespace edgefx::detail

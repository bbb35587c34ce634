#include "ir/dtype_promotion.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

bool hasPromotion(Dtype dtype) {
  switch (dtype) {
    case Dtype::UInt8:
    case Dtype::Int8:
    case Dtype::Int16:
    case Dtype::Int32:
    case Dtype::Int64:
    case Dtype::Float16:
    case Dtype::Float32:
    case Dtype::Float64:
    case Dtype::Complex32:
    case Dtype::Complex64:
    case Dtype::Complex128:
    case Dtype::Bool:
    case Dtype::BFloat16:
      return true;
    default:
      return false;
  }
}

Dtype complexOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::Float16:
      return Dtype::Complex32;
    case Dtype::Float64:
      return Dtype::Complex128;
    default:
      return Dtype::Complex64;
  }
}

// 0 bool, 1 whole, 2 floating, 3 complex.
int kindOf(Dtype dtype) {
  if (dtype == Dtype::Bool) return 0;
  if (isComplex(dtype)) return 3;
  return isFloatingPoint(dtype) ? 2 : 1;
}

std::optional<Dtype> combine(std::optional<Dtype> higher, std::optional<Dtype> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  if (kindOf(*higher) == 3) return higher;
  if (kindOf(*higher) == 2) return kindOf(*lower) == 3 ? complexOf(*higher) : higher;
  if (kindOf(*higher) == 0 || kindOf(*lower) >= 2) {
    const std::optional<Dtype> both = promoteDtypes(*higher, *lower);
    if (!both) throw ShapeUnknown();
    return both;
  }
  return higher;
}

}  // namespace

std::optional<Dtype> promoteDtypes(Dtype a, Dtype b) {
  if (a == b) return a;
  if (!hasPromotion(a) || !hasPromotion(b)) return std::nullopt;
  if (kindOf(a) < kindOf(b)) std::swap(a, b);
  switch (kindOf(a)) {
    case 3: {
      if (kindOf(b) < 2) return a;
      const Dtype other = isComplex(b) ? b : b == Dtype::BFloat16 ? Dtype::Complex64 : complexOf(b);
      return elementSize(a) >= elementSize(other) ? a : other;
    }
    case 2:
      if (kindOf(b) < 2) return a;
      if (elementSize(a) == elementSize(b)) return Dtype::Float32;  // float16 and bfloat16
      return elementSize(a) > elementSize(b) ? a : b;
    case 1:
      if (b == Dtype::Bool) return a;
      if (b == Dtype::UInt8) std::swap(a, b);
      if (a == Dtype::UInt8) return b == Dtype::Int8 ? Dtype::Int16 : b;
      return elementSize(a) > elementSize(b) ? a : b;
    default:
      return a;
  }
}

void DtypePromotion::add(std::optional<Dtype>& place, Dtype dtype) {
  if (!place) {
    place = dtype;
    return;
  }
  place = promoteDtypes(*place, dtype);
  if (!place) throw ShapeUnknown();
}

void DtypePromotion::add(const Argument& operand) {
  switch (operand.kind()) {
    case ArgumentKind::Bool:
      return add(number_, Dtype::Bool);
    case ArgumentKind::Int:
      return add(number_, Dtype::Int64);
    case ArgumentKind::Float:
      return add(number_, Dtype::Float32);
    case ArgumentKind::Complex:
      return add(number_, Dtype::Complex64);
    case ArgumentKind::Node: {
      const ValueMeta* const value = operand.asNode().value();
      if (value == nullptr) throw ShapeUnknown();
      if (std::holds_alternative<ValueMeta::SymIntValue>(value->data)) return add(number_, Dtype::Int64);
      if (std::holds_alternative<ValueMeta::SymFloatValue>(value->data)) return add(number_, Dtype::Float32);
      if (std::holds_alternative<ValueMeta::SymBoolValue>(value->data)) return add(number_, Dtype::Bool);
      return addTensor(*ShapeCall::tensorOf(operand));
    }
    default:
      throw ShapeUnknown();
  }
}

Dtype DtypePromotion::result() const {
  const std::optional<Dtype> all = combine(dimensioned_, combine(scalar_, number_));
  if (!all || *all == Dtype::Unknown) throw ShapeUnknown();
  return *all;
}

Dtype floatingOf(Dtype dtype) {
  return isFloatingPoint(dtype) || isComplex(dtype) ? dtype : Dtype::Float32;
}

Dtype accumulatedOf(Dtype dtype) {
  return dtype == Dtype::Bool || isIntegral(dtype) ? Dtype::Int64 : dtype;
}

Dtype realOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::Complex32:
      return Dtype::Float16;
    case Dtype::Complex64:
      return Dtype::Float32;
    case Dtype::Complex128:
      return Dtype::Float64;
    default:
      return dtype;
  }
}

}  // namespace edgefx::detail

#include <edgefx/run/verify_lowering.h>

#include "ir/convert_argument.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/view_as_real.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgefx {
namespace {

Difference mismatch(std::string reason) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {kInfinity, kInfinity, false, std::move(reason)};
}

// Tensors of doubles of one shape.
Difference compareNumbers(const at::Tensor& found, const at::Tensor& expected, const Tolerance& tolerance) {
  Difference difference;
  const double* a = found.data_ptr<double>();
  const double* b = expected.data_ptr<double>();
  const int64_t count = expected.numel();
  int64_t wrong = 0, first = -1;
  for (int64_t i = 0; i < count; ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double distance = std::abs(a[i] - b[i]);
    if (std::isnan(distance)) distance = std::numeric_limits<double>::infinity();
    difference.largestAbsolute = std::max(difference.largestAbsolute, distance);
    if (b[i] != 0)
      difference.largestRelative = std::max(difference.largestRelative, distance / std::abs(b[i]));
    if (std::isfinite(b[i]) && distance <= tolerance.absolute + tolerance.relative * std::abs(b[i])) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong > 0) {
    difference.agrees = false;
    difference.reason = fmt::format("{} of {} elements differ, the first at {}: expected {}, got {}", wrong,
                                    count, first, b[first], a[first]);
  }
  return difference;
}

// As doubles, one after the other.
at::Tensor asDoubles(const at::Tensor& tensor) {
  const at::Tensor real = tensor.is_complex() ? at::view_as_real(tensor.resolve_conj()) : tensor;
  return real.to(at::kDouble).contiguous();
}

Difference compareTensors(const at::Tensor& found, const at::Tensor& expected, const Tolerance& tolerance) {
  if (found.scalar_type() != expected.scalar_type() || found.sizes() != expected.sizes()) {
    return mismatch(fmt::format("expected {}, got {}", detail::describe(expected), detail::describe(found)));
  }
  const bool isRounded = expected.is_floating_point() || expected.is_complex();
  if (!isRounded && at::equal(found, expected)) return {};
  // Doubles cannot tell large whole numbers apart, but those were found unequal: some element differs.
  Difference difference =
      compareNumbers(asDoubles(found), asDoubles(expected), isRounded ? tolerance : Tolerance{0, 0});
  if (!isRounded && difference.agrees) return mismatch("whole numbers beyond 2^53 differ");
  return difference;
}

Difference compareItems(c10::ArrayRef<c10::IValue> found, c10::ArrayRef<c10::IValue> expected,
                        const Tolerance& tolerance) {
  if (found.size() != expected.size()) {
    return mismatch(fmt::format("expected {} items, got {}", expected.size(), found.size()));
  }
  Difference all;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Difference one = compareValues(found[i], expected[i], tolerance);
    all.largestAbsolute = std::max(all.largestAbsolute, one.largestAbsolute);
    all.largestRelative = std::max(all.largestRelative, one.largestRelative);
    if (!one.agrees && all.agrees) {
      all.agrees = false;
      all.reason = fmt::format("item {}: {}", i, one.reason);
    }
  }
  return all;
}

}  // namespace

std::string text(const Difference& difference) {
  return fmt::format("largest difference {:.3g} absolute, {:.3g} relative{}{}", difference.largestAbsolute,
                     difference.largestRelative, difference.agrees ? "" : "; ", difference.reason);
}

Difference compareValues(const c10::IValue& found, const c10::IValue& expected, const Tolerance& tolerance) {
  if (expected.isTensor() && found.isTensor()) {
    return compareTensors(found.toTensor(), expected.toTensor(), tolerance);
  }
  const auto isSequence = [](const c10::IValue& value) { return value.isList() || value.isTuple(); };
  const auto items = [](const c10::IValue& value) -> c10::ArrayRef<c10::IValue> {
    if (value.isList()) return value.toListRef();
    return value.toTupleRef().elements();
  };
  if (isSequence(expected) && isSequence(found))
    return compareItems(items(found), items(expected), tolerance);
  const auto isNumber = [](const c10::IValue& value) { return value.isInt() || value.isDouble(); };
  if (isNumber(expected) && isNumber(found) && expected.isInt() == found.isInt()) {
    if (expected.isInt() && expected.toInt() != found.toInt()) {
      return mismatch(fmt::format("expected {}, got {}", expected.toInt(), found.toInt()));
    }
    const at::Tensor a = at::scalar_tensor(found.toScalar(), at::kDouble);
    const at::Tensor b = at::scalar_tensor(expected.toScalar(), at::kDouble);
    return compareNumbers(a, b, expected.isInt() ? Tolerance{0, 0} : tolerance);
  }
  const bool isSame =
      (expected.isNone() && found.isNone()) ||
      (expected.isBool() && found.isBool() && expected.toBool() == found.toBool()) ||
      (expected.isString() && found.isString() && expected.toStringRef() == found.toStringRef());
  if (isSame) return {};
  return mismatch(fmt::format("expected {}, got {}", detail::describe(expected), detail::describe(found)));
}

}  // namespace edgefx

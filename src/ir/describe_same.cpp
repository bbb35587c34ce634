#include "ir/describe_same.h"

#include <edgefx/ir/shape_inference.h>
#include <edgefx/support/error.h>

#include "ir/sym_arith.h"

#include <algorithm>
#include <vector>

namespace edgefx {
namespace detail {
namespace {

class DescriptionComparison {
 public:
  explicit DescriptionComparison(const Assignments& assignments) : assignments_(assignments) {}

  bool agree(const ValueMeta& a, const ValueMeta& b) const {
    if (const TensorMeta* tensor = a.tensor()) return b.tensor() != nullptr && agree(*tensor, *b.tensor());
    if (a.isSymbolicNumber() && b.isSymbolicNumber()) return agreeNumbers(a, b);
    if (a.data.index() != b.data.index()) return false;
    return true;
  }

 private:
  bool agree(const SymInt& a, const SymInt& b) const {
    if (symEqual(a, b)) return true;
    if (!a.isSymbolic() && !b.isSymbolic()) return false;
    return agree([&](const SymBindings& bind) { return evaluate(a, bind); },
                 [&](const SymBindings& bind) { return evaluate(b, bind); });
  }

  template <typename Left, typename Right>
  bool agree(const Left& left, const Right& right) const {
    for (size_t round = 0; round < assignments_.count; ++round) {
      const SymBindings bind = [&](std::string_view name) { return assignments_.number(name, round); };
      try {
        const auto first = left(bind);
        const auto second = right(bind);
        if (first && second && *first != *second) return false;
      } catch (const UsageError&) {
        continue;  // numbers too large, or a division by zero: says nothing of the others
      }
    }
    return true;
  }

  bool agree(const TensorMeta& a, const TensorMeta& b) const {
    if (a.dtype != b.dtype || a.layout != b.layout || a.device != b.device) return false;
    const auto same = [this](const SymInt& x, const SymInt& y) { return agree(x, y); };
    if (!std::ranges::equal(a.sizes, b.sizes, same)) return false;
    if (a.strides.size() != b.strides.size()) return false;
    const auto isEmpty = [](const SymInt& size) { return !size.isSymbolic() && size.value() == 0; };
    if (std::ranges::any_of(a.sizes, isEmpty)) return true;
    for (size_t i = 0; i < a.strides.size(); ++i) {
      const bool isSingle = !a.sizes[i].isSymbolic() && a.sizes[i].value() == 1;
      if (!isSingle && !agree(a.strides[i], b.strides[i])) return false;
    }
    return true;
  }

  bool agreeNumbers(const ValueMeta& a, const ValueMeta& b) const {
    if (a.data.index() != b.data.index()) return false;
    const auto valueOf = [](const ValueMeta& value, const SymBindings& bind) -> std::optional<SymValue> {
      if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&value.data)) {
        const std::optional<int64_t> found = evaluate(number->value, bind);
        return found ? std::optional(SymValue(*found)) : std::nullopt;
      }
      if (const auto* number = std::get_if<ValueMeta::SymFloatValue>(&value.data)) {
        if (const double* plain = std::get_if<double>(&number->value)) return SymValue(*plain);
        return evaluate(std::get<Symbolic>(number->value).expression, bind);
      }
      const auto& condition = std::get<ValueMeta::SymBoolValue>(value.data);
      if (const bool* plain = std::get_if<bool>(&condition.value)) return SymValue(*plain);
      return evaluate(std::get<Symbolic>(condition.value).expression, bind);
    };
    return agree([&](const SymBindings& bind) { return valueOf(a, bind); },
                 [&](const SymBindings& bind) { return valueOf(b, bind); });
  }

  const Assignments& assignments_;
};

}  // namespace

std::optional<int64_t> Assignments::number(std::string_view name, size_t round) const {
  uint64_t hash = 1469598103934665603U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  // With many divisors, for sizes are often said to be multiples of something.
  static constexpr int64_t kNumbers[count] = {5040, 12, 2520, 60};
  const int64_t wanted = kNumbers[round] * static_cast<int64_t>(1 + (hash >> 32) % 7);
  return limit ? limit(name, wanted) : wanted;
}

bool describeSame(const ValueMeta* a, const ValueMeta* b, const Assignments& assignments) {
  const DescriptionComparison comparison(assignments);
  std::vector<std::pair<const ValueMeta*, const ValueMeta*>> pending{{a, b}};
  while (!pending.empty()) {
    const auto [left, right] = pending.back();
    pending.pop_back();
    if (left == nullptr || right == nullptr || left == right) continue;
    if (!comparison.agree(*left, *right)) return false;
    if (const ValueMeta::Sequence* first = left->sequence()) {
      const ValueMeta::Sequence& second = *right->sequence();
      if (first->elements.size() != second.elements.size()) return false;
      for (size_t i = 0; i < first->elements.size(); ++i) {
        pending.emplace_back(first->elements[i].get(), second.elements[i].get());
      }
    }
  }
  return true;
}

}  // namespace detail

bool describeSame(const ValueMeta* a, const ValueMeta* b) {
  return detail::describeSame(a, b, {});
}

}  // namespace edgefx

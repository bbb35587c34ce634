#include "dialect/decomposition.h"

#include <algorithm>

// Operators that are others under a second name.
namespace edgefx::detail {
namespace {

struct OperatorAlias {
  std::string_view name;
  std::string_view meant;
};

// Sorted by name.
constexpr OperatorAlias kAliases[] = {
    {"__and__.Scalar", "bitwise_and.Scalar"},
    {"__and__.Tensor", "bitwise_and.Tensor"},
    {"__or__.Scalar", "bitwise_or.Scalar"},
    {"__or__.Tensor", "bitwise_or.Tensor"},
    {"__xor__.Scalar", "bitwise_xor.Scalar"},
    {"__xor__.Tensor", "bitwise_xor.Tensor"},
    {"_unsafe_index.Tensor", "index.Tensor"},
    {"_unsafe_index_put.default", "index_put.default"},
    {"absolute.default", "abs.default"},
    {"arccos.default", "acos.default"},
    {"arccosh.default", "acosh.default"},
    {"arcsin.default", "asin.default"},
    {"arcsinh.default", "asinh.default"},
    {"arctan.default", "atan.default"},
    {"arctan2.default", "atan2.default"},
    {"arctanh.default", "atanh.default"},
    {"divide.Scalar", "div.Scalar"},
    {"divide.Scalar_mode", "div.Scalar_mode"},
    {"divide.Tensor", "div.Tensor"},
    {"divide.Tensor_mode", "div.Tensor_mode"},
    {"fix.default", "trunc.default"},
    {"greater.Scalar", "gt.Scalar"},
    {"greater.Tensor", "gt.Tensor"},
    {"greater_equal.Scalar", "ge.Scalar"},
    {"greater_equal.Tensor", "ge.Tensor"},
    {"less.Scalar", "lt.Scalar"},
    {"less.Tensor", "lt.Tensor"},
    {"less_equal.Scalar", "le.Scalar"},
    {"less_equal.Tensor", "le.Tensor"},
    {"max.other", "maximum.default"},
    {"min.other", "minimum.default"},
    {"multiply.Scalar", "mul.Scalar"},
    {"multiply.Tensor", "mul.Tensor"},
    {"negative.default", "neg.default"},
    {"not_equal.Scalar", "ne.Scalar"},
    {"not_equal.Tensor", "ne.Tensor"},
    {"special_erf.default", "erf.default"},
    {"special_expit.default", "sigmoid.default"},
    {"special_expm1.default", "expm1.default"},
    {"special_log1p.default", "log1p.default"},
    {"special_logsumexp.default", "logsumexp.default"},
    {"special_round.default", "round.default"},
    {"subtract.Scalar", "sub.Scalar"},
    {"subtract.Tensor", "sub.Tensor"},
    {"true_divide.Scalar", "div.Scalar"},
    {"true_divide.Tensor", "div.Tensor"},
};

Replacement aliasRule(Decomposition& c) {
  const std::string_view name = c.node().target().name().substr(5);
  const auto* const alias = std::ranges::lower_bound(kAliases, name, {}, &OperatorAlias::name);
  Args args;
  for (const Argument& argument : c.node().args()) args.emplace_back(argument);
  Kwargs kwargs;
  for (const auto& [key, value] : c.node().kwargs()) kwargs.emplace_back(key, value);
  return c.emit(alias->meant, args, kwargs);
}

}  // namespace

std::span<const NamedDecomposition> aliasDecompositions() {
  static const auto& rules = *[] {
    auto* made = new std::vector<NamedDecomposition>();
    for (const OperatorAlias& alias : kAliases) made->push_back({alias.name, aliasRule});
    return made;
  }();
  return rules;
}

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/meta.h>
#include <edgefx/ir/sym_expr.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>

namespace edgefx {

// What a symbolic expression comes to: a whole number, another number or a condition.
using SymValue = std::variant<int64_t, double, bool>;

// The number that a symbol stands for, or nothing if it stands for none.
using SymBindings = std::function<std::optional<int64_t>(std::string_view symbol)>;

// The value of an expression, with Python's and sympy's meaning of its functions: FloorDiv rounds down,
// remainders have the divisor's sign, rounding takes the even one of two equally near numbers. Sums,
// products and quotients of whole numbers and fractions are exact; a fraction left at the end is given as
// the nearest double. A condition counts as 0 or 1 where a number is wanted, a number as whether it is not
// zero where a condition is wanted. Conditions choose before values: the branch of a Where or Piecewise that
// is not taken, and what stands behind a false operand of And or a true one of Or, are not evaluated.
//
// Nothing if that needs a symbol without a number, a function that edgefx does not know, a Piecewise none of
// whose conditions hold, or a number that is not real (zoo, I). Throws UsageError naming the expression for
// a division by zero, and for a whole number, or a part of a fraction, that does not fit 64 bits. Linear.
std::optional<SymValue> evaluate(const SymExpr& expression, const SymBindings& bindings);

// The same for a size; a size that is a plain number is that number. Nothing also if the value is no whole
// number.
std::optional<int64_t> evaluate(const SymInt& size, const SymBindings& bindings);

}  // namespace edgefx

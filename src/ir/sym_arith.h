#pragma once

#include <edgefx/ir/meta.h>

#include <cstdint>
#include <optional>

namespace edgefx::detail {

// Thrown by what a rule for shapes asks when the answer is not known: the value of the call is then not known
// either.
struct ShapeUnknown {};

// Arithmetic on sizes. Sums of products of sizes come out in one form, multiplied out and in sympy's order,
// with quotients and remainders taken where they are exact; other functions are kept as they are. A hint
// comes out where all operands have one. Each takes time in the size of the expressions, throws UsageError
// for a division by zero and for a number that does not fit 64 bits, ShapeUnknown for expressions of several
// KiB.
SymInt symAdd(const SymInt& a, const SymInt& b);
SymInt symSub(const SymInt& a, const SymInt& b);
SymInt symMul(const SymInt& a, const SymInt& b);
SymInt symFloorDiv(const SymInt& a, const SymInt& b);
SymInt symMod(const SymInt& a, const SymInt& b);
SymInt symMax(const SymInt& a, const SymInt& b);
SymInt symMin(const SymInt& a, const SymInt& b);

// Whether two sizes are the same number for whatever the symbols stand for, as far as their form tells.
bool symEqual(const SymInt& a, const SymInt& b);

// The sign of a - b if it is the same whatever the symbols stand for: sizes of dynamic dimensions (s0) are 2
// or more, other symbols 0 or more. Nothing if that does not decide.
std::optional<int> symCompare(const SymInt& a, const SymInt& b);

// Whether a is never less than b, as far as their form tells.
bool symAtLeast(const SymInt& a, const SymInt& b);

}  // namespace edgefx::detail

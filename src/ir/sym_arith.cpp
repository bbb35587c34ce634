#include "ir/sym_arith.h"

#include "ir/sym_polynomial.h"
#include "support/fail.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

using Hint = std::optional<int64_t>;

Hint hintOf(const SymInt& size) {
  if (!size.isSymbolic()) return size.value();
  const auto* known = std::get_if<int64_t>(&size.symbolic()->hint);
  return known == nullptr ? std::nullopt : Hint(*known);
}

// Longer ones are not taken apart: the text of what comes out may be several times as long.
constexpr size_t kMostExpressionBytes = 8192;

bool isTooLarge(const SymInt& size) {
  return size.isSymbolic() && size.symbolic()->expression.text().size() > kMostExpressionBytes;
}

SymPolynomial polynomialOf(const SymInt& size) {
  return size.isSymbolic() ? SymPolynomial::of(size.symbolic()->expression.root())
                           : SymPolynomial::of(size.value());
}

int64_t roundedDownQuotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Nothing on overflow and division by zero.
Hint compute(SymFunction function, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (function) {
    case SymFunction::Add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : Hint(result);
    case SymFunction::Mul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : Hint(result);
    case SymFunction::FloorDiv:
    case SymFunction::Mod:
    case SymFunction::PythonMod:
      if (b == 0 || (b == -1 && __builtin_sub_overflow(0, a, &result))) return std::nullopt;
      return function == SymFunction::FloorDiv ? roundedDownQuotient(a, b)
                                               : a - roundedDownQuotient(a, b) * b;
    case SymFunction::Max:
      return std::max(a, b);
    case SymFunction::Min:
      return std::min(a, b);
    default:
      return std::nullopt;
  }
}

SymInt fromNode(const SymNode& node, Hint hint) {
  if (node.kind() == SymKind::Integer) return SymInt(node.integerValue());
  std::string text;
  appendSrepr(text, node);
  return SymInt(Symbolic{SymExpr::parse(text), hint ? SymHint(*hint) : SymHint()});
}

// The function of two sizes of which at least one is symbolic.
SymInt symbolicCall(SymFunction function, const SymPolynomial& a, const SymPolynomial& b, Hint hint) {
  std::pmr::monotonic_buffer_resource arena;
  SymBuilder builder(arena);
  if (function == SymFunction::FloorDiv || function == SymFunction::Mod ||
      function == SymFunction::PythonMod) {
    // Not at once x, for x itself may be large.
    if (b.number() == 0) fail<UsageError>("expected a divisor other than 0");
    const bool isQuotient = function == SymFunction::FloorDiv;
    if (const auto exact = a.exactQuotient(b)) {
      return isQuotient ? fromNode(exact->toNode(builder), hint) : SymInt(0);
    }
    if (a == b) return isQuotient ? SymInt(1) : SymInt(0);
    const int64_t common = SymPolynomial::commonDivisor(a, b);
    auto quotient = [&](const SymPolynomial& above, const SymPolynomial& below) {
      const SymNode operands[] = {above.toNode(builder), below.toNode(builder)};
      return builder.call(function, operands);
    };
    if (!isQuotient) return fromNode(quotient(a, b), hint);
    const SymPolynomial above = common == 1 ? a : a.splitMultiples(common).first;
    const SymPolynomial below = common == 1 ? b : b.splitMultiples(common).first;
    const std::optional<int64_t> number = below.number();
    if (!number) return fromNode(quotient(above, below), hint);
    const auto [multiples, rest] = above.splitMultiples(*number);
    if (multiples.number() == 0) return fromNode(quotient(above, below), hint);
    const std::optional<int64_t> remainder = rest.number();
    const SymNode part =
        remainder ? SymBuilder::integer(roundedDownQuotient(*remainder, *number)) : quotient(rest, below);
    const auto total = SymPolynomial::sum(multiples, SymPolynomial::of(part), 1);
    return fromNode(total ? total->toNode(builder) : quotient(above, below), hint);
  }
  // Maxima and minima, whose operands have no order of their own.
  SymNode operands[] = {a.toNode(builder), b.toNode(builder)};
  std::string first, second;
  appendSrepr(first, operands[0]);
  appendSrepr(second, operands[1]);
  if (!a.number() && (b.number() || second < first)) std::swap(operands[0], operands[1]);
  return fromNode(builder.call(function, operands), hint);
}

SymInt apply(SymFunction function, const SymInt& a, const SymInt& b) {
  const Hint x = hintOf(a), y = hintOf(b);
  const Hint hint = x && y ? compute(function, *x, *y) : std::nullopt;
  if (!a.isSymbolic() && !b.isSymbolic()) {
    if (hint) return SymInt(*hint);
    if (b.value() == 0 && function != SymFunction::Add && function != SymFunction::Mul) {
      fail<UsageError>("expected a divisor other than 0");
    }
    fail<UsageError>("expected sizes that fit 64 bits, found {} and {}", a.value(), b.value());
  }
  if (isTooLarge(a) || isTooLarge(b)) throw ShapeUnknown();
  const SymPolynomial left = polynomialOf(a), right = polynomialOf(b);
  if (function == SymFunction::Add || function == SymFunction::Mul) {
    const auto result = function == SymFunction::Add ? SymPolynomial::sum(left, right, 1)
                                                     : SymPolynomial::product(left, right);
    if (result) {
      std::pmr::monotonic_buffer_resource arena;
      SymBuilder builder(arena);
      return fromNode(result->toNode(builder), hint);
    }
  }
  return symbolicCall(function, left, right, hint);
}

}  // namespace

SymInt symAdd(const SymInt& a, const SymInt& b) {
  return apply(SymFunction::Add, a, b);
}

SymInt symSub(const SymInt& a, const SymInt& b) {
  return symAdd(a, symMul(b, SymInt(-1)));
}

SymInt symMul(const SymInt& a, const SymInt& b) {
  if (!a.isSymbolic() && a.value() == 1) return b;
  if (!b.isSymbolic() && b.value() == 1) return a;
  return apply(SymFunction::Mul, a, b);
}

SymInt symFloorDiv(const SymInt& a, const SymInt& b) {
  if (!b.isSymbolic() && b.value() == 1) return a;
  return apply(SymFunction::FloorDiv, a, b);
}

SymInt symMod(const SymInt& a, const SymInt& b) {
  // The two differ only below zero; torch writes the first where it can.
  const bool isPlain = symAtLeast(a, SymInt(0)) && symAtLeast(b, SymInt(0));
  return apply(isPlain ? SymFunction::Mod : SymFunction::PythonMod, a, b);
}

SymInt symMax(const SymInt& a, const SymInt& b) {
  if (symAtLeast(a, b)) return a;
  if (symAtLeast(b, a)) return b;
  return apply(SymFunction::Max, a, b);
}

SymInt symMin(const SymInt& a, const SymInt& b) {
  if (symAtLeast(b, a)) return a;
  if (symAtLeast(a, b)) return b;
  return apply(SymFunction::Min, a, b);
}

bool symEqual(const SymInt& a, const SymInt& b) {
  if (!a.isSymbolic() && !b.isSymbolic()) return a.value() == b.value();
  return a == b || (!isTooLarge(a) && !isTooLarge(b) && polynomialOf(a) == polynomialOf(b));
}

std::optional<int> symCompare(const SymInt& a, const SymInt& b) {
  if (!a.isSymbolic() && !b.isSymbolic()) return a.value() < b.value() ? -1 : a.value() > b.value() ? 1 : 0;
  if (a == b) return 0;
  if (isTooLarge(a) || isTooLarge(b)) return std::nullopt;
  const auto difference = SymPolynomial::sum(polynomialOf(a), polynomialOf(b), -1);
  return difference ? difference->sign() : std::nullopt;
}

bool symAtLeast(const SymInt& a, const SymInt& b) {
  if (!a.isSymbolic() && !b.isSymbolic()) return a.value() >= b.value();
  if (isTooLarge(a) || isTooLarge(b)) return false;
  const auto difference = SymPolynomial::sum(polynomialOf(a), polynomialOf(b), -1);
  return difference && difference->isNeverNegative();
}

}  // namespace edgefx::detail

#include "ir/sym_polynomial.h"

#include "ir/wide_int.h"

#include <limits>
#include <numeric>
#include <vector>

namespace edgefx::detail {
namespace {

constexpr int64_t kMostExponent = 16;

// The least number that the atom may be, if it is a symbol.
std::optional<int64_t> leastOfAtom(const SymNode& atom) {
  if (atom.kind() != SymKind::Symbol) return std::nullopt;
  if (atom.name().starts_with('s')) return 2;
  return atom.name().starts_with('u') ? std::optional<int64_t>(0) : std::nullopt;
}

}  // namespace

bool SymPolynomial::add(const Monomial& monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  const auto [place, isNew] = terms_.try_emplace(monomial, coefficient);
  if (isNew) return terms_.size() <= kMostTerms;
  if (__builtin_add_overflow(place->second, coefficient, &place->second)) return false;
  if (place->second == 0) terms_.erase(place);
  return true;
}

SymPolynomial SymPolynomial::of(int64_t value) {
  SymPolynomial polynomial;
  polynomial.add({}, value);
  return polynomial;
}

SymPolynomial SymPolynomial::atom(const SymNode& node) {
  SymPolynomial polynomial;
  std::string text;
  appendSrepr(text, node);
  polynomial.terms_[{{text, 1}}] = 1;
  polynomial.atoms_.emplace(std::move(text), node);
  return polynomial;
}

SymPolynomial SymPolynomial::of(const SymNode& node) {
  if (node.kind() == SymKind::Integer) return of(node.integerValue());
  switch (node.function()) {
    case SymFunction::Identity:
      return of(node.args()[0]);
    case SymFunction::Max:
    case SymFunction::Min:
      return extremum(node);
    case SymFunction::Add: {
      SymPolynomial total;
      for (const SymNode& arg : node.args()) {
        std::optional<SymPolynomial> next = sum(total, of(arg), 1);
        if (!next) return atom(node);
        total = std::move(*next);
      }
      return total;
    }
    case SymFunction::Mul: {
      SymPolynomial total = of(1);
      for (const SymNode& arg : node.args()) {
        std::optional<SymPolynomial> next = product(total, of(arg));
        if (!next) return atom(node);
        total = std::move(*next);
      }
      return total;
    }
    case SymFunction::Pow:
    case SymFunction::PowByNatural: {
      const SymNode& exponent = node.args()[1];
      if (exponent.kind() != SymKind::Integer || exponent.integerValue() < 0 ||
          exponent.integerValue() > kMostExponent) {
        return atom(node);
      }
      const SymPolynomial base = of(node.args()[0]);
      SymPolynomial total = of(1);
      for (int64_t i = 0; i < exponent.integerValue(); ++i) {
        std::optional<SymPolynomial> next = product(total, base);
        if (!next) return atom(node);
        total = std::move(*next);
      }
      return total;
    }
    default:
      return atom(node);
  }
}

std::optional<SymPolynomial> SymPolynomial::sum(const SymPolynomial& a, const SymPolynomial& b,
                                                int64_t factor) {
  SymPolynomial total = a;
  total.atoms_.insert(b.atoms_.begin(), b.atoms_.end());
  for (const auto& [monomial, coefficient] : b.terms_) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(coefficient, factor, &scaled) || !total.add(monomial, scaled))
      return std::nullopt;
  }
  return total;
}

std::optional<SymPolynomial> SymPolynomial::product(const SymPolynomial& a, const SymPolynomial& b) {
  SymPolynomial total;
  total.atoms_ = a.atoms_;
  total.atoms_.insert(b.atoms_.begin(), b.atoms_.end());
  for (const auto& [left, leftCoefficient] : a.terms_) {
    for (const auto& [right, rightCoefficient] : b.terms_) {
      Monomial both = left;
      for (const auto& [name, exponent] : right) both[name] += exponent;
      int64_t coefficient = 0;
      if (__builtin_mul_overflow(leftCoefficient, rightCoefficient, &coefficient)) return std::nullopt;
      if (!total.add(both, coefficient)) return std::nullopt;
    }
  }
  return total;
}

std::optional<SymPolynomial> SymPolynomial::exactQuotient(const SymPolynomial& divisor) const {
  if (divisor.terms_.size() != 1) return std::nullopt;
  const auto& [below, divisorCoefficient] = *divisor.terms_.begin();
  SymPolynomial quotient;
  quotient.atoms_ = atoms_;
  for (const auto& [above, coefficient] : terms_) {
    if (divisorCoefficient == -1 && coefficient == std::numeric_limits<int64_t>::min()) return std::nullopt;
    if (coefficient % divisorCoefficient != 0) return std::nullopt;
    Monomial left = above;
    for (const auto& [name, exponent] : below) {
      const auto found = left.find(name);
      if (found == left.end() || found->second < exponent) return std::nullopt;
      found->second -= exponent;
      if (found->second == 0) left.erase(found);
    }
    quotient.add(left, coefficient / divisorCoefficient);
  }
  return quotient;
}

std::pair<SymPolynomial, SymPolynomial> SymPolynomial::splitMultiples(int64_t divisor) const {
  SymPolynomial multiples, rest;
  multiples.atoms_ = rest.atoms_ = atoms_;
  for (const auto& [monomial, coefficient] : terms_) {
    if (divisor != -1 && coefficient % divisor == 0) {
      multiples.add(monomial, coefficient / divisor);
    } else {
      rest.add(monomial, coefficient);
    }
  }
  return {std::move(multiples), std::move(rest)};
}

int64_t SymPolynomial::commonDivisor(const SymPolynomial& a, const SymPolynomial& b) {
  int64_t common = 0;
  for (const SymPolynomial* side : {&a, &b}) {
    for (const auto& term : side->terms_) {
      if (term.second == std::numeric_limits<int64_t>::min()) return 1;
      common = std::gcd(common, term.second);
    }
  }
  return common == 0 ? 1 : common;
}

std::optional<int64_t> SymPolynomial::number() const {
  if (terms_.empty()) return 0;
  if (terms_.size() > 1 || !terms_.begin()->first.empty()) return std::nullopt;
  return terms_.begin()->second;
}

struct SymPolynomial::Bounds {
  std::optional<WideInt> least, most;
};

SymPolynomial::Bounds SymPolynomial::bounds() const {
  // Products of such symbols grow with each of them. If the terms with symbols have one sign, the value is
  // least, or most, where the symbols are.
  bool hasPositive = false, hasNegative = false;
  WideInt extreme = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    WideInt value = coefficient;
    for (const auto& [name, exponent] : monomial) {
      const std::optional<int64_t> lower = leastOfAtom(atoms_.at(name));
      if (!lower || exponent > kMostExponent) return {};
      for (int64_t i = 0; i < exponent; ++i) value *= *lower;
    }
    if (!monomial.empty()) (coefficient > 0 ? hasPositive : hasNegative) = true;
    extreme += value;
  }
  Bounds bounds;
  if (!hasNegative) bounds.least = extreme;
  if (!hasPositive) bounds.most = extreme;
  return hasNegative && hasPositive ? boundsFromLeast() : bounds;
}

// The same over what each symbol is more than its least: s0*s0 - s0 is t*t + 3*t + 2 for s0 = t + 2.
SymPolynomial::Bounds SymPolynomial::boundsFromLeast() const {
  SymPolynomial shifted = of(0);
  for (const auto& [monomial, coefficient] : terms_) {
    std::optional<SymPolynomial> term = of(coefficient);
    for (const auto& [name, exponent] : monomial) {
      const SymNode& node = atoms_.at(name);
      const std::optional<int64_t> lower = leastOfAtom(node);
      if (!lower) return {};
      const std::optional<SymPolynomial> factor = sum(atom(node), of(*lower), 1);
      if (!factor) return {};
      for (int64_t i = 0; term && i < exponent; ++i) term = product(*term, *factor);
    }
    std::optional<SymPolynomial> total = term ? sum(shifted, *term, 1) : std::nullopt;
    if (!total) return {};
    shifted = std::move(*total);
  }
  bool hasPositive = false, hasNegative = false;
  WideInt extreme = 0;
  for (const auto& [monomial, coefficient] : shifted.terms_) {
    if (monomial.empty()) extreme = coefficient;
    if (!monomial.empty()) (coefficient > 0 ? hasPositive : hasNegative) = true;
  }
  Bounds bounds;
  if (!hasNegative) bounds.least = extreme;
  if (!hasPositive) bounds.most = extreme;
  return bounds;
}

std::optional<int> SymPolynomial::sign() const {
  const Bounds found = bounds();
  if (found.least && *found.least > 0) return 1;
  if (found.most && *found.most < 0) return -1;
  return found.least && found.most && *found.least == 0 && *found.most == 0 ? std::optional(0) : std::nullopt;
}

bool SymPolynomial::isNeverNegative() const {
  const Bounds found = bounds();
  return found.least && *found.least >= 0;
}

// The one operand that is never beyond the others, or an atom.
SymPolynomial SymPolynomial::extremum(const SymNode& node) {
  if (node.args().empty()) return atom(node);
  const int64_t direction = node.function() == SymFunction::Max ? 1 : -1;
  SymPolynomial best = of(node.args()[0]);
  for (const SymNode& arg : node.args().subspan(1)) {
    SymPolynomial other = of(arg);
    const std::optional<SymPolynomial> difference = sum(best, other, -1);
    if (!difference) return atom(node);
    const std::optional<SymPolynomial> lead = sum(of(0), *difference, direction);
    const std::optional<SymPolynomial> lag = sum(of(0), *difference, -direction);
    if (lead && lead->isNeverNegative()) continue;
    if (!lag || !lag->isNeverNegative()) return atom(node);
    best = std::move(other);
  }
  return best;
}

SymNode SymPolynomial::toNode(SymBuilder& builder) const {
  std::vector<SymNode> sum;
  std::optional<SymNode> number;
  for (const auto& [monomial, coefficient] : terms_) {
    if (monomial.empty()) {
      number = SymBuilder::integer(coefficient);
      continue;
    }
    std::vector<SymNode> factors;
    for (const auto& [name, exponent] : monomial) {
      const SymNode& base = atoms_.at(name);
      const SymNode power[] = {base, SymBuilder::integer(exponent)};
      factors.push_back(exponent == 1 ? base : builder.call(SymFunction::Pow, power));
    }
    if (coefficient != 1 || factors.empty())
      factors.insert(factors.begin(), SymBuilder::integer(coefficient));
    sortSymFactors(factors);
    sum.push_back(factors.size() == 1 ? factors.front() : builder.call(SymFunction::Mul, factors));
  }
  if (number) sum.push_back(*number);
  if (sum.empty()) return SymBuilder::integer(0);
  sortSymTerms(sum);
  return sum.size() == 1 ? sum.front() : builder.call(SymFunction::Add, sum);
}

}  // namespace edgefx::detail

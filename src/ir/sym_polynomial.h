#pragma once

#include "ir/sym_builder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace edgefx::detail {

// A sum of products with whole factors. What is no sum, product or power is an atom, told apart by its text.
// Refers to the nodes of the expressions it was read from: these must live as long.
class SymPolynomial {
 public:
  // Atom (constructor form) and exponent, by text.
  using Monomial = std::map<std::string, int64_t>;

  static SymPolynomial of(int64_t value);
  static SymPolynomial of(const SymNode& node);

  // Nothing if a number does not fit, or there would be more than kMostTerms terms.
  static std::optional<SymPolynomial> sum(const SymPolynomial& a, const SymPolynomial& b, int64_t factor);
  static std::optional<SymPolynomial> product(const SymPolynomial& a, const SymPolynomial& b);

  // The quotient if this is the divisor times a polynomial; only divisors of one term are tried.
  std::optional<SymPolynomial> exactQuotient(const SymPolynomial& divisor) const;
  // Terms that are multiples of the number, divided by it, and the others.
  std::pair<SymPolynomial, SymPolynomial> splitMultiples(int64_t divisor) const;
  // The greatest number that divides all coefficients of both.
  static int64_t commonDivisor(const SymPolynomial& a, const SymPolynomial& b);

  std::optional<int64_t> number() const;
  // See symCompare and symAtLeast.
  std::optional<int> sign() const;
  bool isNeverNegative() const;

  // As a node whose operands lie in the builder's arena.
  SymNode toNode(SymBuilder& builder) const;

  friend bool operator==(const SymPolynomial& a, const SymPolynomial& b) { return a.terms_ == b.terms_; }

 private:
  static constexpr size_t kMostTerms = 64;

  struct Bounds;  // of the value, where the form tells them

  bool add(const Monomial& monomial, int64_t coefficient);
  Bounds bounds() const;
  Bounds boundsFromLeast() const;
  static SymPolynomial extremum(const SymNode& node);
  static SymPolynomial atom(const SymNode& node);

  std::map<Monomial, int64_t> terms_;
  std::map<std::string, SymNode> atoms_;
};

}  // namespace edgefx::detail

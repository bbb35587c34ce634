#pragma once

#include <edgefx/ir/sym_value.h>

#include "ir/wide_int.h"

#include <compare>
#include <cstdint>

namespace edgefx::detail {

// A fault of arithmetic, turned into a UsageError where the whole expression is known.
struct SymFault {
  const char* message;
};

// A number or condition while an expression is evaluated: numerator / denominator in lowest terms, or a
// double. The operations throw SymFault on overflow and division by zero.
class SymNumber {
 public:
  static SymNumber whole(int64_t value) { return fraction(value, 1); }
  static SymNumber real(double value);
  static SymNumber condition(bool value);
  static SymNumber fraction(int64_t numerator, int64_t denominator);

  bool isReal() const { return isReal_; }
  bool isCondition() const { return isCondition_; }
  bool isWhole() const { return !isReal_ && denominator_ == 1; }
  bool isTrue() const { return isReal_ ? real_ != 0 : numerator_ != 0; }
  double toDouble() const;
  int64_t toWhole() const;  // SymFault if it is none
  SymValue toValue() const;

  friend SymNumber operator+(const SymNumber& a, const SymNumber& b);
  friend SymNumber operator*(const SymNumber& a, const SymNumber& b);
  friend SymNumber operator/(const SymNumber& a, const SymNumber& b);
  SymNumber negated() const { return whole(-1) * *this; }
  friend SymNumber floorDiv(const SymNumber& a, const SymNumber& b);
  friend SymNumber pythonMod(const SymNumber& a, const SymNumber& b);
  friend SymNumber power(const SymNumber& base, const SymNumber& exponent);
  friend std::partial_ordering compare(const SymNumber& a, const SymNumber& b);

  // Whole numbers, SymFault if they do not fit.
  SymNumber floor() const;
  SymNumber ceil() const { return negated().floor().negated(); }
  SymNumber trunc() const;
  SymNumber round() const;
  // To that many decimal places.
  SymNumber round(int64_t digits) const;

 private:
  // Of 128-bit intermediate results: reduced, and checked to fit.
  static SymNumber reduced(WideInt numerator, WideInt denominator);

  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
  double real_ = 0;
  bool isReal_ = false;
  bool isCondition_ = false;
};

}  // namespace edgefx::detail

#include "ir/sym_number.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>

namespace edgefx::detail {
namespace {

[[noreturn]] void failOverflow() {
  throw SymFault{"a number that does not fit 64 bits"};
}

[[noreturn]] void failDivision() {
  throw SymFault{"a division by zero"};
}

WideInt floorQuotient(WideInt a, WideInt b) {
  const WideInt quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t narrow(WideInt value) {
  if (value < std::numeric_limits<int64_t>::min() || value > std::numeric_limits<int64_t>::max())
    failOverflow();
  return static_cast<int64_t>(value);
}

SymNumber wholeOfDouble(double value) {
  // 2^63 is a double, the greatest int64 is none.
  constexpr double kLimit = 9223372036854775808.0;
  if (!(value >= -kLimit && value < kLimit)) failOverflow();
  return SymNumber::whole(static_cast<int64_t>(value));
}

SymNumber wholePower(SymNumber base, int64_t exponent) {
  SymNumber result = SymNumber::whole(1);
  while (exponent > 0) {
    if (exponent % 2 == 1) result = result * base;
    exponent /= 2;
    if (exponent > 0) base = base * base;
  }
  return result;
}

}  // namespace

SymNumber SymNumber::real(double value) {
  SymNumber number;
  number.isReal_ = true;
  number.real_ = value;
  return number;
}

SymNumber SymNumber::condition(bool value) {
  SymNumber number;
  number.isCondition_ = true;
  number.numerator_ = value ? 1 : 0;
  return number;
}

SymNumber SymNumber::fraction(int64_t numerator, int64_t denominator) {
  if (denominator != 1) return reduced(numerator, denominator);
  SymNumber number;
  number.numerator_ = numerator;
  return number;
}

SymNumber SymNumber::reduced(WideInt numerator, WideInt denominator) {
  if (denominator == 0) failDivision();
  WideInt a = numerator, b = denominator;
  while (b != 0) {
    const WideInt rest = a % b;
    a = b;
    b = rest;
  }
  // The divisor has a sign of its own: the denominator must come out positive.
  if ((a < 0) != (denominator < 0)) a = -a;
  SymNumber number;
  number.numerator_ = narrow(numerator / a);
  number.denominator_ = narrow(denominator / a);
  return number;
}

double SymNumber::toDouble() const {
  if (isReal_) return real_;
  return static_cast<double>(static_cast<long double>(numerator_) / static_cast<long double>(denominator_));
}

int64_t SymNumber::toWhole() const {
  if (isReal_ || denominator_ != 1) throw SymFault{"a number that should be whole, but is not"};
  return numerator_;
}

SymValue SymNumber::toValue() const {
  if (isCondition_) return isTrue();
  if (isWhole()) return numerator_;
  return toDouble();
}

SymNumber operator+(const SymNumber& a, const SymNumber& b) {
  if (a.isReal_ || b.isReal_) return SymNumber::real(a.toDouble() + b.toDouble());
  const WideInt x = a.numerator_, y = b.numerator_;
  // Each product fits 127 bits, so their sum fits, too.
  return SymNumber::reduced(x * b.denominator_ + y * a.denominator_,
                            WideInt(a.denominator_) * b.denominator_);
}

SymNumber operator*(const SymNumber& a, const SymNumber& b) {
  if (a.isReal_ || b.isReal_) return SymNumber::real(a.toDouble() * b.toDouble());
  return SymNumber::reduced(WideInt(a.numerator_) * b.numerator_, WideInt(a.denominator_) * b.denominator_);
}

SymNumber operator/(const SymNumber& a, const SymNumber& b) {
  if (a.isReal_ || b.isReal_) {
    if (b.toDouble() == 0) failDivision();
    return SymNumber::real(a.toDouble() / b.toDouble());
  }
  return SymNumber::reduced(WideInt(a.numerator_) * b.denominator_, WideInt(a.denominator_) * b.numerator_);
}

SymNumber floorDiv(const SymNumber& a, const SymNumber& b) {
  if (!a.isReal_ && !b.isReal_) {
    if (b.numerator_ == 0) failDivision();
    return SymNumber::whole(narrow(
        floorQuotient(WideInt(a.numerator_) * b.denominator_, WideInt(b.numerator_) * a.denominator_)));
  }
  if (b.toDouble() == 0) failDivision();
  return SymNumber::real(std::floor(a.toDouble() / b.toDouble()));
}

SymNumber pythonMod(const SymNumber& a, const SymNumber& b) {
  if (a.isWhole() && b.isWhole()) {
    if (b.numerator_ == 0) failDivision();
    const WideInt x = a.numerator_, y = b.numerator_;
    return SymNumber::whole(narrow(x - floorQuotient(x, y) * y));
  }
  if (!a.isReal_ && !b.isReal_) return a + (b * floorDiv(a, b)).negated();
  const double divisor = b.toDouble();
  if (divisor == 0) failDivision();
  double rest = std::fmod(a.toDouble(), divisor);
  if (rest != 0 && (rest < 0) != (divisor < 0)) rest += divisor;
  return SymNumber::real(rest);
}

SymNumber power(const SymNumber& base, const SymNumber& exponent) {
  if (!base.isReal_ && exponent.isWhole()) {
    if (exponent.numerator_ >= 0) return wholePower(base, exponent.numerator_);
    if (base.numerator_ == 0) failDivision();
    if (exponent.numerator_ == std::numeric_limits<int64_t>::min()) failOverflow();
    return SymNumber::whole(1) / wholePower(base, -exponent.numerator_);
  }
  const double below = base.toDouble(), above = exponent.toDouble();
  if (below == 0 && above < 0) failDivision();
  return SymNumber::real(std::pow(below, above));
}

std::partial_ordering compare(const SymNumber& a, const SymNumber& b) {
  if (!a.isReal_ && !b.isReal_) {
    const WideInt left = WideInt(a.numerator_) * b.denominator_,
                  right = WideInt(b.numerator_) * a.denominator_;
    return left < right   ? std::partial_ordering::less
           : left > right ? std::partial_ordering::greater
                          : std::partial_ordering::equivalent;
  }
  // A long double holds every int64 and every double.
  const auto wide = [](const SymNumber& number) {
    return number.isReal_ ? static_cast<long double>(number.real_)
                          : static_cast<long double>(number.numerator_) / number.denominator_;
  };
  return wide(a) <=> wide(b);
}

SymNumber SymNumber::floor() const {
  if (isReal_) return wholeOfDouble(std::floor(real_));
  return whole(narrow(floorQuotient(numerator_, denominator_)));
}

SymNumber SymNumber::trunc() const {
  return (isReal_ ? real_ < 0 : numerator_ < 0) ? ceil() : floor();
}

SymNumber SymNumber::round() const {
  if (isReal_) return wholeOfDouble(std::nearbyint(real_));
  const SymNumber below = floor();
  const std::partial_ordering order = compare(*this + below.negated(), fraction(1, 2));
  if (order < 0 || (order == 0 && below.numerator_ % 2 == 0)) return below;
  return below + whole(1);
}

SymNumber SymNumber::round(int64_t digits) const {
  constexpr int64_t kMostDigits = 308;
  if (isWhole() && digits >= 0) return *this;
  if (digits < 0 && isReal_) {
    if (digits < -kMostDigits) return real(0);
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return real(std::nearbyint(real_ / scale) * scale);
  }
  if (digits < -19) return whole(0);  // 10^20 / 2 is beyond all whole numbers
  if (digits < 0) {
    const SymNumber scale = wholePower(whole(10), -digits - 1);
    const SymNumber multiple = (*this / scale / whole(10)).round();
    return multiple * scale * whole(10);
  }
  const double value = toDouble();
  if (digits > kMostDigits || !std::isfinite(value)) return real(value);
  std::string text(kMostDigits * 3, '\0');  // as many before the point, and the sign
  std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value);
  return real(std::strtod(text.c_str(), nullptr));
}

}  // namespace edgefx::detail

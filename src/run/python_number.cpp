#include "run/python_number.h"

#include <edgefx/support/python_text.h>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

namespace edgefx::detail {
namespace {

using Kind = PythonNumber::Kind;

bool isEitherFloat(PythonNumber a, PythonNumber b) {
  return a.isFloat() || b.isFloat();
}

[[noreturn]] void raiseOverflow(PythonNumber a, std::string_view op, PythonNumber b) {
  raise("{} {} {} does not fit 64 bits", a.text(), op, b.text());
}

struct FloatDivision {
  double quotient, remainder;
};

// As Python's float_divmod.
FloatDivision floatDivision(double a, double b) {
  if (b == 0) raise("float floor division or modulo by zero");
  double remainder = std::fmod(a, b);
  double quotient = (a - remainder) / b;
  if (remainder != 0) {
    if ((b < 0) != (remainder < 0)) {
      remainder += b;
      quotient -= 1;
    }
  } else {
    remainder = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), remainder};
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1;
  return {floored, remainder};
}

struct IntDivision {
  int64_t quotient, remainder;
};

IntDivision intDivision(PythonNumber a, PythonNumber b) {
  const int64_t divisor = b.integer();
  if (divisor == 0) raise("integer division or modulo by zero");
  if (a.integer() == INT64_MIN && divisor == -1) raiseOverflow(a, "//", b);
  IntDivision result{a.integer() / divisor, a.integer() % divisor};
  if (result.remainder != 0 && (result.remainder < 0) != (divisor < 0)) {
    result.remainder += divisor;
    --result.quotient;
  }
  return result;
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

__extension__ using Wide = unsigned __int128;

// The quotient rounded once, as Python has it; dividing doubles would round large ints before.
double exactQuotient(int64_t a, int64_t b) {
  const uint64_t dividend = magnitude(a), divisor = magnitude(b);
  constexpr uint64_t kExact = uint64_t{1} << 53;
  double result = 0;
  if (dividend <= kExact && divisor <= kExact) {
    result = static_cast<double>(dividend) / static_cast<double>(divisor);
  } else {
    const int shift = 126 - std::bit_width(dividend);
    const Wide wide = Wide(dividend) << shift;
    Wide quotient = wide / divisor;
    bool isInexact = wide % divisor != 0;
    int dropped = 0;
    for (; quotient >> 62 != 0; ++dropped, quotient >>= 1) isInexact = isInexact || (quotient & 1) != 0;
    // The last bit stands for all that is lost below the 53 that count.
    const uint64_t digits = static_cast<uint64_t>(quotient) | (isInexact ? 1 : 0);
    result = std::ldexp(static_cast<double>(digits), dropped - shift);
  }
  return (a < 0) != (b < 0) ? -result : result;
}

int64_t intPower(PythonNumber a, PythonNumber b) {
  int64_t result = 1, base = a.integer();
  for (uint64_t exponent = static_cast<uint64_t>(b.integer()); exponent != 0;) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) raiseOverflow(a, "**", b);
    exponent >>= 1;
    if (exponent != 0 && __builtin_mul_overflow(base, base, &base)) {
      raiseOverflow(a, "**", b);
    }
  }
  return result;
}

double floatPower(double a, double b) {
  if (a == 0 && b < 0 && std::isfinite(b)) raise("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    raise("a negative number raised to a fraction is complex");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) raise("result of power is too large");
  return result;
}

}  // namespace

PythonNumber PythonNumber::of(const c10::IValue& value) {
  if (value.isBool()) return ofBool(value.toBool());
  if (value.isInt()) return ofInt(value.toInt());
  if (value.isDouble()) return ofFloat(value.toDouble());
  raise("expected a number, found {}", value.tagKind());
}

int64_t PythonNumber::integer() const {
  if (isFloat()) raise("expected an int, found the float {}", text());
  return integer_;
}

c10::IValue PythonNumber::value() const {
  if (kind_ == Kind::Bool) return integer_ != 0;
  if (kind_ == Kind::Int) return integer_;
  return real_;
}

std::string PythonNumber::text() const {
  if (kind_ == Kind::Bool) return integer_ != 0 ? "True" : "False";
  std::string text;
  if (kind_ == Kind::Int) {
    appendRepr(text, integer_);
  } else {
    appendRepr(text, real_);
  }
  return text;
}

PythonNumber add(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(a.real() + b.real());
  int64_t result = 0;
  if (__builtin_add_overflow(a.integer(), b.integer(), &result)) raiseOverflow(a, "+", b);
  return PythonNumber::ofInt(result);
}

PythonNumber subtract(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(a.real() - b.real());
  int64_t result = 0;
  if (__builtin_sub_overflow(a.integer(), b.integer(), &result)) raiseOverflow(a, "-", b);
  return PythonNumber::ofInt(result);
}

PythonNumber multiply(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(a.real() * b.real());
  int64_t result = 0;
  if (__builtin_mul_overflow(a.integer(), b.integer(), &result)) raiseOverflow(a, "*", b);
  return PythonNumber::ofInt(result);
}

PythonNumber divide(PythonNumber a, PythonNumber b) {
  if (!b.isTrue()) raise("division by zero");
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(a.real() / b.real());
  return PythonNumber::ofFloat(exactQuotient(a.integer(), b.integer()));
}

PythonNumber floorDivide(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(floatDivision(a.real(), b.real()).quotient);
  return PythonNumber::ofInt(intDivision(a, b).quotient);
}

PythonNumber modulo(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b)) return PythonNumber::ofFloat(floatDivision(a.real(), b.real()).remainder);
  if (b.integer() == -1) return PythonNumber::ofInt(0);  // the quotient may overflow
  return PythonNumber::ofInt(intDivision(a, b).remainder);
}

PythonNumber power(PythonNumber a, PythonNumber b) {
  if (isEitherFloat(a, b) || b.integer() < 0) return PythonNumber::ofFloat(floatPower(a.real(), b.real()));
  return PythonNumber::ofInt(intPower(a, b));
}

PythonNumber negative(PythonNumber a) {
  if (a.isFloat()) return PythonNumber::ofFloat(-a.real());
  return subtract(PythonNumber::ofInt(0), a);
}

PythonNumber absolute(PythonNumber a) {
  if (a.isFloat()) return PythonNumber::ofFloat(std::fabs(a.real()));
  return a.integer() < 0 ? negative(a) : PythonNumber::ofInt(a.integer());
}

// A long double holds every int64 and every double.
static_assert(std::numeric_limits<long double>::digits >= 64);

bool isLess(PythonNumber a, PythonNumber b) {
  if (!isEitherFloat(a, b)) return a.integer() < b.integer();
  const auto exact = [](PythonNumber number) {
    return number.isFloat() ? static_cast<long double>(number.real())
                            : static_cast<long double>(number.integer());
  };
  return exact(a) < exact(b);
}

bool isEqual(PythonNumber a, PythonNumber b) {
  const bool hasNan = (a.isFloat() && std::isnan(a.real())) || (b.isFloat() && std::isnan(b.real()));
  return !hasNan && !isLess(a, b) && !isLess(b, a);
}

PythonNumber wholeNumber(double value) {
  if (std::isnan(value)) raise("cannot convert float NaN to integer");
  if (std::isinf(value)) raise("cannot convert float infinity to integer");
  constexpr double kLimit = 9223372036854775808.0;
  if (value < -kLimit || value >= kLimit)
    raise("{} does not fit 64 bits", PythonNumber::ofFloat(value).text());
  return PythonNumber::ofInt(static_cast<int64_t>(value));
}

PythonNumber roundToInt(PythonNumber a) {
  if (!a.isFloat()) return PythonNumber::ofInt(a.integer());
  // To even at ties, whatever rounding mode is set.
  const double floored = std::floor(a.real());
  const double rest = a.real() - floored;
  const bool isUp = rest > 0.5 || (rest == 0.5 && std::fmod(floored, 2) != 0);
  return wholeNumber(isUp ? floored + 1 : floored);
}

namespace {

int64_t roundIntToDigits(PythonNumber a, int64_t digits) {
  if (digits >= 0) return a.integer();
  if (digits < -18) {
    // No power of ten beyond the 18th is an int, and half the 20th is beyond them all.
    constexpr uint64_t kHalf = 5'000'000'000'000'000'000;
    if (digits == -19 && magnitude(a.integer()) > kHalf)
      raise("round({}, {}) does not fit 64 bits", a.text(), digits);
    return 0;
  }
  int64_t unit = 1;
  for (int64_t i = digits; i < 0; ++i) unit *= 10;
  const IntDivision division = intDivision(a, PythonNumber::ofInt(unit));
  const int64_t half = unit / 2;
  const bool isUp = division.remainder > half || (division.remainder == half && division.quotient % 2 != 0);
  int64_t result = 0;
  if (__builtin_mul_overflow(division.quotient + (isUp ? 1 : 0), unit, &result))
    raise("round({}, {}) does not fit 64 bits", a.text(), digits);
  return result;
}

// The nearest double to the decimal text with that many digits after the point, which is exact.
double throughDecimal(double value, std::chars_format format, int64_t digits) {
  std::array<char, 800> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, format, static_cast<int>(digits));
  double result = 0;
  if (std::from_chars(text.data(), end.ptr, result, format).ec != std::errc())
    raise("rounded value too large to represent");
  return result;
}

double powerOfTen(int64_t digit, int64_t exponent) {
  const std::string text = fmt::format("{}e{}", digit, exponent);
  double result = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), result).ec != std::errc())
    raise("rounded value too large to represent");
  return result;
}

double roundFloatToDigits(double value, int64_t digits) {
  constexpr int64_t kMostDigits = 323;  // all doubles are multiples of half of 10**-323
  if (!std::isfinite(value) || value == 0 || digits > kMostDigits) return value;
  if (digits >= 0) return throughDecimal(value, std::chars_format::fixed, digits);
  if (digits < -400) return std::copysign(0.0, value);
  const std::string text = fmt::format("{:.17e}", std::fabs(value));
  const int64_t exponent = std::strtoll(text.c_str() + text.find('e') + 1, nullptr, 10);
  const int64_t kept = exponent + digits;  // digits after the first that stay
  if (kept >= 0) return throughDecimal(value, std::chars_format::scientific, kept);
  const bool isUp = kept == -1 && std::fabs(value) > powerOfTen(5, exponent);
  return std::copysign(isUp ? powerOfTen(1, exponent + 1) : 0.0, value);
}

}  // namespace

PythonNumber roundToDigits(PythonNumber a, int64_t digits) {
  if (a.isFloat()) return PythonNumber::ofFloat(roundFloatToDigits(a.real(), digits));
  return PythonNumber::ofInt(roundIntToDigits(a, digits));
}

void needArguments(std::span<const c10::IValue> args, size_t least, size_t most) {
  if (args.size() >= least && args.size() <= most) return;
  if (least == most) raise("expected {} arguments, found {}", least, args.size());
  raise("expected {} to {} arguments, found {}", least, most, args.size());
}

}  // namespace edgefx::detail

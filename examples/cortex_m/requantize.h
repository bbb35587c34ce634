#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

// The fixed point arithmetic that CMSIS-NN documents for int8 networks. A real factor is held as
// value / 2^31 * 2^shift, so that scaling an int32 is a multiplication and a shift.
namespace cortex_m {

struct Factor {
  int32_t value = 0;  // from 2^30 to 2^31 - 1, or 0
  int32_t shift = 0;  // positive to the left
};

// The nearest factor. One below 2^-32 becomes 0; nothing for what is negative, no number, or 2^30 and more,
// which no shift of an int32 makes up for.
inline std::optional<Factor> factorOf(double real) {
  if (!(real >= 0) || !std::isfinite(real)) return std::nullopt;
  int exponent = 0;
  int64_t value = std::llround(std::frexp(real, &exponent) * 2147483648.0);
  if (value == int64_t{1} << 31) {
    value /= 2;
    ++exponent;
  }
  if (exponent > 30) return std::nullopt;
  if (exponent < -31) return Factor{};
  return Factor{static_cast<int32_t>(value), exponent};
}

inline int32_t saturated(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

// The upper half of 2ab, ties towards plus infinity, as the vector instruction VQRDMULH has it. Only the
// least integer times itself does not fit, and saturates.
inline int32_t doublingHighMultiply(int32_t a, int32_t b) {
  const int64_t product = static_cast<int64_t>(a) * b;
  return saturated((product + (int64_t{1} << 30)) >> 31);
}

// value / 2^exponent, ties away from zero; exponents from 0 to 31.
inline int32_t roundingDivideByPowerOfTwo(int32_t value, int32_t exponent) {
  const int64_t half = exponent == 0 ? 0 : int64_t{1} << (exponent - 1);
  const int64_t magnitude = (std::abs(static_cast<int64_t>(value)) + half) >> exponent;
  return static_cast<int32_t>(value < 0 ? -magnitude : magnitude);
}

// value * factor. A value that the left shift would push out of 32 bits saturates.
inline int32_t requantize(int32_t value, Factor factor) {
  const int32_t left = std::max(factor.shift, 0);
  const int32_t shifted = saturated(static_cast<int64_t>(value) * (int64_t{1} << left));
  return roundingDivideByPowerOfTwo(doublingHighMultiply(shifted, factor.value), left - factor.shift);
}

// How a result leaves an operator: its zero point, then the clamp that activations narrow.
struct Output {
  int32_t zero = 0;
  int32_t min = -128;
  int32_t max = 127;

  int8_t operator()(int32_t value) const {
    const int64_t moved = static_cast<int64_t>(value) + zero;
    return static_cast<int8_t>(std::clamp<int64_t>(moved, min, max));
  }
};

// Bits by which the operands of an addition are raised, so that scaling them loses nothing that shows.
inline constexpr int32_t kAddBits = 20;

}  // namespace cortex_m

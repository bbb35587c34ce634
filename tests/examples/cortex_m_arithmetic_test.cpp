#include "requantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

// The fixed point arithmetic against rational numbers, which 128 bits hold exactly.
namespace cortex_m {
namespace {

__extension__ typedef __int128 Wide;

constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();

Wide absolute(Wide value) {
  return value < 0 ? -value : value;
}

Wide floorDivide(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient;
}

// Random values, and the edges among them.
class Numbers {
 public:
  int32_t next() {
    static constexpr int32_t kEdges[] = {kLeast, kLeast + 1, -1, 0, 1, kMost - 1, kMost, 1 << 30, -(1 << 30)};
    if (engine_() % 8 == 0) return kEdges[engine_() % std::size(kEdges)];
    // Small ones as often as large ones.
    return static_cast<int32_t>(engine_()) >> (engine_() % 31);
  }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(engine_() % bound); }
  double real() {
    return std::ldexp(1.0 + static_cast<double>(engine_()) / 4294967296.0, static_cast<int>(below(61)) - 31);
  }

 private:
  std::mt19937 engine_{20};
};

TEST(CortexMArithmetic, AFactorIsTheNearestToTheNumber) {
  Numbers numbers;
  for (int i = 0; i < 20000; ++i) {
    const double real = numbers.real();
    const std::optional<Factor> factor = factorOf(real);
    if (real >= std::ldexp(1.0 - std::ldexp(1.0, -32), 30)) {
      EXPECT_FALSE(factor) << real;
      continue;
    }
    ASSERT_TRUE(factor) << real;
    EXPECT_GE(factor->value, 1 << 30) << real;
    EXPECT_GE(factor->shift, -31);
    EXPECT_LE(factor->shift, 30);
    // Exact in doubles: 31 bits and a power of two.
    const double held = std::ldexp(factor->value, factor->shift - 31);
    EXPECT_LE(std::abs(held - real), std::ldexp(0.5, factor->shift - 31)) << real;
  }
}

TEST(CortexMArithmetic, FactorsAtTheEdges) {
  EXPECT_EQ(factorOf(1.0)->value, 1 << 30);
  EXPECT_EQ(factorOf(1.0)->shift, 1);
  EXPECT_EQ(factorOf(0.75)->value, 3 << 29);
  EXPECT_EQ(factorOf(0.75)->shift, 0);
  // Rounds up to a power of two.
  const double below = 1 - std::ldexp(1.0, -40);
  EXPECT_EQ(factorOf(below)->value, 1 << 30);
  EXPECT_EQ(factorOf(below)->shift, 1);
  EXPECT_EQ(factorOf(0)->value, 0);
  EXPECT_EQ(factorOf(std::ldexp(1.0, -32))->shift, -31);
  EXPECT_EQ(factorOf(std::ldexp(1.0, -33))->value, 0);
  for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), std::ldexp(1.0, 30)})
    EXPECT_FALSE(factorOf(bad)) << bad;
  EXPECT_TRUE(factorOf(std::ldexp(1.0, 29)));
}

TEST(CortexMArithmetic, DoublingHighMultiplyRoundsTiesUp) {
  Numbers numbers;
  for (int i = 0; i < 50000; ++i) {
    const int32_t a = numbers.next(), b = numbers.next();
    const Wide upper = floorDivide(Wide(2) * a * b + (Wide(1) << 31), Wide(1) << 32);
    EXPECT_EQ(doublingHighMultiply(a, b), upper > kMost ? kMost : static_cast<int32_t>(upper))
        << a << " * " << b;
  }
  EXPECT_EQ(doublingHighMultiply(kLeast, kLeast), kMost);
  EXPECT_EQ(doublingHighMultiply(1, 1 << 30), 1);    // 0.5
  EXPECT_EQ(doublingHighMultiply(-1, 1 << 30), 0);   // -0.5
  EXPECT_EQ(doublingHighMultiply(-3, 1 << 30), -1);  // -1.5
}

TEST(CortexMArithmetic, DividingByPowersOfTwoRoundsTiesAwayFromZero) {
  const auto check = [](int32_t value, int32_t exponent) {
    const Wide divisor = Wide(1) << exponent;
    const Wide magnitude = floorDivide(2 * absolute(value) + divisor, 2 * divisor);
    EXPECT_EQ(roundingDivideByPowerOfTwo(value, exponent),
              static_cast<int32_t>(value < 0 ? -magnitude : magnitude))
        << value << " / 2^" << exponent;
  };
  for (int32_t exponent = 0; exponent <= 31; ++exponent) {
    for (int32_t value = -70; value <= 70; ++value) check(value, exponent);
    for (const int32_t edge : {kLeast, kLeast + 1, kMost, kMost - 1}) check(edge, exponent);
    if (exponent == 0) continue;
    const int64_t tie = int64_t{1} << (exponent - 1);
    for (const int64_t near : {tie - 1, tie, tie + 1, -tie - 1, -tie, -tie + 1})
      if (near >= kLeast && near <= kMost) check(static_cast<int32_t>(near), exponent);
  }
  Numbers numbers;
  for (int i = 0; i < 50000; ++i) check(numbers.next(), static_cast<int32_t>(numbers.below(32)));
}

// |result - value * factor| in units of 2^-(31 + right) is a half for each of both roundings, the first one
// of which is scaled down by the second.
TEST(CortexMArithmetic, RequantizingIsWithinItsTwoRoundings) {
  Numbers numbers;
  for (int i = 0; i < 100000; ++i) {
    const int32_t value = numbers.next();
    const Factor factor{(1 << 30) + static_cast<int32_t>(numbers.below(1u << 30)),
                        static_cast<int32_t>(numbers.below(62)) - 31};
    const int32_t left = std::max(factor.shift, 0), right = left - factor.shift;
    Wide shifted = Wide(value) << left;
    if (shifted > kMost || shifted < kLeast) shifted = value < 0 ? kLeast : kMost;
    const Wide exact = shifted * factor.value;  // in units of 2^-(31 + right)
    const Wide found = Wide(requantize(value, factor)) << (31 + right);
    EXPECT_LE(absolute(found - exact), (Wide(1) << (30 + right)) + (Wide(1) << 30))
        << value << " * " << factor.value << " << " << factor.shift;
  }
}

TEST(CortexMArithmetic, RequantizingAtTiesAndLimits) {
  const Factor half{1 << 30, 0}, one{1 << 30, 1}, eighth{1 << 30, -2};
  for (int32_t value = -128; value <= 127; ++value) EXPECT_EQ(requantize(value, one), value);
  EXPECT_EQ(requantize(3, half), 2);
  EXPECT_EQ(requantize(-3, half), -1);
  // 0.5 is rounded twice: to 2 of 4 parts, which is a tie, away from zero.
  EXPECT_EQ(requantize(4, eighth), 1);
  EXPECT_EQ(requantize(-4, eighth), -1);
  EXPECT_EQ(requantize(kMost, one), 1 << 30);  // the shift to the left saturates
  EXPECT_EQ(requantize(kMost, Factor{1 << 30, 8}), 1 << 30);
  EXPECT_EQ(requantize(kLeast, Factor{1 << 30, 30}), -(1 << 30));
  // A little less than a half becomes a tie by the first rounding.
  EXPECT_EQ(requantize(kMost, Factor{1 << 30, -31}), 1);
  EXPECT_EQ(requantize(kMost - 2, Factor{1 << 30, -31}), 0);
  EXPECT_EQ(requantize(kLeast, Factor{kMost, -31}), -1);
  EXPECT_EQ(requantize(12345, Factor{}), 0);
}

TEST(CortexMArithmetic, AnOutputMovesAndClamps) {
  const Output output{.zero = 10, .min = 10, .max = 90};
  EXPECT_EQ(output(0), 10);
  EXPECT_EQ(output(-1), 10);
  EXPECT_EQ(output(79), 89);
  EXPECT_EQ(output(81), 90);
  EXPECT_EQ(output(kMost), 90);
  EXPECT_EQ(output(kLeast), 10);
}

}  // namespace
}  // namespace cortex_m

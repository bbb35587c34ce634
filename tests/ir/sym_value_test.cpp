#include <edgefx/ir/sym_value.h>
#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace edgefx {
namespace {

// s0 = 7, s1 = -7, s2 = 2, z = 0, big = the greatest int64; u0 is not bound.
std::optional<int64_t> bindForTest(std::string_view name) {
  if (name == "s0") return 7;
  if (name == "s1") return -7;
  if (name == "s2") return 2;
  if (name == "z") return 0;
  if (name == "big") return std::numeric_limits<int64_t>::max();
  return std::nullopt;
}

std::optional<SymValue> valueOf(std::string_view text) {
  return evaluate(SymExpr::parse(text), bindForTest);
}

void expectWhole(std::string_view text, int64_t expected) {
  EXPECT_EQ(valueOf(text), SymValue(expected)) << text;
}

void expectReal(std::string_view text, double expected) {
  EXPECT_EQ(valueOf(text), SymValue(expected)) << text;
}

void expectCondition(std::string_view text, bool expected) {
  EXPECT_EQ(valueOf(text), SymValue(expected)) << text;
}

std::string faultOf(std::string_view text) {
  try {
    valueOf(text);
  } catch (const UsageError& error) {
    return error.diagnostics().front().message;
  }
  return "no fault";
}

TEST(SymValue, SumsProductsAndPowersOfWholeNumbersAreExact) {
  expectWhole("2*s0 + 1", 15);
  expectWhole("s0*s0 - s1", 56);
  expectWhole("s0**3", 343);
  expectWhole("PowByNatural(s2, 10)", 1024);
  expectWhole("big - 1", std::numeric_limits<int64_t>::max() - 1);
  expectWhole("Mul(Rational(1, 2), Add(s0, Integer(1)))", 4);
  expectReal("Mul(Rational(1, 2), s0)", 3.5);
  expectReal("Pow(s2, Integer(-1))", 0.5);
  expectWhole("Mul(Pow(s2, Integer(-1)), Integer(6))", 3);
  expectReal("Pow(Integer(2), Rational(1, 2))", std::sqrt(2.0));
}

TEST(SymValue, QuotientsRoundAsPythonsDo) {
  expectWhole("FloorDiv(s0, s2)", 3);
  expectWhole("FloorDiv(s1, s2)", -4);
  expectWhole("FloorDiv(s0, Integer(-2))", -4);
  expectWhole("FloorDiv(s1, Integer(-2))", 3);
  expectWhole("CleanDiv(Integer(6), s2)", 3);
  expectWhole("CeilDiv(s0, s2)", 4);
  expectWhole("CeilDiv(s1, s2)", -3);
  expectWhole("PythonMod(s0, s2)", 1);
  expectWhole("PythonMod(s1, Integer(3))", 2);
  expectWhole("Mod(s0, Integer(-3))", -2);
  expectWhole("ModularIndexing(s0, s2, Integer(2))", 1);
  expectReal("IntTrueDiv(s0, s2)", 3.5);
  expectReal("IntTrueDiv(Integer(6), s2)", 3.0);
  expectReal("FloatTrueDiv(s0, s2)", 3.5);
  expectReal("PythonMod(Float('-0.5', precision=53), s2)", 1.5);
  expectReal("FloorDiv(Float('-0.5', precision=53), s2)", -1.0);
}

TEST(SymValue, RoundsToWholeNumbers) {
  expectWhole("CeilToInt(IntTrueDiv(s0, s2))", 4);
  expectWhole("FloorToInt(IntTrueDiv(s1, s2))", -4);
  expectWhole("TruncToInt(IntTrueDiv(s1, s2))", -3);
  expectReal("TruncToFloat(IntTrueDiv(s1, s2))", -3.0);
  expectWhole("RoundToInt(IntTrueDiv(s0, s2))", 4);
  expectWhole("RoundToInt(Float('2.5', precision=53))", 2);
  expectWhole("RoundToInt(Mul(Rational(1, 2), s0))", 4);
  expectWhole("RoundToInt(Rational(5, 2))", 2);
  expectReal("RoundDecimal(Float('2.675', precision=53), Integer(2))", 2.67);
  expectWhole("RoundDecimal(Integer(150), Integer(-2))", 200);
  expectWhole("RoundDecimal(Integer(250), Integer(-2))", 200);
  expectReal("ToFloat(s0)", 7.0);
}

TEST(SymValue, MaximaShiftsAndChoices) {
  expectWhole("Max(Integer(1), s0, s1)", 7);
  expectWhole("Min(Integer(1), s0, s1)", -7);
  expectWhole("Min(oo, s0)", 7);
  expectWhole("Max(-int_oo, s1)", -7);
  expectWhole("LShift(s0, s2)", 28);
  expectWhole("RShift(s1, s2)", -2);
  expectWhole("RShift(s1, Integer(200))", -1);
  expectWhole("LShift(Integer(-1), Integer(63))", std::numeric_limits<int64_t>::min());
  expectWhole("Where(StrictLessThan(s0, s1), u0, s2)", 2);
  expectWhole("Piecewise(ExprCondPair(u0, false), ExprCondPair(s0, true))", 7);
  EXPECT_EQ(valueOf("Piecewise(ExprCondPair(s0, false))"), std::nullopt);
  expectWhole("Identity(s0)", 7);
}

TEST(SymValue, Conditions) {
  expectCondition("Eq(s0, 7)", true);
  expectCondition("Ne(s0, 7)", false);
  expectCondition("s0 <= 7", true);
  expectCondition("s0 < 7", false);
  expectCondition("s0 >= 8", false);
  expectCondition("s0 > 6", true);
  expectCondition("(s0 > 1) & (s2 < 3)", true);
  expectCondition("(s0 > 10) | (s2 < 3)", true);
  expectCondition("And(false, u0 > 1)", false);
  expectCondition("Or(u0 > 1, true)", true);
  EXPECT_EQ(valueOf("Or(u0 > 1, false)"), std::nullopt);
  expectCondition("Xor(true, true, s0 > 1)", true);
  expectCondition("Not(s0 > 1)", false);
  expectCondition("Eq(s0, Float('7.0', precision=53))", true);
  expectCondition("s0 < oo", true);
  // As doubles the two would be equal.
  expectCondition("big < Float('9223372036854775808.0', precision=53)", true);
  expectCondition("Eq(nan, nan)", false);
}

TEST(SymValue, DenseTensors) {
  expectWhole("IsNonOverlappingAndDenseIndicator(s2, s0, s0, Integer(1))", 1);
  expectWhole("IsNonOverlappingAndDenseIndicator(s2, s0, Integer(1), s2)", 1);
  expectWhole("IsNonOverlappingAndDenseIndicator(s2, s0, Integer(14), s2)", 0);
  EXPECT_NE(faultOf("IsNonOverlappingAndDenseIndicator(s2, s0, s0)"), "no fault");
}

TEST(SymValue, NothingWhereTheValueIsNotKnown) {
  EXPECT_EQ(valueOf("u0 + 1"), std::nullopt);
  EXPECT_EQ(valueOf("strange(s0)"), std::nullopt);
  EXPECT_EQ(valueOf("zoo"), std::nullopt);
  EXPECT_EQ(valueOf("I"), std::nullopt);
}

TEST(SymValue, NamesDivisionByZeroAndOverflow) {
  EXPECT_EQ(faultOf("FloorDiv(s0, z)"), "expected the value of '(s0//z)', found a division by zero");
  for (const char* text :
       {"PythonMod(s0, z)", "IntTrueDiv(s0, z)", "FloatTrueDiv(s0, z)", "Pow(z, Integer(-1))",
        "ModularIndexing(s0, z, s2)", "CeilDiv(s0, z)", "Mod(ToFloat(s0), z)"}) {
    EXPECT_NE(faultOf(text).find("a division by zero"), std::string::npos) << text;
  }
  for (const char* text :
       {"big + 1", "2*big", "Pow(s0, big)", "LShift(s2, Integer(63))", "LShift(s2, Integer(90))",
        "CeilToInt(oo)", "FloorToInt(nan)", "Pow(Integer(10), Integer(-40))",
        "FloorDiv(Integer(-9223372036854775808), Integer(-1))"}) {
    EXPECT_NE(faultOf(text).find("does not fit 64 bits"), std::string::npos) << text;
  }
  EXPECT_NE(faultOf("LShift(s2, s1)"), "no fault");
  EXPECT_NE(faultOf("PowByNatural(s2, s1)"), "no fault");
}

TEST(SymValue, DeepExpressions) {
  std::string text = "s0";
  for (int i = 0; i < 250; ++i) text = "Add(Integer(1), " + text + ")";
  expectWhole(text, 257);
}

TEST(SymValue, Sizes) {
  EXPECT_EQ(evaluate(SymInt(5), bindForTest), 5);
  EXPECT_EQ(evaluate(SymInt(Symbolic{SymExpr::parse("2*s0"), {}}), bindForTest), 14);
  EXPECT_EQ(evaluate(SymInt(Symbolic{SymExpr::parse("2*u0"), {}}), bindForTest), std::nullopt);
  EXPECT_EQ(evaluate(SymInt(Symbolic{SymExpr::parse("ToFloat(s0)"), {}}), bindForTest), std::nullopt);
}

}  // namespace
}  // namespace edgefx

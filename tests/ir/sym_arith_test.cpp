#include "ir/sym_arith.h"

#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace edgefx::detail {
namespace {

SymInt sym(std::string_view text, SymHint hint = {}) {
  return SymInt(Symbolic{SymExpr::parse(text), hint});
}

TEST(SymArith, PlainNumbersStayPlain) {
  EXPECT_EQ(symAdd(2, 3), SymInt(5));
  EXPECT_EQ(symSub(2, 3), SymInt(-1));
  EXPECT_EQ(symMul(2, 3), SymInt(6));
  EXPECT_EQ(symFloorDiv(-7, 2), SymInt(-4));
  EXPECT_EQ(symMod(-7, 2), SymInt(1));
  EXPECT_EQ(symMax(2, 3), SymInt(3));
  EXPECT_EQ(symMin(2, 3), SymInt(2));
  EXPECT_THROW(symFloorDiv(7, 0), UsageError);
  EXPECT_THROW(symMod(7, 0), UsageError);
  EXPECT_THROW(symAdd(std::numeric_limits<int64_t>::max(), 1), UsageError);
  EXPECT_THROW(symMul(std::numeric_limits<int64_t>::max(), 2), UsageError);
}

TEST(SymArith, SumsAndProductsHaveOneForm) {
  EXPECT_EQ(symAdd(sym("s0"), sym("s0")).text(), "2*s0");
  EXPECT_EQ(symSub(sym("s0"), sym("s0")), SymInt(0));
  EXPECT_EQ(symAdd(symAdd(1, sym("s1")), sym("s0")).text(), "s0 + s1 + 1");
  EXPECT_EQ(symMul(symAdd(sym("s0"), 1), sym("s1")).text(), "s0*s1 + s1");
  EXPECT_EQ(symMul(sym("s0"), sym("s0")).text(), "s0**2");
  EXPECT_EQ(symMul(sym("s0"), 0), SymInt(0));
  EXPECT_EQ(symAdd(symFloorDiv(sym("s0"), 2), 1).text(), "((s0//2)) + 1");
}

TEST(SymArith, QuotientsAreTakenWhereTheyAreExact) {
  EXPECT_EQ(symFloorDiv(sym("4*s0*s1"), sym("2*s0")).text(), "2*s1");
  EXPECT_EQ(symFloorDiv(sym("4*s0 + 6"), 2).text(), "2*s0 + 3");
  EXPECT_EQ(symFloorDiv(sym("4*s0 + 3"), 2).text(), "2*s0 + 1");
  EXPECT_EQ(symFloorDiv(sym("s0 + s1"), sym("s1 + s0")), SymInt(1));
  EXPECT_EQ(symFloorDiv(sym("2*s0"), 4).text(), "(s0//2)");
  EXPECT_EQ(symMod(sym("4*s0"), 2), SymInt(0));
  EXPECT_EQ(symMod(sym("s0"), 4).text(), "Mod(s0, 4)");
  EXPECT_EQ(symMod(sym("-s0"), 4).text(), "PythonMod(-s0, 4)");
  EXPECT_THROW(symFloorDiv(sym("s0"), 0), UsageError);
}

TEST(SymArith, ComparesWhatTheFormDecides) {
  EXPECT_EQ(symCompare(sym("4*s0"), 4), 1);  // dynamic sizes are 2 or more
  EXPECT_EQ(symCompare(sym("s0"), sym("s0*s1")), -1);
  EXPECT_EQ(symCompare(sym("s0**2"), sym("s0")), 1);
  EXPECT_EQ(symCompare(sym("s0**2"), sym("3*s0")), std::nullopt);
  EXPECT_EQ(symCompare(sym("s0"), sym("s1")), std::nullopt);
  EXPECT_EQ(symCompare(1, sym("s0")), -1);
  EXPECT_EQ(symCompare(sym("u0"), 0), std::nullopt);
  EXPECT_TRUE(symAtLeast(sym("u0"), 0));
  EXPECT_FALSE(symAtLeast(sym("u0"), 1));
  EXPECT_EQ(symMax(sym("u0"), 0).text(), "u0");
  EXPECT_EQ(symMin(sym("s0"), 1), SymInt(1));
  EXPECT_EQ(symMin(sym("s1"), sym("s0")).text(), "Min(s0, s1)");
  EXPECT_EQ(symMax(sym("u0"), 8).text(), "Max(8, u0)");
  EXPECT_TRUE(symEqual(sym("Min(4, 4*s0)"), 4));
  EXPECT_TRUE(symEqual(sym("s0*(s1 + 1)"), sym("s0*s1 + s0")));
  EXPECT_FALSE(symEqual(sym("s0"), sym("s1")));
}

TEST(SymArith, HintsAreCalculated) {
  const SymInt product = symMul(sym("s0", int64_t{6}), 4);
  EXPECT_EQ(product.symbolic()->hint, SymHint(int64_t{24}));
  EXPECT_EQ(symFloorDiv(sym("s0", int64_t{7}), 2).symbolic()->hint, SymHint(int64_t{3}));
  EXPECT_EQ(symAdd(sym("s0", int64_t{6}), sym("u0")).symbolic()->hint, SymHint());
}

TEST(SymArith, LargeNumbersDoNotOverflow) {
  const SymInt huge = sym("9223372036854775807*s0");
  EXPECT_EQ(symMul(huge, 4).text().substr(0, 1), "4");  // kept as a product
  EXPECT_EQ(symCompare(huge, 1), 1);
}

}  // namespace
}  // namespace edgefx::detail

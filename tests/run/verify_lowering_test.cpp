#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using test::callDelegate;
using test::countingProgram;
using test::getitem;
using test::ProgramBuilder;
using test::sampleLowered;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

using Values = std::vector<c10::IValue>;

Difference compareTensors(std::vector<double> found, std::vector<double> expected,
                          Tolerance tolerance = {0, 0}) {
  return compareValues(at::tensor(found, at::kDouble), at::tensor(expected, at::kDouble), tolerance);
}

TEST(CompareValues, FloatsAgreeWithinTheTolerance) {
  EXPECT_TRUE(compareTensors({1, 2}, {1, 2}).agrees);
  const Difference off = compareTensors({1, 2.5}, {1, 2});
  EXPECT_FALSE(off.agrees);
  EXPECT_DOUBLE_EQ(off.largestAbsolute, 0.5);
  EXPECT_DOUBLE_EQ(off.largestRelative, 0.25);
  EXPECT_NE(off.reason.find("1 of 2 elements differ, the first at 1: expected 2, got 2.5"), std::string::npos)
      << off.reason;
  EXPECT_TRUE(compareTensors({1, 2.5}, {1, 2}, {0.5, 0}).agrees);
  EXPECT_TRUE(compareTensors({1, 2.5}, {1, 2}, {0, 0.25}).agrees);
  EXPECT_FALSE(compareTensors({1, 2.5}, {1, 2}, {0.1, 0.1}).agrees);
}

TEST(CompareValues, OnlyNanIsNanAndOnlyInfinityInfinite) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(compareTensors({nan, inf, -inf}, {nan, inf, -inf}).agrees);
  EXPECT_FALSE(compareTensors({nan}, {1}, {1e9, 1e9}).agrees);
  EXPECT_FALSE(compareTensors({1}, {nan}, {1e9, 1e9}).agrees);
  EXPECT_FALSE(compareTensors({inf}, {-inf}, {1e9, 1e9}).agrees);
  EXPECT_FALSE(compareTensors({1}, {inf}, {1e9, 1e9}).agrees);
}

TEST(CompareValues, ShapesDtypesAndKindsCount) {
  EXPECT_FALSE(compareValues(at::zeros({2}), at::zeros({2, 1})).agrees);
  EXPECT_FALSE(compareValues(at::zeros({2}), at::zeros({2}, at::kDouble)).agrees);
  EXPECT_TRUE(compareValues(at::zeros({0}), at::zeros({0})).agrees);
  EXPECT_FALSE(compareValues(c10::IValue(1), c10::IValue(1.0)).agrees);
  EXPECT_FALSE(compareValues(c10::IValue(1), c10::IValue(2), {10, 10}).agrees);
  EXPECT_TRUE(compareValues(c10::IValue(1.0), c10::IValue(1.5), {1, 0}).agrees);
  EXPECT_TRUE(compareValues(c10::IValue(), c10::IValue()).agrees);
  EXPECT_FALSE(compareValues(c10::IValue(true), c10::IValue(false)).agrees);
  EXPECT_FALSE(compareValues(c10::IValue("a"), c10::IValue()).agrees);
  const auto pair = [](double second) {
    return c10::IValue(c10::ivalue::Tuple::create(at::zeros({1}), at::full({1}, second)));
  };
  EXPECT_TRUE(compareValues(pair(1), pair(1)).agrees);
  EXPECT_NE(compareValues(pair(2), pair(1)).reason.find("item 1: "), std::string::npos);
}

TEST(CompareValues, WholeNumbersAreComparedExactly) {
  const int64_t large = (int64_t{1} << 60);
  EXPECT_FALSE(
      compareValues(at::tensor({large + 1}, at::kLong), at::tensor({large}, at::kLong), {10, 10}).agrees);
  EXPECT_FALSE(compareValues(at::tensor({5}, at::kInt), at::tensor({4}, at::kInt), {10, 10}).agrees);
}

TEST(VerifyLowering, ACloneAgrees) {
  const ExportedProgram program = countingProgram();
  const VerifyReport report = verifyLowering(program, program.clone());
  EXPECT_TRUE(report.agrees());
  EXPECT_FALSE(report.firstDeviation);
  // Two calls, for state: a result and the buffer each.
  ASSERT_EQ(report.compared.size(), 4u);
  EXPECT_EQ(report.compared[1].name, "buffer 'count'");
  EXPECT_EQ(report.compared[3].call, 1);
  EXPECT_EQ(report.text(), "");
  EXPECT_NE(report.text(true).find("buffer 'count', call 2: largest difference 0 absolute"),
            std::string::npos);
}

// x, add 1, then `length` times relu or neg; the node at `wrong` is another operator.
ExportedProgram chain(int length, int wrong = -1) {
  ProgramBuilder builder;
  Node* value = &builder.userInput("x", tensorValue({4}));
  for (int i = 0; i < length; ++i) {
    const bool isOther = i == wrong;
    value = &builder.call(isOther ? "aten.cos.default" : "aten.neg.default", {*value}, tensorValue({4}),
                          "step_" + std::to_string(i));
  }
  builder.userOutput(*value);
  return builder.finish();
}

TEST(VerifyLowering, FindsTheFirstNodeThatDeviates) {
  const int length = 150;
  for (const int wrong : {0, 1, 31, 32, 33, 77, 148, 149}) {
    const VerifyReport report = verifyLowering(chain(length), chain(length, wrong));
    EXPECT_FALSE(report.agrees());
    ASSERT_TRUE(report.firstDeviation) << wrong;
    EXPECT_EQ(report.firstDeviation->node, "step_" + std::to_string(wrong));
    EXPECT_NE(report.text().find("first deviation at node '%step_"), std::string::npos);
  }
}

TEST(VerifyLowering, LooksIntoDelegates) {
  ProgramBuilder before;
  Node& x = before.userInput("x", tensorValue({4}));
  Node& a = before.call("aten.neg.default", {x}, tensorValue({4}), "first");
  before.userOutput(before.call("aten.exp.default", {a}, tensorValue({4}), "second"));

  ProgramBuilder inner;
  Node& y = inner.userInput("x", tensorValue({4}));
  Node& b = inner.call("aten.neg.default", {y}, tensorValue({4}), "first");
  inner.userOutput(inner.call("aten.cos.default", {b}, tensorValue({4}), "second"));
  ProgramBuilder after;
  Node& z = after.userInput("x", tensorValue({4}));
  Node& call = callDelegate(after.program().graphModule(), "lowered_module_0",
                            std::make_shared<const LoweredModule>(sampleLowered(inner.finish())), {z},
                            {tensorValue({4})});
  after.userOutput(getitem(call, 0));

  const VerifyReport report = verifyLowering(before.finish(), after.finish());
  ASSERT_TRUE(report.firstDeviation);
  EXPECT_EQ(report.firstDeviation->node, "second");
  EXPECT_EQ(report.firstDeviation->graph, "lowered_module_0");
}

TEST(VerifyLowering, StateThatIsNotWrittenShows) {
  const ExportedProgram program = countingProgram();
  ExportedProgram broken = program.clone();
  Node& add = *broken.graph().find("add");
  add.setArg(1, 2);  // counts by two
  const VerifyReport report = verifyLowering(program, broken);
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.text().find("buffer 'count'"), std::string::npos) << report.text();
}

// A buffer that is written in place, without a word in the signature, and read by nobody.
TEST(VerifyLowering, StateWrittenInPlaceIsCompared) {
  const auto make = [](double by) {
    ProgramBuilder builder;
    Node& state = builder.buffer("state", sampleTensor({2}));
    Node& x = builder.userInput("x", tensorValue({2}));
    builder.call("aten.add_.Tensor", {state, by}, tensorValue({2}));
    builder.userOutput(builder.call("aten.neg.default", {x}, tensorValue({2})));
    return builder.finish();
  };
  EXPECT_TRUE(verifyLowering(make(1), make(1)).agrees());
  const VerifyReport report = verifyLowering(make(1), make(2));
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.text().find("buffer 'state', call 2"), std::string::npos) << report.text();
}

// Most nodes do not depend on the one that deviates.
TEST(VerifyLowering, ADeviationThatFewNodesShowIsFound) {
  const auto make = [](Target target) {
    ProgramBuilder builder;
    Node& x = builder.userInput("x", tensorValue({4}));
    Node& changed = builder.call(target, {x}, tensorValue({4}), "changed");
    Node* other = &x;
    for (int i = 0; i < 200; ++i) {
      other = &builder.call("aten.neg.default", {*other}, tensorValue({4}), "step_" + std::to_string(i));
    }
    builder.userOutput(builder.call("aten.add.Tensor", {changed, *other}, tensorValue({4}), "sum"));
    return builder.finish();
  };
  const VerifyReport report = verifyLowering(make("aten.sin.default"), make("aten.cos.default"));
  ASSERT_TRUE(report.firstDeviation);
  EXPECT_EQ(report.firstDeviation->node, "changed");
}

TEST(VerifyLowering, InputsThatAreWrittenAreCompared) {
  const auto make = [](double by) {
    ProgramBuilder builder;
    Node& x = builder.userInput("x", tensorValue({2}));
    Node& added = builder.call("aten.add.Tensor", {x, by}, tensorValue({2}));
    builder.result(OutputKind::UserInputMutation, added, "x");
    builder.constantOutput(ConstantScalar(int64_t{3}));
    return builder.finish();
  };
  const at::Tensor given = sampleTensor({2});
  const VerifyReport report = verifyLowering(make(1), make(2), Values{given});
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.text().find("input 'x'"), std::string::npos) << report.text();
  EXPECT_TRUE(at::equal(given, sampleTensor({2}))) << "the caller's inputs were written";
  EXPECT_TRUE(verifyLowering(make(1), make(1), Values{given}).agrees());
}

SymInt sized(const char* text, std::optional<int64_t> hint = {}) {
  SymHint known;
  if (hint) known = *hint;
  return SymInt(Symbolic{SymExpr::parse(text), known});
}

TEST(GenerateInputs, FollowDescriptionsAndRanges) {
  ProgramBuilder builder;
  builder.userInput("x", tensorValue({sized("s0", 5), 2}));
  builder.userInput("i", tensorValue({sized("2*s0", 10)}, Dtype::Int64));
  builder.userInput("m", tensorValue({3}, Dtype::Bool));
  builder.userInput("n", ValueMeta::of(ValueMeta::SymIntValue{sized("s1", 7)}));
  builder.constantInput("c", ConstantScalar(std::string("mode")));
  ExportedProgram program = builder.finish();
  program.rangeConstraints = {{"s0", 4, 9}, {"s1", 2, 7}};
  const Values first = generateInputs(program);
  ASSERT_EQ(first.size(), 5u);
  EXPECT_EQ(first[0].toTensor().sizes(), (at::IntArrayRef{5, 2}));
  EXPECT_EQ(first[1].toTensor().sizes(), (at::IntArrayRef{10}));
  EXPECT_EQ(first[1].toTensor().scalar_type(), at::kLong);
  EXPECT_EQ(first[2].toTensor().scalar_type(), at::kBool);
  EXPECT_EQ(first[3].toInt(), 7);
  EXPECT_EQ(first[4].toStringRef(), "mode");
  EXPECT_LE(first[0].toTensor().abs().max().item().toDouble(), 1);
  EXPECT_TRUE(at::equal(first[0].toTensor(), generateInputs(program)[0].toTensor()));

  bool isOther = false;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Values other = generateInputs(program, seed);
    const int64_t rows = other[0].toTensor().size(0);
    EXPECT_GE(rows, 4);
    EXPECT_LE(rows, 9);
    EXPECT_EQ(other[1].toTensor().size(0), 2 * rows);
    isOther = isOther || rows != 5;
  }
  EXPECT_TRUE(isOther);
}

TEST(GenerateInputs, WhatCannotBeMadeIsRefused) {
  ProgramBuilder builder;
  builder.userInput("x", nullptr);
  const ExportedProgram program = builder.finish();
  EXPECT_THROW(generateInputs(program), UnsupportedError);
  ProgramBuilder huge;
  huge.userInput("x", tensorValue({int64_t{1} << 30, int64_t{1} << 20}));
  const ExportedProgram large = huge.finish();
  EXPECT_THROW(generateInputs(large), UnsupportedError);
}

TEST(VerifyLowering, StateThatIsGoneMustNotHaveChanged) {
  const VerifyReport report = verifyLowering(countingProgram(), tinyProgram());
  EXPECT_FALSE(report.agrees());
  EXPECT_NE(report.text().find("buffer 'count': "), std::string::npos) << report.text();
  for (const VerifyReport::Compared& one : report.compared) {
    EXPECT_EQ(one.difference.agrees, one.name != "buffer 'count'") << one.name;
  }
}

}  // namespace
}  // namespace edgefx

#include <edgefx/dialect/decompose.h>
#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/passes/pass_manager.h>
#include <edgefx/passes/standard.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "support/program_from_text.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

// Operators that give their operand, or a view of it, without saying so, and what is written through them.
namespace edgefx::test {
namespace {

constexpr const char* kUndeclared[] = {"aten.type_as.default(%base, %base)",
                                       "aten.dropout.default(%base, 0.5, False)",
                                       "aten.dropout.default(%base, 0.0, True)",
                                       "aten.feature_dropout.default(%base, 0.5, False)",
                                       "aten.alpha_dropout.default(%base, 0.5, False)",
                                       "aten.atleast_2d.default(%base)",
                                       "aten.sum_to_size.default(%base, [2, 3])",
                                       "aten.einsum.default(\"ij->ij\", [%base])",
                                       "aten._unsafe_view.default(%base, [2, 3])"};

// %k and %r show whether the write through %y is seen in %base, at its place.
ExportedProgram writtenThrough(const std::string& call) {
  return programFromText(
      "(\n  %x : f32[2, 3]\n):\n"
      "  %base = aten.mul.Tensor(%x, 1.0) : f32[2, 3]\n"
      "  %y = " +
      call +
      " : f32[2, 3]\n"
      "  %k = aten.clone.default(%base) : f32[2, 3]\n"
      "  %m = aten.mul.Tensor(%base, 2.0) : f32[2, 3]\n"
      "  %w = aten.add_.Tensor(%y, 1.0) : f32[2, 3]\n"
      "  %n = aten.mul.Tensor(%base, 2.0) : f32[2, 3]\n"
      "  %r = aten.sub.Tensor(%k, %base) : f32[2, 3]\n"
      "  %s = aten.sub.Tensor(%m, %n) : f32[2, 3]\n"
      "  return (%r, %s)\n");
}

TEST(UndeclaredViews, PassesKnowWhatIsWrittenThroughThem) {
  for (const std::string call : kUndeclared) {
    SCOPED_TRACE(call);
    const ExportedProgram program = writtenThrough(call);
    for (const std::string& name : standardPassNames()) {
      ExportedProgram changed = program.clone();
      PassManager({makePass(name)}).run(changed);
      const VerifyReport report = verifyLowering(program, changed);
      EXPECT_TRUE(report.agrees()) << name << '\n' << report.text();
    }
  }
}

TEST(UndeclaredViews, WritesThroughThemAreSeenOrRefused) {
  size_t made = 0;
  for (const std::string call : kUndeclared) {
    SCOPED_TRACE(call);
    const ExportedProgram program = writtenThrough(call);
    std::optional<ExportedProgram> functional;
    try {
      functional = functionalize(program.clone());
    } catch (const UnsupportedError& error) {
      EXPECT_NE(std::string(error.what()).find("may share memory"), std::string::npos) << error.what();
      continue;
    }
    const VerifyReport report = verifyLowering(program, *functional);
    EXPECT_TRUE(report.agrees()) << report.text();
    ++made;
  }
  EXPECT_GE(made, 4u);
}

TEST(UndeclaredViews, ProductsOfSeveralTensorsAreNone) {
  const ExportedProgram program = programFromText(
      "(\n  %x : f32[2, 3]\n):\n"
      "  %y = aten.einsum.default(\"ij,ij->ij\", [%x, %x]) : f32[2, 3]\n"
      "  %w = aten.add_.Tensor(%y, 1.0) : f32[2, 3]\n"
      "  return (%y)\n");
  EXPECT_TRUE(verifyLowering(program, functionalize(program.clone())).agrees());
}

TEST(UndeclaredViews, BranchesMayBeGivenOneTensorTwice) {
  const ExportedProgram program = programFromText(
      "(\n  %p : bool[], %x : f32[2]\n):\n"
      "  %base = aten.mul.Tensor(%x, 1.0) : f32[2]\n"
      "  %same = aten.view.default(%base, [2]) : f32[2]\n"
      "  %t = get_attr \"t\"\n"
      "  %f = get_attr \"f\"\n"
      "  %c = higher_order.cond(%p, %t, %f, (%base, %same)) : (f32[2],)\n"
      "  %i = operator.getitem(%c, 0) : f32[2]\n"
      "  return (%i)\n"
      "submodule \"t\" (%a : f32[2], %b : f32[2]):\n"
      "  %m = aten.mul.Tensor(%a, 2.0) : f32[2]\n"
      "  %w = aten.add_.Tensor(%b, 1.0) : f32[2]\n"
      "  %n = aten.mul.Tensor(%a, 2.0) : f32[2]\n"
      "  %r = aten.sub.Tensor(%m, %n) : f32[2]\n"
      "  return (%r,)\n"
      "submodule \"f\" (%a : f32[2], %b : f32[2]):\n"
      "  %r = aten.neg.default(%a) : f32[2]\n"
      "  return (%r,)\n");
  ExportedProgram changed = program.clone();
  PassManager({commonSubexpressionsPass()}).run(changed);
  const VerifyReport report = verifyLowering(program, changed);
  EXPECT_TRUE(report.agrees()) << report.text();
}

TEST(UndeclaredViews, StridesOfAViewAreOfTheMemoryBehindIt) {
  const ExportedProgram program = programFromText(
      "(\n  %x : f32[2, 3]\n):\n"
      "  %s = aten.slice.Tensor(%x, 0, 1, 2) : f32[1, 3]<offset 3>\n"
      "  %a = aten.as_strided.default(%s, [3], [1], 0) : f32[3]\n"
      "  return (%a)\n");
  EXPECT_THROW(toEdgeDialect(program.clone()), UnsupportedError);
  const ExportedProgram written = programFromText(
      "(\n  %x : f32[2, 3]\n):\n"
      "  %c = aten.clone.default(%x) : f32[2, 3]\n"
      "  %p = aten.permute.default(%c, [1, 0]) : f32[3, 2]<strides [1, 3]>\n"
      "  %s = aten.as_strided.default(%p, [4], [1], 2) : f32[4]<offset 2>\n"
      "  %w = aten.add_.Scalar(%c, 1.0) : f32[2, 3]\n"
      "  return (%s)\n");
  EXPECT_THROW(functionalize(written.clone()), UnsupportedError);
}

TEST(UndeclaredViews, WhatIsCopiedKeepsTheLayoutOfItsPlace) {
  const ExportedProgram program = programFromText(
      "(\n  %x : f32[3, 3]\n):\n"
      "  %c = aten.clone.default(%x) : f32[3, 3]\n"
      "  %t = aten.permute.default(%x, [1, 0]) : f32[3, 3]<strides [1, 3]>\n"
      "  %w = aten.copy_.default(%c, %t) : f32[3, 3]\n"
      "  %r = aten.view.default(%c, [9]) : f32[9]\n"
      "  return (%r)\n");
  const VerifyReport report = verifyLowering(program, functionalize(program.clone()));
  EXPECT_TRUE(report.agrees()) << report.text();
}

// Numbers of another kind than the tensor's, and dimensions without elements.
TEST(UndeclaredViews, DecompositionsTakeNumbersAsKernelsDo) {
  const ExportedProgram program = programFromText(
      "(\n  %x : f32[4], %y : i64[3], %c : c64[2], %m : bool[2], %z : f32[0, 3], %e : f32[4] constant_tensor "
      "\"e\"\n"
      "):\n"
      "  %a = aten.masked_fill.Scalar(%c, %m, 1.5) : c64[2]\n"
      "  %b = aten.masked_fill.Scalar(%m, %m, 0.5) : bool[2]\n"
      "  %d = aten.logsumexp.default(%z, [0]) : f32[3]\n"
      "  %f = aten.threshold.default(%y, -0.5, 7) : i64[3]\n"
      "  %g = aten.nan_to_num.default(%e, inf) : f32[4]\n"
      "  %h = aten.nan_to_num.default(%e, 1.0, 2.0, inf) : f32[4]\n"
      "  return (%a, %b, %d, %f, %g, %h)\n"
      "constants {\n  \"e\" = f32[4] [nan, inf, -inf, 100.0]\n}\n");
  ExportedProgram decomposed = program.clone();
  decompose(decomposed);
  const VerifyReport report = verifyLowering(program, decomposed);
  EXPECT_TRUE(report.agrees()) << report.text();
}

// Each call would draw other numbers.
TEST(UndeclaredViews, CallsWithDropoutInsideAreNotMerged) {
  ExportedProgram program = programFromText(
      "(\n  %x : f32[1, 2, 3], %h : f32[2, 2, 2], %w : f32[2, 3], %u : f32[2, 2]\n):\n"
      "  %a = aten.rnn_tanh.input(%x, %h, [%w, %u, %u, %u], False, 2, 0.5, True, False, True) : "
      "(f32[1, 2, 2], f32[2, 2, 2])\n"
      "  %b = aten.rnn_tanh.input(%x, %h, [%w, %u, %u, %u], False, 2, 0.5, True, False, True) : "
      "(f32[1, 2, 2], f32[2, 2, 2])\n"
      "  %c = operator.getitem(%a, 0) : f32[1, 2, 2]\n"
      "  %d = operator.getitem(%b, 0) : f32[1, 2, 2]\n"
      "  %e = aten.sub.Tensor(%c, %d) : f32[1, 2, 2]\n"
      "  return (%e)\n");
  EXPECT_FALSE(PassManager({commonSubexpressionsPass()}).run(program));
}

}  // namespace
}  // namespace edgefx::test

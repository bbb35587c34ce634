#include "ir/graph_testing.h"
#include "passes/pass_testing.h"

// No-ops and views of views.
namespace edgefx::test {
namespace {

using ViewNames = std::vector<std::string>;

ValueRef stridedValue(std::vector<SymInt> sizes, std::vector<SymInt> strides) {
  TensorMeta meta = *tensorValue(std::move(sizes))->tensor();
  meta.strides = std::move(strides);
  return ValueMeta::of(std::move(meta));
}

class ViewPasses : public testing::Test {
 protected:
  Node& op(Target target, const Args& args, ValueRef value = tensorValue({2, 3})) {
    return builder.call(target, args, std::move(value));
  }
  // `make` reads a value of the program; the program returns what is computed from what it gives.
  template <typename Make>
  ViewNames left(std::string_view pass, Make&& make) {
    Node& made = make(op("aten.neg.default", {x}));
    builder.userOutput(op("aten.abs.default", {made}, made.valueRef()));
    return callNames(afterPass(builder.finish(), pass));
  }
  ViewNames leftOf(Target target, Args more = {}, ValueRef value = tensorValue({2, 3})) {
    return left("no-ops", [&](Node& input) -> Node& {
      Args args{input};
      args.insert(args.end(), more.begin(), more.end());
      return op(target, args, std::move(value));
    });
  }

  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
};

struct NoOpCase {
  const char* target;
  std::vector<Arg> more;
};

// Every operator that may be one, in both dialects.
TEST(NoOps, CallsThatGiveTheirInputGo) {
  const NoOpCase cases[] = {
      {"aten.alias.default", {}},
      {"aten.alias_copy.default", {}},
      {"aten.clone.default", {}},
      {"aten.contiguous.default", {}},
      {"aten.detach.default", {}},
      {"aten._to_copy.default", {}},
      {"aten.to.dtype", {Dtype::Float32}},
      {"aten.to.dtype", {Dtype::Float32, false, true}},
      {"aten.view.default", {Arg::list({2, 3})}},
      {"aten.view_copy.default", {Arg::list({2, -1})}},
      {"aten._unsafe_view.default", {Arg::list({2, 3})}},
      {"aten.reshape.default", {Arg::list({2, 3})}},
      {"aten.permute.default", {Arg::list({0, -1})}},
      {"aten.permute_copy.default", {Arg::list({0, 1})}},
      {"aten.transpose.int", {1, -1}},
      {"aten.expand.default", {Arg::list({2, -1})}},
      {"aten.expand_copy.default", {Arg::list({2, 3})}},
      {"aten.slice.Tensor", {1, 0, int64_t{9223372036854775807}}},
      {"aten.slice_copy.Tensor", {0, 0, 2, 1}},
      {"aten.squeeze.dim", {0}},
      {"aten.dropout.default", {0.5, false}},
      {"aten.feature_dropout.default", {0.5, false}},
  };
  for (const NoOpCase& one : cases) {
    for (const bool isEdge : {false, true}) {
      ProgramBuilder builder;
      Node& x = builder.userInput("x", tensorValue({2, 3}));
      Node& neg = builder.call("aten.neg.default", {x}, tensorValue({2, 3}));
      Args args{neg};
      args.insert(args.end(), one.more.begin(), one.more.end());
      const Target target = isEdge ? Target(one.target).toEdge() : Target(one.target);
      Node& made = builder.call(target, args, tensorValue({2, 3}));
      builder.userOutput(builder.call("aten.abs.default", {made}, tensorValue({2, 3})));
      EXPECT_EQ(callNames(afterPass(builder.finish(), "no-ops")), (ViewNames{"neg", "abs_1"})) << one.target;
    }
  }
}

TEST_F(ViewPasses, OtherDtypesStay) {
  EXPECT_EQ(leftOf("aten.to.dtype", {Dtype::Float64}, tensorValue({2, 3}, Dtype::Float64)).size(), 3u);
}

TEST_F(ViewPasses, OtherShapesStay) {
  EXPECT_EQ(leftOf("aten.view.default", {Arg::list({3, 2})}, tensorValue({3, 2})).size(), 3u);
}

TEST_F(ViewPasses, DropoutThatTrainsStays) {
  Node& made = op("aten.dropout.default", {op("aten.neg.default", {x}), 0.5, true});
  builder.userOutput(op("aten.abs.default", {made}));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({noOpsPass()}).run(program));
}

TEST_F(ViewPasses, APermutationOfASquareStays) {
  ProgramBuilder square;
  Node& y = square.userInput("y", tensorValue({1, 1}));
  Node& neg = square.call("aten.neg.default", {y}, tensorValue({1, 1}));
  Node& turned = square.call("aten.permute.default", {neg, Arg::list({1, 0})}, tensorValue({1, 1}));
  square.userOutput(square.call("aten.abs.default", {turned}, tensorValue({1, 1})));
  EXPECT_EQ(callNames(afterPass(square.finish(), "no-ops")).size(), 3u);
}

TEST_F(ViewPasses, ASliceWithAStepStays) {
  ProgramBuilder row;
  Node& y = row.userInput("y", tensorValue({1, 3}));
  Node& neg = row.call("aten.neg.default", {y}, tensorValue({1, 3}));
  Node& part = row.call("aten.slice.Tensor", {neg, 0, 0, 1, 2}, stridedValue({1, 3}, {6, 1}));
  row.userOutput(row.call("aten.abs.default", {part}, tensorValue({1, 3})));
  EXPECT_EQ(callNames(afterPass(row.finish(), "no-ops")).size(), 3u);
}

TEST_F(ViewPasses, LayoutChangesAreNoNoOps) {
  ProgramBuilder turned;
  Node& y = turned.userInput("y", stridedValue({2, 3}, {1, 2}));
  Node& neg = turned.call("aten.neg.default", {y}, stridedValue({2, 3}, {1, 2}));
  Node& kept = turned.call("aten.clone.default", {neg}, stridedValue({2, 3}, {1, 2}));
  Node& straight = turned.call("aten.contiguous.default", {kept}, tensorValue({2, 3}));
  turned.userOutput(turned.call("aten.abs.default", {straight}, tensorValue({2, 3})));
  EXPECT_EQ(callNames(afterPass(turned.finish(), "no-ops")), (ViewNames{"neg", "contiguous", "abs_1"}));
}

// A copy of what is written afterwards keeps the old value; a copy that is written keeps its source.
TEST_F(ViewPasses, CopiesAroundWritesInPlaceStay) {
  Node& neg = op("aten.neg.default", {x});
  Node& old = op("aten.clone.default", {neg});
  op("aten.add_.Tensor", {neg, 1});
  Node& scratch = op("aten.clone.default", {x});
  op("aten.mul_.Tensor", {op("aten.view.default", {scratch, Arg::list({6})}, tensorValue({6})), 2});
  builder.userOutput(op("aten.add.Tensor", {op("aten.sub.Tensor", {old, neg}), scratch}));
  const ViewNames names = callNames(afterPass(builder.finish(), "no-ops"));
  EXPECT_EQ(std::ranges::count_if(names, [](const auto& name) { return name.starts_with("clone"); }), 2);
}

TEST_F(ViewPasses, ResultsDoNotBecomeInputsOrOneAnother) {
  Node& neg = op("aten.neg.default", {x});
  builder.userOutput(op("aten.clone.default", {x}));  // an input
  builder.userOutput(op("aten.alias.default", {x}));  // the same
  builder.userOutput(neg);
  builder.userOutput(op("aten.clone.default", {neg}));  // another result
  builder.userOutput(op("aten.clone.default", {op("aten.abs.default", {x})}));
  const ExportedProgram made = afterPass(builder.finish(), "no-ops");
  EXPECT_EQ(resultLine(made), "return (clone, alias, neg, clone_1, abs_1)");
  EXPECT_EQ(made.signature.outputs.back().arg.name, "abs_1");
}

// A result that is a view of the copy would become one of the input.
TEST_F(ViewPasses, CopiesUnderResultsStay) {
  Node& copy = op("aten.clone.default", {x});
  builder.userOutput(op("aten.view.default", {copy, Arg::list({6})}, tensorValue({6})));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "no-ops")), (ViewNames{"clone", "view"}));
}

TEST_F(ViewPasses, BuffersAreWrittenWithCopies) {
  Node& state = builder.buffer("state", sampleTensor({2, 3}));
  builder.result(OutputKind::BufferMutation, op("aten.clone.default", {x}), "state");
  builder.userOutput(op("aten.clone.default", {state}));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "no-ops")).size(), 2u);
}

TEST_F(ViewPasses, WhereMemoryBeginsCountsForThoseWhoLook) {
  ProgramBuilder strided;
  Node& y = strided.userInput("y", tensorValue({4}));
  TensorMeta meta = *tensorValue({2})->tensor();
  meta.storageOffset = 2;
  Node& neg = strided.call("aten.neg.default", {y}, tensorValue({4}));
  Node& part = strided.call("aten.slice.Tensor", {neg, 0, 2, 4}, ValueMeta::of(std::move(meta)));
  Node& copy = strided.call("aten.clone.default", {part}, tensorValue({2}));
  Node& look =
      strided.call("aten.as_strided.default", {copy, Arg::list({2}), Arg::list({1}), 0}, tensorValue({2}));
  strided.userOutput(strided.call("aten.abs.default", {look}, tensorValue({2})));
  EXPECT_EQ(callNames(afterPass(strided.finish(), "no-ops")).size(), 5u);
}

TEST_F(ViewPasses, AViewOfAViewReadsItsInput) {
  EXPECT_EQ(left("fuse-views",
                 [&](Node& input) -> Node& {
                   Node& flat = op("aten.view.default", {input, Arg::list({6})}, tensorValue({6}));
                   Node& other = op("aten.view_copy.default", {flat, Arg::list({3, 2})}, tensorValue({3, 2}));
                   return op("aten.view_copy.default", {other, Arg::list({-1})}, tensorValue({6}));
                 }),
            (ViewNames{"neg", "view_copy_1", "abs_1"}));
}

TEST_F(ViewPasses, AViewWithOtherUsersStaysForThem) {
  Node& flat = op("aten.view.default", {op("aten.neg.default", {x}), Arg::list({6})}, tensorValue({6}));
  Node& again = op("aten.view.default", {flat, Arg::list({3, 2})}, tensorValue({3, 2}));
  builder.userOutput(op("aten.abs.default", {flat}, tensorValue({6})));
  builder.userOutput(op("aten.abs.default", {again}, tensorValue({3, 2})));
  const ExportedProgram made = afterPass(builder.finish(), "fuse-views");
  EXPECT_EQ(callNames(made).size(), 5u);
  EXPECT_EQ(made.graph().find("view_1")->arg(0).asNode().name(), "neg");
}

TEST_F(ViewPasses, SymbolicSizesAreFused) {
  const SymInt rows(Symbolic{SymExpr::parse("s0"), int64_t{3}});
  const SymInt all(Symbolic{SymExpr::parse("4*s0"), int64_t{12}});
  ProgramBuilder symbolic;
  symbolic.program().rangeConstraints = {{"s0", 2, 9}};
  Node& y = symbolic.userInput("y", tensorValue({rows, 4}));
  Node& size = symbolic.call("aten.sym_size.int", {y, 0}, ValueMeta::of(ValueMeta::SymIntValue{rows}));
  Node& neg = symbolic.call("aten.neg.default", {y}, tensorValue({rows, 4}));
  Node& flat = symbolic.call("aten.view.default", {neg, Arg::list({-1})}, tensorValue({all}));
  Node& back = symbolic.call("aten.view.default", {flat, Arg::list({size, 4})}, tensorValue({rows, 4}));
  symbolic.userOutput(symbolic.call("aten.abs.default", {back}, tensorValue({rows, 4})));
  const ExportedProgram fused = afterPass(symbolic.finish(), "fuse-views");
  EXPECT_EQ(callNames(fused), (ViewNames{"sym_size", "neg", "view_1", "abs_1"}));
  EXPECT_EQ(callNames(afterPass(fused, "no-ops")), (ViewNames{"sym_size", "neg", "abs_1"}));
}

TEST_F(ViewPasses, PermutationsAreMultiplied) {
  ProgramBuilder cube;
  Node& y = cube.userInput("y", tensorValue({2, 3, 4}));
  Node& neg = cube.call("aten.neg.default", {y}, tensorValue({2, 3, 4}));
  Node& one =
      cube.call("aten.permute.default", {neg, Arg::list({2, 0, 1})}, stridedValue({4, 2, 3}, {1, 12, 4}));
  Node& two =
      cube.call("aten.permute.default", {one, Arg::list({-1, 0, 1})}, stridedValue({3, 4, 2}, {4, 1, 12}));
  Node& copy = cube.call("aten.permute_copy.default", {two, Arg::list({2, 0, 1})}, tensorValue({2, 3, 4}));
  cube.userOutput(cube.call("aten.abs.default", {copy}, tensorValue({2, 3, 4})));
  const ExportedProgram made = afterPass(cube.finish(), "fuse-views");
  EXPECT_EQ(callNames(made), (ViewNames{"neg", "permute_copy", "abs_1"}));
  EXPECT_EQ(
      made.graph().find("permute_copy")->text(),
      "%permute_copy : [num_users=1] = call_function[target=torch.ops.aten.permute_copy.default](args = "
      "(%neg, [0, 1, 2]), kwargs = {})");
}

// The view would lie otherwise.
TEST_F(ViewPasses, AViewOfAPermutedCopyStays) {
  Node& copy =
      op("aten.permute_copy.default", {op("aten.neg.default", {x}), Arg::list({1, 0})}, tensorValue({3, 2}));
  Node& view = op("aten.permute.default", {copy, Arg::list({1, 0})}, stridedValue({2, 3}, {1, 2}));
  builder.userOutput(op("aten.abs.default", {view}, stridedValue({2, 3}, {1, 2})));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "fuse-views")).size(), 4u);
}

TEST_F(ViewPasses, ViewsOfWrittenMemoryKeepTheirCopies) {
  Node& neg = op("aten.neg.default", {x});
  Node& old = op("aten.view_copy.default", {neg, Arg::list({6})}, tensorValue({6}));
  op("aten.add_.Tensor", {neg, 1});
  Node& late = op("aten.view_copy.default", {old, Arg::list({3, 2})}, tensorValue({3, 2}));
  builder.userOutput(op("aten.abs.default", {late}, tensorValue({3, 2})));
  builder.userOutput(op("aten.abs.default", {neg}));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "fuse-views")).size(), 6u);
}

TEST_F(ViewPasses, ResultsDoNotComeToShareMemoryWithInputs) {
  Node& copy = op("aten.view_copy.default", {x, Arg::list({6})}, tensorValue({6}));
  builder.userOutput(op("aten.view.default", {copy, Arg::list({3, 2})}, tensorValue({3, 2})));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "fuse-views")), (ViewNames{"view_copy", "view"}));
}

TEST_F(ViewPasses, LongChainsAreLinear) {
  Node* last = &op("aten.neg.default", {x});
  for (int i = 0; i < 60000; ++i) {
    last = &op("aten.view_copy.default", {*last, Arg::list({i % 2 == 0 ? 6 : -1})}, tensorValue({6}));
  }
  builder.userOutput(*last);
  ExportedProgram program = builder.finish();
  const test::CpuTimer timer;
  fuseViewsPass()->run(program);
  noOpsPass()->run(program);
  EXPECT_LT(timer.seconds(), 20);  // anything quadratic takes longer
  EXPECT_EQ(callNames(program).size(), 2u);
}

}  // namespace
}  // namespace edgefx::test

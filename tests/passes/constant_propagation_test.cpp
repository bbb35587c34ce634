#include <edgefx/program/tensor_table.h>

#include "ir/graph_testing.h"
#include "passes/pass_testing.h"

#include <ATen/core/Tensor.h>

namespace edgefx::test {
namespace {

using FoldNames = std::vector<std::string>;

class ConstantFolding : public testing::Test {
 protected:
  Node& op(Target target, const Args& args, ValueRef value = tensorValue({4})) {
    return builder.call(target, args, std::move(value));
  }
  ExportedProgram run(ConstantPropagation options = {}) {
    return afterPass(builder.finish(), constantPropagationPass(std::move(options)));
  }

  ProgramBuilder builder;
};

TEST_F(ConstantFolding, CallsOnConstantsBecomeAConstant) {
  Node& w = builder.parameter("w", sampleTensor({4}));
  Node& b = builder.buffer("b", sampleTensor({4}));
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& sum = op("aten.add.Tensor", {op("aten.mul.Tensor", {w, b}), c});
  builder.userOutput(op("aten.add.Tensor", {x, sum}));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made), (FoldNames{"add_1"}));
  EXPECT_EQ(inputNames(made), (FoldNames{"p_w", "b_b", "c_c", "_prop_tensor_constant0", "x"}));
  EXPECT_EQ(made.signature.inputs[3].kind, InputKind::ConstantTensor);
  const at::Tensor& folded = made.constants().find("_prop_tensor_constant0")->tensor();
  const at::Tensor sample = sampleTensor({4});
  EXPECT_TRUE(folded.equal(sample.mul(sample).add(sample)));
}

TEST_F(ConstantFolding, ParametersCountIfToldSo) {
  Node& w = builder.parameter("w", sampleTensor({4}));
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& one = op("aten.neg.default", {w});
  Node& other = op("aten.abs.default", {c});
  builder.userOutput(op("aten.add.Tensor", {op("aten.add.Tensor", {x, one}), other}));
  ConstantPropagation options;
  options.foldsParameters = false;
  EXPECT_EQ(callNames(run(options)), (FoldNames{"neg", "add", "add_1"}));
}

TEST_F(ConstantFolding, LiteralsCount) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& numbers = op("aten.arange.default", {4}, tensorValue({4}, Dtype::Int64));
  builder.userOutput(op("aten.add.Tensor", {x, numbers}));
  EXPECT_EQ(callNames(run()), (FoldNames{"add"}));
}

TEST_F(ConstantFolding, WhatIsWrittenStays) {
  Node& counted = builder.buffer("counted", sampleTensor({4}));
  Node& inPlace = builder.buffer("in_place", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& next = op("aten.add.Tensor", {counted, 1});
  builder.result(OutputKind::BufferMutation, next, "counted");
  Node& before = op("aten.neg.default", {inPlace});
  op("aten.add_.Tensor", {inPlace, 1});
  builder.userOutput(op("aten.add.Tensor", {x, before}));
  EXPECT_EQ(callNames(run()).size(), 4u);
}

// Another name for memory that is written.
TEST_F(ConstantFolding, WhatSharesMemoryWithWhatIsWrittenStays) {
  const at::Tensor shared = sampleTensor({4});
  Node& one = builder.buffer("one", shared);
  Node& two = builder.buffer("two", shared);
  Node& x = builder.userInput("x", tensorValue({4}));
  builder.result(OutputKind::BufferMutation, op("aten.add.Tensor", {one, 1}), "one");
  builder.userOutput(op("aten.add.Tensor", {x, op("aten.neg.default", {two})}));
  EXPECT_EQ(callNames(run()).size(), 3u);
}

TEST_F(ConstantFolding, AViewOfAConstantThatIsWrittenStays) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& copy = op("aten.clone.default", {c});
  Node& view = op("aten.view.default", {copy, Arg::list({4})});
  op("aten.add_.Tensor", {view, x});
  builder.userOutput(op("aten.add.Tensor", {x, copy}));
  EXPECT_EQ(callNames(run()).size(), 4u);
}

TEST_F(ConstantFolding, W33_RandomCallsStay) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& noise = op("aten.rand_like.default", {c});
  Node& scaled = op("aten.mul.Tensor", {noise, c});
  Node& filled = op("aten.empty_like.default", {c});
  builder.userOutput(op("aten.add.Tensor", {op("aten.add.Tensor", {x, scaled}), filled}));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({constantPropagationPass()}).run(program));
}

TEST_F(ConstantFolding, FillsAndQuantizationStay) {
  Node& w = builder.constant("w", sampleTensor({4}, Dtype::Int8));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& full = op("aten.full.default", {Arg::list({4}), 0.5});
  Node& real = op("quantized_decomposed.dequantize_per_tensor.default", {w, 0.5, 0, -128, 127, Dtype::Int8});
  builder.userOutput(op("aten.add.Tensor", {op("aten.add.Tensor", {x, full}), real}));
  EXPECT_EQ(callNames(run()).size(), 4u);
}

TEST_F(ConstantFolding, KeptOperatorsCanBeChosen) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& full = op("aten.full.default", {Arg::list({4}), 0.5});
  builder.userOutput(op("aten.add.Tensor", {x, full}));
  ConstantPropagation options;
  options.keep.clear();
  EXPECT_EQ(callNames(run(options)), (FoldNames{"add"}));
}

TEST_F(ConstantFolding, LargeResultsStay) {
  Node& c = builder.constant("c", sampleTensor({1, 4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& large = op("aten.repeat.default", {c, Arg::list({1024, 1024})}, tensorValue({1024, 4096}));
  builder.userOutput(op("aten.add.Tensor", {large, x}, tensorValue({1024, 4096})));
  ExportedProgram program = builder.finish();
  ConstantPropagation options;
  options.mostBytes = 16383 * 1024;
  EXPECT_FALSE(PassManager({constantPropagationPass(options)}).run(program));
  options.mostBytes = 16384 * 1024;
  options.mostBytesInAll = 16383 * 1024;
  EXPECT_FALSE(PassManager({constantPropagationPass(options)}).run(program));
  options.mostBytesInAll = 16384 * 1024;
  EXPECT_TRUE(PassManager({constantPropagationPass(options)}).run(program));
}

// 2^62 bytes, and more than 64 bits hold.
TEST_F(ConstantFolding, HugeResultsAreNotComputed) {
  Node& c = builder.constant("c", sampleTensor({1}));
  for (const int64_t size : {int64_t{1} << 30, int64_t{1} << 31}) {
    const ValueRef value = tensorValue({size, size});
    Node& large = op("aten.repeat.default", {c, Arg::list({size, size})}, value);
    builder.userOutput(op("aten.neg.default", {large}, value));
  }
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({constantPropagationPass()}).run(program));
}

TEST_F(ConstantFolding, SizesThatAreRecordedWrongAreFound) {
  Node& c = builder.constant("c", sampleTensor({1}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& large = op("aten.repeat.default", {c, Arg::list({int64_t{1} << 40})});
  builder.userOutput(op("aten.add.Tensor", {large, x}));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({constantPropagationPass()}).run(program));
}

TEST_F(ConstantFolding, ResultsOfTheProgramKeepMemoryOfTheirOwn) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& inner = op("aten.neg.default", {c});
  Node& outer = op("aten.abs.default", {inner});
  builder.userOutput(op("aten.view.default", {outer, Arg::list({2, 2})}, tensorValue({2, 2})));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made), (FoldNames{"abs_1", "view"}));
}

TEST_F(ConstantFolding, ItemsOfSeveralResultsAreConstants) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({2}));
  ValueMeta::Sequence parts;
  parts.elements = {tensorValue({2}), tensorValue({2})};
  parts.isList = true;
  Node& split = op("aten.split.Tensor", {c, 2}, ValueMeta::of(std::move(parts)));
  Node& second = op("operator.getitem", {split, 1}, tensorValue({2}));
  builder.userOutput(op("aten.add.Tensor", {x, second}, tensorValue({2})));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made), (FoldNames{"add"}));
}

TEST_F(ConstantFolding, ConstantsLieAsTheyAreDescribed) {
  Node& w = builder.parameter("w", sampleTensor({2, 3}));
  Node& x = builder.userInput("x", tensorValue({3, 2}));
  TensorMeta turned = *tensorValue({3, 2})->tensor();
  turned.strides = {1, 3};
  Node& view = op("aten.permute.default", {w, Arg::list({1, 0})}, ValueMeta::of(turned));
  builder.userOutput(op("aten.add.Tensor", {x, view}, tensorValue({3, 2})));
  const ExportedProgram made = run();
  const StoredTensor& folded = *made.constants().find("_prop_tensor_constant0");
  EXPECT_EQ(folded.meta()->strides, turned.strides);
  EXPECT_EQ(folded.storage().data(), made.stateDict().find("w")->storage().data());
}

// The recorded value is not what the operator gives: the call is not touched.
TEST_F(ConstantFolding, WhatIsDescribedOtherwiseStays) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  builder.userOutput(
      op("aten.add.Tensor", {x, op("aten.neg.default", {c}, tensorValue({4}, Dtype::Float64))}));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({constantPropagationPass()}).run(program));
}

TEST_F(ConstantFolding, WhatCannotRunStays) {
  Node& c = builder.constant("c", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& unknown = op("mylib.twist.default", {c});
  Node& refused = op("aten.mm.default", {c, c});
  builder.userOutput(op("aten.add.Tensor", {op("aten.add.Tensor", {x, unknown}), refused}));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({constantPropagationPass()}).run(program));
}

TEST_F(ConstantFolding, ManyConstantsAreLinear) {
  constexpr int kConstants = 20000;
  Node& c = builder.constant("c", sampleTensor({4}));
  Node* last = &builder.userInput("x", tensorValue({4}));
  for (int i = 0; i < kConstants; ++i) last = &op("aten.add.Tensor", {*last, op("aten.add.Tensor", {c, i})});
  builder.userOutput(*last);
  ExportedProgram program = builder.finish();
  const test::CpuTimer timer;
  EXPECT_TRUE(constantPropagationPass()->run(program));
  EXPECT_LT(timer.seconds(), 20);  // anything quadratic takes longer
  EXPECT_EQ(program.signature.inputs.size(), 2u + kConstants);
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/rewrite/program_rewriter.h>
#include <edgefx/run/interpreter.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"
#include "support/test_data.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

using RunValues = std::vector<c10::IValue>;

void expectSound(const ExportedProgram& program) {
  for (const Diagnostic& violation : checkProgram(program)) ADD_FAILURE() << violation.render();
  for (const Diagnostic& violation : checkShapes(program)) ADD_FAILURE() << violation.render();
}

template <typename Action>
std::string refusal(Action&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return {};
}

void expectRefused(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected \"" << part << "\" in:\n" << text;
}

std::vector<std::string> inputNames(const ExportedProgram& program) {
  std::vector<std::string> names;
  for (const InputSpec& spec : program.signature.inputs) names.push_back(spec.arg.name);
  return names;
}

using Names = std::vector<std::string>;

// Case 12: the names that were asked for cannot be had.
TEST(ProgramRewriter, Case12_NewInputsHaveOneNameEverywhere) {
  struct Asked {
    const char* name;
    InputKind kind;
  };
  for (const Asked& asked : {Asked{"0_weight_fused", InputKind::Parameter},
                             Asked{"p_weight", InputKind::Parameter}, Asked{"a-b.c", InputKind::Buffer},
                             Asked{"x", InputKind::ConstantTensor}, Asked{"relu", InputKind::ConstantTensor},
                             Asked{"weight", InputKind::Parameter}, Asked{"scale", InputKind::Buffer}}) {
    ExportedProgram program = tinyProgram();
    ProgramRewriter rewriter(program);
    const at::Tensor data = at::full({2}, 4.0);
    Node& node = asked.kind == InputKind::Parameter ? rewriter.addParameter(asked.name, data)
                 : asked.kind == InputKind::Buffer  ? rewriter.addBuffer(asked.name, data, false)
                                                    : rewriter.addConstant(asked.name, data);
    const std::string name(node.name());
    EXPECT_EQ(node.targetText(), name);
    const InputSpec* spec = program.signature.findInput(name);
    ASSERT_NE(spec, nullptr) << asked.name;
    EXPECT_EQ(spec->target, name);
    EXPECT_EQ(spec->kind, asked.kind);
    const bool isState = asked.kind == InputKind::Parameter;
    EXPECT_EQ(program.stateDict().contains(name), isState);
    EXPECT_EQ(program.constants().contains(name), !isState);
    EXPECT_EQ(inputNames(program), (Names{"p_weight", "b_scale", name, "x"}));
    expectSound(program);
  }
}

TEST(ProgramRewriter, AnInputWithoutTensorIsRefusedAndNothingChanges) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  expectRefused(refusal([&] { rewriter.addConstant("packed", at::Tensor()); }),
                "'packed' is an undefined tensor");
  expectRefused(refusal([&] { rewriter.addConstant("", at::zeros({1})); }), "needs a name");
  EXPECT_EQ(inputNames(program), (Names{"p_weight", "b_scale", "x"}));
}

TEST(ProgramRewriter, WithoutUserInputsNewInputsComeLast) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2}));
  builder.userOutput(builder.call("aten.neg.default", {w}, tensorValue({2})));
  ExportedProgram program = builder.finish();
  ProgramRewriter(program).addConstant("c", at::zeros({2}));
  EXPECT_EQ(inputNames(program), (Names{"p_w", "c"}));
  expectSound(program);
}

// Case 13: a placeholder is taken out of the middle.
TEST(ProgramRewriter, Case13_InputsLeaveWithTheirSpecAndTensor) {
  ProgramBuilder builder;
  Node& w1 = builder.parameter("w1", at::full({2}, 1.0));
  Node& w2 = builder.parameter("w2", at::full({2}, 2.0));
  Node& w3 = builder.parameter("w3", at::full({2}, 3.0));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {x, w1}, tensorValue({2}), "mul");
  Node& dead = builder.call("aten.mul.Tensor", {w2, 0}, tensorValue({2}), "mul_1");
  Node& add = builder.call("aten.add.Tensor", {mul, dead}, tensorValue({2}), "add");
  builder.userOutput(builder.call("aten.add.Tensor", {add, w3}, tensorValue({2}), "add_1"));
  ExportedProgram program = builder.finish();

  ProgramRewriter rewriter(program);
  Node* placeholder = program.graph().find("p_w2");
  expectRefused(refusal([&] { rewriter.eraseInput(*placeholder); }), "mul_1");
  expectRefused(refusal([&] { rewriter.eraseInput(*program.graph().find("x")); }), "'%x'");
  rewriter.replace(*program.graph().find("add"), *program.graph().find("mul"));
  EXPECT_EQ(rewriter.eraseDeadNodes(), 2u);
  rewriter.eraseInput(*placeholder);
  EXPECT_EQ(inputNames(program), (Names{"p_w1", "p_w3", "x"}));
  EXPECT_FALSE(program.stateDict().contains("w2"));
  expectSound(program);
  EXPECT_TRUE(at::equal(Interpreter(program).run({at::ones({2})})[0].toTensor(), at::full({2}, 4.0)));
}

TEST(ProgramRewriter, DeadInputsGoTogetherAndSharedTensorsStay) {
  ProgramBuilder builder;
  builder.parameter("unused", sampleTensor({2}));
  Node& b = builder.buffer("state", sampleTensor({2}));
  builder.buffer("old", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& add = builder.call("aten.add.Tensor", {x, 1}, tensorValue({2}));
  static_cast<void>(b);
  builder.result(OutputKind::BufferMutation, add, "state");
  builder.userOutput(add);
  ExportedProgram program = builder.finish();
  ProgramRewriter rewriter(program);
  EXPECT_EQ(rewriter.eraseDeadInputs({InputKind::Buffer}), 1u);
  EXPECT_EQ(inputNames(program), (Names{"p_unused", "b_state", "x"}));
  EXPECT_EQ(rewriter.eraseDeadInputs(), 1u);
  EXPECT_EQ(inputNames(program), (Names{"b_state", "x"}));
  expectRefused(refusal([&] { rewriter.eraseInput(*program.graph().find("b_state")); }), "writes 'state'");
  expectSound(program);
}

TEST(ProgramRewriter, CallsAreDescribedAndReplacementsTakeMetadata) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  Node& relu = *program.graph().find("relu");
  Node& mul = *program.graph().find("mul");
  relu.editMeta([](NodeMeta& meta) { meta.set("stack_trace", "of relu"); });
  mul.editMeta([](NodeMeta& meta) {
    meta.set("stack_trace", "of mul");
    meta.set("nn_module_stack", "of mul");
  });
  const InsertionGuard guard(program.graph(), before(relu));
  Node& half = rewriter.call("aten.mul.Tensor", {mul, 0.5});
  Node& clamped = rewriter.call("aten.clamp.default", {half, 0});
  ASSERT_NE(half.value(), nullptr);
  EXPECT_EQ(half.value()->text(), "float32[1, 4]");
  rewriter.replace(relu, clamped, {&mul});
  EXPECT_EQ(clamped.meta().stackTrace(), "of relu");
  EXPECT_EQ(half.meta().stackTrace(), "of relu");
  ASSERT_NE(clamped.meta().find("nn_module_stack"), nullptr);
  EXPECT_EQ(program.signature.outputs[0].arg.name, clamped.name());
  EXPECT_EQ(rewriter.eraseDeadNodes(), 1u);
  expectSound(program);
}

TEST(ProgramRewriter, AReplacementMayStandAroundTheOld) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  Node& relu = *program.graph().find("relu");
  const InsertionGuard guard(program.graph(), after(relu));
  Node& doubled = rewriter.call("aten.mul.Tensor", {relu, 2});
  program.graph().setInsertionPoint(after(doubled));
  Node& shifted = rewriter.call("aten.add.Tensor", {doubled, relu});
  rewriter.replace(relu, shifted);
  EXPECT_EQ(doubled.arg(0).findNode(), &relu);
  EXPECT_EQ(shifted.arg(1).findNode(), &relu);
  EXPECT_EQ(program.signature.outputs[0].arg.name, shifted.name());
  expectSound(program);
}

TEST(ProgramRewriter, ACallThatDoesNotFitLeavesNothing) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  Node& x = *program.graph().find("x");
  const size_t before = program.graph().size();
  EXPECT_THROW(rewriter.call("aten.mm.default", {x, x}), UsageError);
  EXPECT_EQ(program.graph().size(), before);
  Node& mul = *program.graph().find("mul");
  Node& three = rewriter.addConstant("three", at::zeros({3}));
  const std::string text = mul.text();
  EXPECT_THROW(rewriter.setArg(mul, 1, three), UsageError);
  EXPECT_EQ(mul.text(), text);
  expectSound(program);
}

TEST(ProgramRewriter, RetargetsInBothDialectsAndInBranches) {
  ExportedProgram program = loadProgram(test::fixture("nested_cond_core/program.pt2"));
  size_t before = 0;
  for (const NestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) before += node.isCall("aten.mul.Tensor");
  }
  EXPECT_EQ(ProgramRewriter(program).retarget("aten.mul.Tensor", "mylib.mul.default"), before);
  wrapAsEdge(program);
  EXPECT_EQ(ProgramRewriter(program).retarget("mylib.mul.default", "aten.mul.Tensor"), before);
  for (const Node& node : program.graph().nodes()) EXPECT_FALSE(node.isCall("aten.mul.Tensor"));
}

TEST(ProgramRewriter, OutputsAndMutationsJoinSignatureAndConvention) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  Node& mul = *program.graph().find("mul");
  rewriter.addOutput(mul);
  Node& counter = rewriter.addBuffer("calls", at::zeros({}));
  Node& next = [&]() -> Node& {
    const InsertionGuard guard(program.graph(), before(program.graph().outputNode()));
    return rewriter.call("aten.add.Tensor", {counter, 1});
  }();
  rewriter.addMutation(counter, next);
  expectRefused(refusal([&] { rewriter.addMutation(counter, next); }), "written by the program already");
  expectSound(program);
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({1, 4});
  interpreter.run({x});
  const c10::IValue results = interpreter.call({x});
  ASSERT_TRUE(results.isTuple());
  EXPECT_EQ(results.toTupleRef().elements().size(), 2u);
  EXPECT_EQ(interpreter.state("calls").item().toDouble(), 2);
}

TEST(ProgramRewriter, TensorsAreReadAndReplaced) {
  ExportedProgram program = tinyProgram();
  ProgramRewriter rewriter(program);
  Node& scale = *program.graph().find("b_scale");
  EXPECT_TRUE(at::equal(rewriter.tensor(scale), program.stateDict().find("scale")->tensor()));
  rewriter.setTensor(scale, at::full({1}, 2.0));
  EXPECT_EQ(scale.value()->text(), "float32[1]");
  expectSound(program);
  expectRefused(refusal([&] { rewriter.tensor(*program.graph().find("x")); }),
                "no parameter, buffer or constant");
}

TEST(ProgramRewriter, ConstantsReachEveryGraphOnTheWay) {
  ExportedProgram program = loadProgram(test::fixture("nested_cond_core/program.pt2"));
  std::vector<NestedModule> modules = namedModules(program.graphModule());
  const auto deepest = std::ranges::max_element(
      modules, {}, [](const NestedModule& nested) { return std::ranges::count(nested.path, '.'); });
  ASSERT_GE(std::ranges::count(deepest->path, '.'), 1);
  ProgramRewriter rewriter(program);
  Node& inner = rewriter.addConstantFor(*deepest->module, "factor", at::full({1}, 3.0));
  EXPECT_EQ(&inner.graph(), &deepest->module->graph());
  for (const Diagnostic& violation : checkProgram(program)) ADD_FAILURE() << violation.render();
  // It still runs: operands and placeholders agree everywhere.
  EXPECT_NO_THROW(Interpreter{program});
  EXPECT_TRUE(program.constants().contains("factor"));
}

TEST(ProgramRewriter, ConstantsForASharedBranchPassEveryCall) {
  const auto body = [] {
    auto graph = std::make_unique<Graph>();
    Node& in = graph->placeholder("x");
    graph->output(Arg::tuple({graph->call("aten.neg.default", {in})}));
    return graph;
  };
  ProgramBuilder builder;
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& first = builder.branch("first", body());
  Node& second = builder.branch("second", body());
  Node& third = builder.branch("third", body());
  Node& a = builder.call("higher_order.cond", {flag, first, second, Arg::tuple({x})}, nullptr, "cond");
  Node& b = builder.call("higher_order.cond", {flag, second, third, Arg::list({x})}, nullptr, "cond_1");
  builder.userOutput(builder.call("operator.getitem", {a, 0}, tensorValue({2}), "getitem"));
  builder.userOutput(builder.call("operator.getitem", {b, 0}, tensorValue({2}), "getitem_1"));
  ExportedProgram program = builder.finish();
  ProgramRewriter(program).addConstantFor(*program.graphModule().findChild("first"), "c", at::zeros({1}));
  for (const char* name : {"first", "second", "third"}) {
    EXPECT_EQ(program.graphModule().findChild(name)->graph().placeholders().size(), 2u) << name;
  }
  EXPECT_EQ(program.graph().find("cond")->arg(3).kind(), ArgumentKind::Tuple);
  EXPECT_EQ(program.graph().find("cond_1")->arg(3).kind(), ArgumentKind::List);
  const at::Tensor given = sampleTensor({2});
  const RunValues results = Interpreter(program).run({at::scalar_tensor(true, at::kBool), given});
  EXPECT_TRUE(at::equal(results[1].toTensor(), -given));
}

}  // namespace
}  // namespace edgefx

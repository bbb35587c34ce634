#include <edgefx/dialect/functionalize.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_dialect.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "backend/test_delegates.h"
#include "support/custom_operators.h"
#include "support/program_builder.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

ValueRef strided(std::vector<SymInt> sizes, std::vector<SymInt> strides) {
  TensorMeta meta = *tensorValue(std::move(sizes))->tensor();
  meta.strides = std::move(strides);
  return ValueMeta::of(std::move(meta));
}

std::string textOf(const ExportedProgram& program) {
  return fxText(program.graphModule()) + text(program.signature);
}

// Checks that it writes nothing any more and computes the same over several calls.
ExportedProgram functionalForm(const ExportedProgram& program) {
  ExportedProgram made = functionalize(program.clone());
  EXPECT_EQ(render(checkProgram(made)), "") << textOf(made);
  EXPECT_EQ(render(checkDialect(made, OperatorSet::Aten)), "") << textOf(made);
  const VerifyReport report = verifyLowering(program, made, VerifyOptions{.calls = 3});
  EXPECT_TRUE(report.agrees()) << report.text() << textOf(program) << textOf(made);
  return made;
}

std::string refusalOf(ExportedProgram program) {
  try {
    functionalize(std::move(program));
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  ADD_FAILURE() << "was not refused";
  return {};
}

TEST(Functionalize, WritesToBuffersAndInputsBecomeMutationsInTheOrderOfTheInputs) {
  ProgramBuilder builder;
  Node& first = builder.buffer("first", sampleTensor({2}));
  Node& second = builder.buffer("second", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& y = builder.userInput("y", tensorValue({2}));
  builder.call("aten.add_.Tensor", {x, y}, tensorValue({2}));
  Node& mul = builder.call("aten.mul_.Tensor", {second, x}, tensorValue({2}));
  builder.call("aten.copy_.default", {first, y}, tensorValue({2}));
  builder.userOutput(mul);
  const ExportedProgram made = functionalForm(builder.finish());
  ASSERT_EQ(made.signature.outputs.size(), 4u);
  EXPECT_EQ(made.signature.outputs[0].target, "first");
  EXPECT_EQ(made.signature.outputs[1].target, "second");
  EXPECT_EQ(made.signature.outputs[2].kind, OutputKind::UserInputMutation);
  EXPECT_EQ(made.signature.outputs[2].target, "x");
  EXPECT_EQ(made.signature.outputs[3].arg.name, made.signature.outputs[1].arg.name);
}

TEST(Functionalize, WhatNothingIsWrittenInStaysAsItWas) {
  ExportedProgram program = tinyProgram();
  program.dialect = Dialect::Training;
  program.verifiers = {"TRAINING"};
  const std::string before = textOf(program);
  const ExportedProgram made = functionalize(std::move(program));
  EXPECT_EQ(textOf(made), before);
  EXPECT_EQ(made.dialect, Dialect::Aten);
  EXPECT_EQ(made.verifiers, std::vector<std::string>{"ATEN"});
}

// clone(x), a view of it that is written, and a read of both.
using TakeView = std::function<Node&(ProgramBuilder&, Node&)>;
ExportedProgram writesThrough(const TakeView& take, std::vector<SymInt> sizes = {4, 6}) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue(sizes));
  Node& base = builder.call("aten.clone.default", {x}, tensorValue(sizes));
  Node& early = builder.call("aten.view.default", {base, Arg::list({-1})}, tensorValue({24}));
  Node& view = take(builder, base);
  Node& written = builder.call("aten.mul_.Tensor", {view, 3.0}, view.valueRef());
  Node& late = builder.call("aten.add.Tensor", {written, 1.0}, view.valueRef());
  for (Node* result : {&base, &early, &view, &late}) builder.userOutput(*result);
  return builder.finish();
}

TEST(Functionalize, ViewsAreCopiedBackIntoWhatTheyShow) {
  const std::vector<std::pair<const char*, TakeView>> views = {
      {"select",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.select.int", {x, 1, 2}, strided({4}, {6}));
       }},
      {"slice",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.slice.Tensor", {x, 1, 1, 6, 2}, strided({4, 3}, {6, 2}));
       }},
      {"narrow",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.narrow.default", {x, 0, 1, 2}, tensorValue({2, 6}));
       }},
      {"transpose",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.transpose.int", {x, 0, 1}, strided({6, 4}, {1, 6}));
       }},
      {"t",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.t.default", {x}, strided({6, 4}, {1, 6}));
       }},
      {"permute",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.permute.default", {x, Arg::list({1, -2})}, strided({6, 4}, {1, 6}));
       }},
      {"view",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.view.default", {x, Arg::list({2, 12})}, tensorValue({2, 12}));
       }},
      {"reshape",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.reshape.default", {x, Arg::list({2, 12})}, tensorValue({2, 12}));
       }},
      {"unsqueeze",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.unsqueeze.default", {x, -1}, tensorValue({4, 6, 1}));
       }},
      {"diagonal",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.diagonal.default", {x, 1}, strided({4}, {7}));
       }},
      {"as_strided",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.as_strided.default", {x, Arg::list({2, 3}), Arg::list({6, 1}), 7},
                       strided({2, 3}, {6, 1}));
       }},
      {"chunk",
       [](ProgramBuilder& b, Node& x) -> Node& {
         ValueMeta::Sequence parts;
         parts.isList = true;
         for (int64_t columns : {2, 2, 2}) parts.elements.push_back(strided({4, columns}, {6, 1}));
         Node& chunks = b.call("aten.chunk.default", {x, 3, -1}, ValueMeta::of(parts));
         return b.call("operator.getitem", {chunks, 1}, parts.elements[1]);
       }},
      {"split_with_sizes",
       [](ProgramBuilder& b, Node& x) -> Node& {
         ValueMeta::Sequence parts;
         parts.isList = true;
         for (int64_t columns : {1, 2, 3}) parts.elements.push_back(strided({4, columns}, {6, 1}));
         Node& split =
             b.call("aten.split_with_sizes.default", {x, Arg::list({1, 2, 3}), 1}, ValueMeta::of(parts));
         return b.call("operator.getitem", {split, 2}, parts.elements[2]);
       }},
      {"split",
       [](ProgramBuilder& b, Node& x) -> Node& {
         ValueMeta::Sequence parts;
         parts.isList = true;
         for (int64_t columns : {4, 2}) parts.elements.push_back(strided({4, columns}, {6, 1}));
         Node& split = b.call("aten.split.Tensor", {x, 4, 1}, ValueMeta::of(parts));
         return b.call("operator.getitem", {split, 1}, parts.elements[1]);
       }},
      {"unbind",
       [](ProgramBuilder& b, Node& x) -> Node& {
         ValueMeta::Sequence parts;
         parts.isList = true;
         parts.elements.assign(4, tensorValue({6}));
         Node& rows = b.call("aten.unbind.int", {x}, ValueMeta::of(parts));
         return b.call("operator.getitem", {rows, 2}, parts.elements[2]);
       }},
      {"a view of a view",
       [](ProgramBuilder& b, Node& x) -> Node& {
         Node& turned = b.call("aten.t.default", {x}, strided({6, 4}, {1, 6}));
         Node& row = b.call("aten.select.int", {turned, 0, 3}, strided({4}, {6}));
         return b.call("aten.slice.Tensor", {row, 0, 1, 3}, strided({2}, {6}));
       }},
      {"detach",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.detach.default", {x}, tensorValue({4, 6}));
       }},
      {"contiguous",
       [](ProgramBuilder& b, Node& x) -> Node& {
         return b.call("aten.contiguous.default", {x}, tensorValue({4, 6}));
       }},
  };
  for (const auto& [name, take] : views) {
    SCOPED_TRACE(name);
    functionalForm(writesThrough(take));
  }
}

TEST(Functionalize, ACopyIsNoView) {
  const ExportedProgram made = functionalForm(writesThrough([](ProgramBuilder& b, Node& x) -> Node& {
    Node& turned = b.call("aten.t.default", {x}, strided({6, 4}, {1, 6}));
    return b.call("aten.reshape.default", {turned, Arg::list({24})}, tensorValue({24}));
  }));
  EXPECT_EQ(textOf(made).find("scatter"), std::string::npos);
}

TEST(Functionalize, WaysBackThatDoNotExistAreRefused) {
  const std::string expand = refusalOf(writesThrough([](ProgramBuilder& b, Node& x) -> Node& {
    Node& column = b.call("aten.slice.Tensor", {x, 1, 0, 1}, strided({4, 1}, {6, 1}));
    Node& wide = b.call("aten.expand.default", {column, Arg::list({4, 6})}, strided({4, 6}, {6, 0}));
    wide.setName("wide");
    return wide;
  }));
  EXPECT_NE(expand.find("'aten.expand.default'"), std::string::npos) << expand;
  EXPECT_NE(expand.find("%wide"), std::string::npos) << expand;
  const std::string unfold = refusalOf(writesThrough([](ProgramBuilder& b, Node& x) -> Node& {
    return b.call("aten.unfold.default", {x, 1, 2, 1}, strided({4, 5, 2}, {6, 1, 1}));
  }));
  EXPECT_NE(unfold.find("'aten.unfold.default'"), std::string::npos) << unfold;
}

TEST(Functionalize, WhatIsWrittenKeepsItsDtype) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}, Dtype::Float64));
  builder.call("aten.add_.Tensor", {state, x}, tensorValue({2}));
  builder.call("aten.lt_.Scalar", {state, 0.5}, tensorValue({2}));
  builder.userOutput(state);
  functionalForm(builder.finish());
}

TEST(Functionalize, OperatorsWhoseFunctionalFormHasAnotherName) {
  for (const auto& [target, args] :
       std::vector<std::pair<const char*, Args>>{{"aten.zero_.default", {}},
                                                 {"aten.fill_.Scalar", {2.0}},
                                                 {"aten.clamp_.default", {-0.5, nullptr}},
                                                 {"aten.relu_.default", {}},
                                                 {"aten.detach_.default", {}}}) {
    SCOPED_TRACE(target);
    ProgramBuilder builder;
    Node& state = builder.buffer("state", sampleTensor({2, 3}));
    Args all{state};
    all.insert(all.end(), args.begin(), args.end());
    Node& row = builder.call("aten.select.int", {state, 0, 1}, tensorValue({3}));
    builder.call(target, all, tensorValue({2, 3}));
    builder.userOutput(row);
    functionalForm(builder.finish());
  }
}

TEST(Functionalize, TensorsThatChangeTheirFormInPlace) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& base = builder.call("aten.clone.default", {x}, tensorValue({2, 3}));
  Node& row = builder.call("aten.select.int", {base, 0, 1}, tensorValue({3}));
  builder.call("aten.t_.default", {base}, strided({3, 2}, {1, 3}));
  builder.call("aten.add_.Tensor", {base, 1.0}, strided({3, 2}, {1, 3}));
  builder.userOutput(row);
  builder.userOutput(builder.call("aten.relu.default", {base}, strided({3, 2}, {1, 3})));
  functionalForm(builder.finish());
}

TEST(Functionalize, OperatorsOfOtherLibrariesAreWrapped) {
  registerCustomOperators();
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2, 3}));
  Node& x = builder.userInput("x", tensorValue({3}));
  Node& row = builder.call("aten.select.int", {state, 0, 1}, tensorValue({3}));
  builder.call("mylib.accumulate_.default", {row, x}, ValueMeta::of(ValueMeta::None{}));
  builder.userOutput(row);
  const ExportedProgram made = functionalForm(builder.finish());
  EXPECT_NE(textOf(made).find("_acc_base_index: 0, _all_bases: [%select]"), std::string::npos)
      << textOf(made);
}

TEST(Functionalize, TrainedBatchNorms) {
  ProgramBuilder builder;
  Node& mean = builder.buffer("mean", sampleTensor({3}));
  Node& variance = builder.buffer("variance", at::Tensor(sampleTensor({3}).abs()));
  Node& x = builder.userInput("x", tensorValue({4, 3}));
  Node& norm =
      builder.call("aten.batch_norm.default", {x, nullptr, nullptr, mean, variance, true, 0.1, 1e-5, false},
                   tensorValue({4, 3}));
  builder.userOutput(builder.call("aten.relu_.default", {norm}, tensorValue({4, 3})));
  const ExportedProgram made = functionalForm(builder.finish());
  EXPECT_EQ(made.signature.outputs.size(), 3u);
}

std::unique_ptr<Graph> writingBranch(const char* op) {
  auto graph = std::make_unique<Graph>();
  Node& cache = graph->placeholder("cache");
  Node& x = graph->placeholder("x");
  cache.setValue(tensorValue({2, 3}));
  x.setValue(tensorValue({3}));
  if (op != nullptr) {
    Node& row = graph->call("aten.select.int", {cache, 0, 1});
    row.setValue(tensorValue({3}));
    graph->call(op, {row, x}).setValue(tensorValue({3}));
  }
  Node& sum = graph->call("aten.sum.default", {cache});
  sum.setValue(tensorValue({}));
  graph->output(Arg::tuple({sum}));
  return graph;
}

ExportedProgram writesInBranches(const char* onTrue, const char* onFalse,
                                 const Node* (*second)(Node&, Node&) = nullptr) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2, 3}));
  Node& x = builder.userInput("x", tensorValue({3}));
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& first = builder.branch("true_graph_0", writingBranch(onTrue));
  Node& other = builder.branch("false_graph_0", writingBranch(onFalse));
  Node& before = builder.call("aten.clone.default", {state}, tensorValue({2, 3}));
  Node& row = builder.call("aten.select.int", {state, 0, 0}, tensorValue({3}));
  ValueMeta::Sequence results;
  results.elements = {tensorValue({})};
  Node* operand = second == nullptr ? &x : const_cast<Node*>(second(state, row));
  Node& cond = builder.call("higher_order.cond", {flag, first, other, Arg::list({state, *operand})},
                            ValueMeta::of(results));
  builder.userOutput(before);
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, tensorValue({})));
  builder.userOutput(builder.call("aten.add.Tensor", {state, 1.0}, tensorValue({2, 3})));
  return builder.finish();
}

TEST(Functionalize, WritesOfBranchesBecomeResultsOfTheirCalls) {
  const ExportedProgram made = functionalForm(writesInBranches("aten.add_.Tensor", nullptr));
  EXPECT_NE(made.signature.outputs[0].target, std::nullopt);
  EXPECT_EQ(made.signature.outputs[0].kind, OutputKind::BufferMutation);
  functionalForm(writesInBranches("aten.add_.Tensor", "aten.copy_.default"));
}

TEST(Functionalize, OperandsOfAWritingBranchThatShareMemoryAreRefused) {
  const std::string refusal = refusalOf(
      writesInBranches("aten.add_.Tensor", nullptr, [](Node&, Node& row) -> const Node* { return &row; }));
  EXPECT_NE(refusal.find("shares memory"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("%cond"), std::string::npos) << refusal;
}

TEST(Functionalize, LoopsThatWriteTheirOperandsAreRefused) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2, 3}));
  Node& xs = builder.userInput("xs", tensorValue({2, 3}));
  auto graph = std::make_unique<Graph>();
  Node& row = graph->placeholder("row");
  Node& cache = graph->placeholder("cache");
  graph->output(Arg::tuple({graph->call("aten.add_.Tensor", {cache, row})}));
  Node& body = builder.branch("body_graph_0", std::move(graph));
  builder.userOutput(builder.call("higher_order.map_impl", {body, Arg::list({xs}), Arg::list({state})},
                                  tensorValue({2, 2, 3}), "map"));
  const std::string refusal = refusalOf(builder.finish());
  EXPECT_NE(refusal.find("%map"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("'map_impl'"), std::string::npos) << refusal;
}

TEST(Functionalize, ConstantsAreNotWritten) {
  ProgramBuilder builder;
  Node& constant = builder.constant("table", sampleTensor({2}));
  builder.userOutput(builder.call("aten.add_.Tensor", {constant, 1.0}, tensorValue({2}), "sum"));
  const std::string refusal = refusalOf(builder.finish());
  EXPECT_NE(refusal.find("constant"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("%sum"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("'aten.add_.Tensor'"), std::string::npos) << refusal;
}

TEST(Functionalize, AConstantMayHoldIntermediateResults) {
  ProgramBuilder builder;
  Node& place = builder.constant("place", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.call("aten.copy_.default", {place, x}, tensorValue({2}));
  builder.userOutput(builder.call("aten.add_.Tensor", {place, 1.0}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  const ExportedProgram made = functionalize(program.clone());
  EXPECT_EQ(render(checkProgram(made)), "");
  EXPECT_EQ(made.signature.outputs.size(), 1u);
  EXPECT_EQ(made.graph().size(), 4u) << fxText(made.graph());
  const std::vector<c10::IValue> inputs = generateInputs(program);
  EXPECT_TRUE(compareValues(Interpreter(made).run(inputs)[0], Interpreter(program).run(inputs)[0]).agrees);
}

TEST(Functionalize, BuffersOfOneMemoryAreWrittenTogether) {
  const at::Tensor tensor = sampleTensor({2});
  const auto make = [&](const at::Tensor& second) {
    ProgramBuilder builder;
    Node& a = builder.buffer("a", tensor);
    Node& b = builder.buffer("b", second);
    builder.call("aten.add_.Tensor", {a, 1.0}, tensorValue({2}));
    builder.userOutput(builder.call("aten.mul.Tensor", {b, 2.0}, b.valueRef()));
    return builder.finish();
  };
  functionalForm(make(tensor));
  const std::string refusal = refusalOf(make(tensor.slice(0, 0, 1)));
  EXPECT_NE(refusal.find("another input"), std::string::npos) << refusal;
}

TEST(Functionalize, AnOperatorWithoutFunctionalFormIsRefused) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  builder.userOutput(
      builder.call("aten.resize_.default", {state, Arg::list({3})}, tensorValue({3}), "resized"));
  const std::string refusal = refusalOf(builder.finish());
  EXPECT_NE(refusal.find("'aten.resize_.default'"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("%resized"), std::string::npos) << refusal;
}

TEST(Functionalize, PacketsAndGraphsWithoutResultsAreRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call("aten.t_", {x}, tensorValue({2}), "packet"));
  EXPECT_NE(refusalOf(builder.finish()).find("%packet"), std::string::npos);

  ProgramBuilder open;
  Node& y = open.userInput("y", tensorValue({2}));
  open.call("aten.relu_.default", {y}, tensorValue({2}));
  EXPECT_THROW(functionalize(open.program().clone()), VerificationError);
}

// Nobody sees what is written.
TEST(Functionalize, WritesThatNobodySeesGo) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& copy = builder.call("aten.clone.default", {x}, tensorValue({2}));
  builder.call("aten.add_.Tensor", {copy, 1.0}, tensorValue({2}));
  builder.userOutput(builder.call("aten.relu.default", {x}, tensorValue({2})));
  EXPECT_EQ(functionalForm(builder.finish()).graph().size(), 3u);
}

TEST(Functionalize, MutationsThatTheProgramDeclaresStay) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& other = builder.buffer("other", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& sum = builder.call("aten.add.Tensor", {other, x}, tensorValue({2}));
  Node& mul = builder.call("aten.mul_.Tensor", {state, 2.0}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, sum, "other");
  builder.userOutput(mul);
  const ExportedProgram made = functionalForm(builder.finish());
  ASSERT_EQ(made.signature.outputs.size(), 3u);
  EXPECT_EQ(made.signature.outputs[0].target, "state");
  EXPECT_EQ(made.signature.outputs[1].target, "other");
}

// Each of n writes through a view of depth n needs n views and n ways back.
TEST(Functionalize, GraphsThatWouldGrowBeyondMeasureAreRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node* view = &builder.call("aten.clone.default", {x}, tensorValue({2}));
  Node& base = *view;
  for (int i = 0; i < 3000; ++i)
    view = &builder.call("aten.view.default", {*view, Arg::list({2})}, tensorValue({2}));
  for (int i = 0; i < 3000; ++i)
    builder.call("aten.add_.Tensor", {i % 2 == 0 ? *view : base, 1.0}, tensorValue({2}));
  builder.userOutput(base);
  const std::string refusal = refusalOf(builder.finish());
  EXPECT_NE(refusal.find("more than"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/support/error.h>

#include "program/core_aten_ops.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

ExportedProgram linearSilu() {
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({4, 3}));
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& linear = builder.call("aten.linear.default", {x, weight}, tensorValue({2, 4}));
  linear.editMeta([](NodeMeta& meta) {
    meta.set("stack_trace", std::string("here"));
    meta.setDebugHandle(7);
  });
  builder.userOutput(builder.call("aten.silu.default", {linear}, tensorValue({2, 4})));
  return builder.finish();
}

std::vector<std::string> targetsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.isCall()) names.emplace_back(node.target().name());
  }
  return names;
}

using TargetNames = std::vector<std::string>;

TEST(Decompose, ReplacesCallsInTheirPlaceAndNamesTheResultAnew) {
  ExportedProgram program = linearSilu();
  EXPECT_TRUE(decompose(program).empty());
  EXPECT_EQ(targetsOf(program.graph()), (TargetNames{"aten.permute.default", "aten.mm.default",
                                                     "aten.sigmoid.default", "aten.mul.Tensor"}));
  EXPECT_EQ(program.signature.outputs[0].arg.name,
            program.graph().outputNode().arg(0).items()[0].asNode().name());
  EXPECT_TRUE(checkProgram(program).empty());
}

TEST(Decompose, NewNodesHaveTheMetadataOfTheOld) {
  ExportedProgram program = linearSilu();
  decompose(program);
  for (const Node& node : program.graph().nodes()) {
    const bool isOfLinear =
        node.callsOperator("aten.permute.default") || node.callsOperator("aten.mm.default");
    EXPECT_EQ(node.meta().stackTrace(), isOfLinear ? "here" : "") << node.text();
    EXPECT_EQ(node.meta().debugHandle(), isOfLinear ? std::optional<int64_t>(7) : std::nullopt);
    EXPECT_TRUE(!node.isCall() || node.value() != nullptr) << node.text();
  }
}

TEST(Decompose, PreservedOperatorsStayAndAreNotLeftOver) {
  for (const char* name : {"aten.linear.default", "aten.linear"}) {
    ExportedProgram program = linearSilu();
    DecomposeOptions options;
    options.preserveOps = {name};
    EXPECT_TRUE(decompose(program, options).empty());
    EXPECT_TRUE(undecomposed(program, options).empty());
    EXPECT_EQ(undecomposed(program).size(), 1u);
    EXPECT_EQ(targetsOf(program.graph()),
              (TargetNames{"aten.linear.default", "aten.sigmoid.default", "aten.mul.Tensor"}));
  }
}

// What another rule makes is preserved, too.
TEST(Decompose, PreservedOperatorsStayInsideOtherDecompositions) {
  ExportedProgram program = linearSilu();
  DecomposeOptions options;
  options.preserveOps = {"aten.t.default"};
  decompose(program, options);
  EXPECT_EQ(targetsOf(program.graph())[0], "aten.t.default");
}

TEST(Decompose, KeptCallsStayAndSaySo) {
  ExportedProgram program = linearSilu();
  DecomposeOptions options;
  options.keeps = [](const Node& node) { return node.callsOperator("aten.silu.default"); };
  const std::vector<UndecomposedOperator> left = decompose(program, options);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "aten.silu.default");
  EXPECT_EQ(left[0].firstNode, "silu");
  EXPECT_EQ(left[0].reason, "it was to be kept");
}

TEST(Decompose, WrongNamesChangeNothing) {
  ExportedProgram program = linearSilu();
  const std::string before = fxText(program.graphModule());
  DecomposeOptions options;
  options.preserveOps = {"aten..linear"};
  EXPECT_THROW(decompose(program, options), UsageError);
  options.preserveOps.clear();
  options.keeps = [](const Node&) -> bool { throw UsageError(Diagnostic("no")); };
  EXPECT_THROW(decompose(program, options), UsageError);
  EXPECT_EQ(fxText(program.graphModule()), before);
}

TEST(Decompose, WhatIsNotOfCoreAtenIsNamed) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& first = builder.call("aten.erfinv.default", {x}, tensorValue({2, 3}));
  Node& second = builder.call("aten.erfinv.default", {first}, tensorValue({2, 3}));
  builder.userOutput(builder.call("mylib.mul.default", {second}, tensorValue({2, 3})));
  ExportedProgram program = builder.finish();
  const std::vector<UndecomposedOperator> left = decompose(program);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "aten.erfinv.default");
  EXPECT_EQ(left[0].calls, 2u);
  EXPECT_EQ(left[0].firstNode, first.name());
  EXPECT_EQ(left[0].reason, "there is no rule for it");
  DecomposeOptions options;
  options.exceptions = {"aten.erfinv.default"};
  EXPECT_TRUE(undecomposed(program, options).empty());
}

TEST(Decompose, CallsThatDoNotFitTheirRecordedValueStay) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  builder.userOutput(builder.call("aten.silu.default", {x}, tensorValue({2, 4})));
  ExportedProgram program = builder.finish();
  const std::string before = fxText(program.graphModule());
  const std::vector<UndecomposedOperator> left = decompose(program);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].reason, "its recorded value is float32[2, 4], its decomposition gives float32[2, 3]");
  EXPECT_EQ(fxText(program.graphModule()), before);
}

TEST(Decompose, CallsThatDoNotFitTheirInputsStay) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& unknown = builder.userInput("unknown", {});
  builder.userOutput(builder.call("aten.linear.default", {x, x}, tensorValue({2, 2})));
  builder.userOutput(builder.call("aten.flatten.using_ints", {x, 1, 7}, tensorValue({6})));
  builder.userOutput(builder.call("aten.linear.default", {unknown, x}, tensorValue({2, 2})));
  ExportedProgram program = builder.finish();
  const std::vector<UndecomposedOperator> left = decompose(program);
  EXPECT_EQ(targetsOf(program.graph()), (TargetNames{"aten.permute.default", "aten.mm.default",
                                                     "aten.flatten.using_ints", "aten.linear.default"}));
  ASSERT_EQ(left.size(), 2u);
  EXPECT_NE(left[0].reason.find("expected a dimension from -2 to 1, found 7"), std::string::npos)
      << left[0].reason;
  EXPECT_EQ(left[1].reason, "the value of '%unknown' is not known");
}

// Whatever a file says: nothing is read beyond a list's end, no number overflows.
TEST(Decompose, HostileArgumentsAreReasonsToStay) {
  const int64_t most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& scalar = builder.userInput("scalar", tensorValue({}));
  Node& wide = builder.userInput("wide", tensorValue({1, 1, most}));
  Node& cube = builder.userInput("cube", tensorValue({1, 1, 4}));
  Node& index = builder.userInput("index", tensorValue({2}, Dtype::Int64));
  const std::vector<std::pair<const char*, Args>> calls = {
      {"aten.max_pool1d.default", {cube, Arg::list({})}},
      {"aten.chunk.default", {wide, most, 2}},
      {"aten.split.Tensor", {wide, 1, 2}},
      {"aten.split.Tensor", {x, 0}},
      {"aten.unbind.int", {wide, 2}},
      {"aten.tensor_split.sections", {x, least}},
      {"aten.narrow.default", {x, 0, least, most}},
      {"aten.conv1d.padding", {cube, wide, nullptr, {1}, "same", {most}}},
      {"aten.select_scatter.default", {scalar, scalar, 0, 0}},
      {"aten.glu.default", {scalar, 0}},
      {"aten.linear.default", {scalar, x}},
      {"aten.unflatten.int", {scalar, 0, {most, most}}},
      {"aten.gru_cell.default", {x, x, x, x}},
      {"aten.lstm_cell.default", {x, {x}, x, x}},
      {"aten.lstm.input", {cube, {cube, cube}, {x, x}, false, most, 0.0, false, false, false}},
      {"aten.einsum.default", {"->->,", {x}}},
      {"aten.einsum.default", {std::string(100000, 'a'), {x}}},
      {"aten.pad.default", {x, {1}, "reflect"}},
      {"aten.one_hot.default", {index, least}},
      {"aten.movedim.intlist", {x, {0, 0}, {0, 1}}},
      {"aten.scaled_dot_product_attention.default", {scalar, scalar, scalar}},
      {"aten.cross_entropy_loss.default", {scalar, scalar}},
      {"aten.batch_norm.default", {x}},
      {"aten.meshgrid.default", {x}},
      {"aten.stack.default", {Arg::list({})}},
  };
  for (const auto& [op, args] : calls)
    builder.userOutput(builder.call(op, args, tensorValue({7, 7, 7, 7, 7})));
  ExportedProgram program = builder.finish();
  const std::string before = fxText(program.graphModule());
  const std::vector<UndecomposedOperator> left = decompose(program);
  EXPECT_EQ(fxText(program.graphModule()), before);
  for (const UndecomposedOperator& op : left) EXPECT_NE(op.reason, "") << op.name;
}

TEST(Decompose, ShiftsOfAnySizeAreTakenModuloTheSize) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  for (const int64_t shift : {std::numeric_limits<int64_t>::min(), int64_t{-5}, int64_t{0}, int64_t{5}}) {
    builder.userOutput(builder.call("aten.roll.default", {x, {shift}, {0}}, tensorValue({4})));
  }
  ExportedProgram program = builder.finish();
  EXPECT_TRUE(decompose(program).empty());
  std::vector<int64_t> starts;
  for (const Node& node : program.graph().nodes()) {
    if (node.callsOperator("aten.add.Tensor")) starts.push_back(node.arg(1).asInt());
  }
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 1, 0, 3}));
}

TEST(Decompose, ListsAreReplacedItemByItem) {
  const auto program = [](bool takesAll) {
    ProgramBuilder builder;
    Node& x = builder.userInput("x", tensorValue({2, 3}));
    const ValueRef row = tensorValue({3});
    Node& rows = builder.call("aten.unbind.int", {x}, ValueMeta::of(ValueMeta::Sequence{{row, row}, true}));
    builder.userOutput(builder.call("operator.getitem", {rows, 1}, row));
    builder.userOutput(builder.call("operator.getitem", {rows, -2}, row));
    if (takesAll) builder.userOutput(builder.call("aten.cat.default", {rows}, tensorValue({6})));
    return builder.finish();
  };
  ExportedProgram items = program(false);
  EXPECT_TRUE(decompose(items).empty());
  const Argument& results = items.graph().outputNode().arg(0);
  EXPECT_EQ(results.items()[0].asNode().arg(0).asNode().arg(2).asInt(), 1) << "the slice from 1 to 2";
  EXPECT_EQ(results.items()[1].asNode().arg(0).asNode().arg(2).asInt(), 0);
  EXPECT_TRUE(checkProgram(items).empty());

  ExportedProgram whole = program(true);
  const std::string before = fxText(whole.graphModule());
  const std::vector<UndecomposedOperator> left = decompose(whole);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].reason, "a user takes more than one item of its result");
  EXPECT_EQ(fxText(whole.graphModule()), before);
}

// A result that is an input afterwards.
TEST(Decompose, ResultsMayBecomeInputs) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  builder.userOutput(builder.call("aten.dropout.default", {x, 0.5, false}, tensorValue({2, 3})));
  ExportedProgram program = builder.finish();
  decompose(program);
  EXPECT_TRUE(targetsOf(program.graph()).empty());
  EXPECT_EQ(program.signature.outputs[0].arg.name, "x");
  EXPECT_TRUE(checkProgram(program).empty());
}

std::unique_ptr<Graph> siluBranch() {
  auto graph = std::make_unique<Graph>();
  Node& y = graph->placeholder("y");
  y.setValue(tensorValue({2}));
  Node& silu = graph->call("aten.silu.default", {y});
  silu.setValue(tensorValue({2}));
  graph->output(Arg::tuple({silu}));
  return graph;
}

TEST(Decompose, NestedGraphsToo) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& condition = builder.userInput("condition", tensorValue({}, Dtype::Bool));
  Node& yes = builder.branch("true_graph_0", siluBranch());
  Node& no = builder.branch("false_graph_0", siluBranch());
  Node& cond = builder.call("higher_order.cond", {condition, yes, no, Arg::tuple({x})},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2})}, false}));
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, tensorValue({2})));
  ExportedProgram program = builder.finish();
  EXPECT_TRUE(decompose(program).empty());
  for (const char* path : {"true_graph_0", "false_graph_0"}) {
    EXPECT_EQ(targetsOf(program.graphModule().findChild(path)->graph()),
              (TargetNames{"aten.sigmoid.default", "aten.mul.Tensor"}));
  }
}

TEST(Decompose, GraphsUnderAutocastStay) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& body = builder.branch("submod_1", siluBranch());
  Node& call = builder.call("higher_order.wrap_with_autocast", {"cpu", Dtype::BFloat16, true, false, body, x},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2})}, false}));
  builder.userOutput(builder.call("operator.getitem", {call, 0}, tensorValue({2})));
  ExportedProgram program = builder.finish();
  const std::vector<UndecomposedOperator> left = decompose(program);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].graph, "submod_1");
  EXPECT_EQ(left[0].reason, "it runs under autocast, which changes what operators do");
}

TEST(Decompose, EdgeOperatorsAreLeftAlone) {
  ExportedProgram program = linearSilu();
  wrapAsEdge(program);
  const std::string before = fxText(program.graphModule());
  EXPECT_EQ(decompose(program).size(), 2u);
  EXPECT_EQ(fxText(program.graphModule()), before);
}

// A size that is there is used; others become nodes once, behind the placeholders.
TEST(Decompose, SymbolicSizesAreCalculatedOnce) {
  const SymInt rows(Symbolic{SymExpr::symbol("s0"), 4}), columns(Symbolic{SymExpr::symbol("s1"), 5});
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({4, 3}));
  Node& x = builder.userInput("x", tensorValue({rows, columns, 3}));
  Node& size = builder.call("aten.sym_size.int", {x, 0}, ValueMeta::of(ValueMeta::SymIntValue{rows}));
  Node& first = builder.call("aten.linear.default", {x, weight}, tensorValue({rows, columns, 4}));
  Node& second = builder.call("aten.linear.default", {x, weight}, tensorValue({rows, columns, 4}));
  builder.userOutput(builder.call("aten.add.Tensor", {first, second}, tensorValue({rows, columns, 4})));
  ExportedProgram program = builder.finish();
  EXPECT_TRUE(decompose(program).empty());
  EXPECT_EQ(targetsOf(program.graph()),
            (TargetNames{"aten.sym_size.int", "aten.sym_size.int", "aten.permute.default", "operator.mul",
                         "aten.view.default", "aten.mm.default", "aten.view.default", "aten.permute.default",
                         "aten.view.default", "aten.mm.default", "aten.view.default", "aten.add.Tensor"}));
  EXPECT_EQ(size.numUsers(), 3u) << "the product, and two sizes of results";
  EXPECT_TRUE(checkProgram(program).empty());
}

// The decomposition's strides are others than the operator's: what is made of it is described anew.
TEST(Decompose, StridesOfUsersFollow) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3, 4}));
  TensorMeta odd = contiguousTensor(Dtype::Float32, {2, 3, 4});
  odd.strides = {SymInt(1), SymInt(2), SymInt(6)};
  Node& silu = builder.call("aten.silu.default", {x}, ValueMeta::of(odd));
  builder.userOutput(builder.call("aten.abs.default", {silu}, ValueMeta::of(odd)));
  ExportedProgram program = builder.finish();
  decompose(program);
  const Node& abs = program.graph().outputNode().arg(0).items()[0].asNode();
  EXPECT_EQ(abs.value()->tensor()->strides, contiguousTensor(Dtype::Float32, {2, 3, 4}).strides);
}

TEST(CoreAtenOps, KnowsCoreViewsAndCopies) {
  EXPECT_TRUE(detail::isCoreAten("aten.add.Tensor"));
  EXPECT_TRUE(detail::isCoreAten("aten.where.self"));
  EXPECT_FALSE(detail::isCoreAten("aten.add"));
  EXPECT_FALSE(detail::isCoreAten("aten.linear.default"));
  EXPECT_FALSE(detail::isCoreAten("mylib.add.Tensor"));
  EXPECT_TRUE(detail::isCoreAtenView("aten.permute.default"));
  EXPECT_FALSE(detail::isCoreAtenView("aten.add.Tensor"));
  EXPECT_TRUE(detail::isViewCopy("aten.permute_copy.default"));
  EXPECT_FALSE(detail::isViewCopy("aten.permute.default"));
}

}  // namespace
}  // namespace edgefx::test

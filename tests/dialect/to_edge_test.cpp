#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace edgefx::test {
namespace {

EdgeCompileConfig plainConfig() {
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  return config;
}

ExportedProgram toPlainEdge(ExportedProgram program) {
  return toEdgeDialect(std::move(program), plainConfig());
}

// add(x, number) of that dtype.
ExportedProgram addNumber(const Arg& number, Dtype dtype, std::vector<SymInt> sizes = {2}) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue(sizes, dtype));
  builder.userOutput(builder.call("aten.add.Tensor", {x, number}, tensorValue(sizes, dtype)));
  return builder.finish();
}

const at::Tensor& liftedOf(const ExportedProgram& program) {
  return program.stateDict().find("_lifted_tensor_constant0")->tensor();
}

TEST(ToEdge, NumbersBecomeBuffersOfTheirOwnDtype) {
  const ExportedProgram edge = toPlainEdge(addNumber(2.5, Dtype::Float32));
  ASSERT_EQ(edge.signature.inputs.size(), 2u);
  EXPECT_EQ(edge.signature.inputs[0].kind, InputKind::Buffer);
  EXPECT_EQ(edge.signature.inputs[0].persistent, true);
  EXPECT_EQ(liftedOf(edge).scalar_type(), at::kFloat);
  EXPECT_EQ(liftedOf(edge).item().toDouble(), 2.5);
  EXPECT_EQ(render(checkProgram(edge)), "");
}

TEST(ToEdge, ANumberThatFloat32RoundsIsKeptExactlyBesideDoubles) {
  const ExportedProgram edge = toPlainEdge(addNumber(0.1, Dtype::Float64));
  EXPECT_EQ(liftedOf(edge).scalar_type(), at::kDouble);
  EXPECT_EQ(liftedOf(edge).item().toDouble(), 0.1);
  EXPECT_EQ(liftedOf(toPlainEdge(addNumber(0.5, Dtype::Float64))).scalar_type(), at::kFloat);
}

// A number does not widen a tensor without dimensions, a tensor without dimensions would.
TEST(ToEdge, ANumberBesideATensorWithoutDimensionsDoesNotWidenIt) {
  const ExportedProgram edge = toPlainEdge(addNumber(1, Dtype::Int32, {}));
  EXPECT_EQ(liftedOf(edge).scalar_type(), at::kInt);
  const Node& result = edge.graph().outputNode().inputs().front();
  EXPECT_EQ(result.value()->tensor()->dtype, Dtype::Int32) << fxText(edge.graph());
}

TEST(ToEdge, NamesOfLiftedNumbersAvoidThoseTaken) {
  ProgramBuilder builder;
  Node& taken = builder.buffer("taken", sampleTensor({2}));
  builder.program().stateDict().set("_lifted_tensor_constant1", at::full({}, 1.0));
  Node& x = builder.userInput("_lifted_tensor_constant2", tensorValue({2}));
  Node& sum = builder.call("aten.add.Tensor", {x, taken}, tensorValue({2}));
  builder.userOutput(builder.call("aten.mul.Tensor", {sum, 2.0}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  EXPECT_NE(edge.graph().find("_lifted_tensor_constant3"), nullptr) << fxText(edge.graph());
  EXPECT_EQ(edge.stateDict().find("_lifted_tensor_constant1")->tensor().item().toDouble(), 1.0);
}

TEST(ToEdge, ProgramsWithoutUserInputsTakeLiftedNumbersToo) {
  ProgramBuilder builder;
  Node& weight = builder.parameter("weight", sampleTensor({2}));
  builder.userOutput(builder.call("aten.mul.Tensor", {weight, 2.0}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  EXPECT_EQ(render(checkProgram(edge)), "");
  EXPECT_EQ(edge.signature.inputs.size(), 2u);
}

TEST(ToEdge, ScalarOverloadsKeepTheirNumbers) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call("aten.mul.Scalar", {x, 2.0}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  EXPECT_EQ(edge.signature.inputs.size(), 1u);
}

TEST(ToEdge, WholeNumbersAreDividedAsFloats) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}, Dtype::Int64));
  Node& y = builder.userInput("y", tensorValue({2}, Dtype::Int32));
  builder.userOutput(builder.call("aten.div.Tensor", {x, y}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  size_t casts = 0;
  for (const Node& node : edge.graph().nodes()) {
    if (!node.isCall() || !node.callsOperator("aten._to_copy.default")) continue;
    ++casts;
    EXPECT_EQ(node.findKwarg("dtype")->asDtype(), Dtype::Float32);
  }
  EXPECT_EQ(casts, 2u) << fxText(edge.graph());
}

TEST(ToEdge, CopiesOfViewsAreDescribedAsContiguousAndWhatIsMadeOfThemToo) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  TensorMeta turned = *tensorValue({3, 2})->tensor();
  turned.strides = {1, 3};
  Node& permute = builder.call("aten.permute.default", {x, Arg::list({1, 0})}, ValueMeta::of(turned));
  builder.userOutput(builder.call("aten.relu.default", {permute}, ValueMeta::of(turned)));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  const Node& relu = edge.graph().outputNode().inputs().front();
  EXPECT_EQ(relu.value()->tensor()->strides, (std::vector<SymInt>{2, 1}));
}

TEST(ToEdge, BranchesAreToldOfTheLayoutOfTheirOperandsAndCallersOfTheirResults) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  TensorMeta turned = *tensorValue({3, 2})->tensor();
  turned.strides = {1, 3};
  const ValueRef turnedValue = ValueMeta::of(turned);
  Node& permute = builder.call("aten.permute.default", {x, Arg::list({1, 0})}, turnedValue);
  const auto branch = [&] {
    auto graph = std::make_unique<Graph>();
    Node& input = graph->placeholder("input");
    input.setValue(turnedValue);
    Node& clone = graph->call("aten.clone.default", {input});
    clone.setValue(turnedValue);
    graph->output(Arg::tuple({clone}));
    return graph;
  };
  Node& first = builder.branch("true_graph_0", branch());
  Node& second = builder.branch("false_graph_0", branch());
  ValueMeta::Sequence results;
  results.elements = {turnedValue};
  Node& cond =
      builder.call("higher_order.cond", {flag, first, second, Arg::list({permute})}, ValueMeta::of(results));
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, turnedValue));
  const ExportedProgram edge = toEdgeDialect(builder.finish());
  const std::string text = fxText(edge.graphModule());
  EXPECT_NE(text.find("dim_order: [0, 1]"), std::string::npos) << text;
  EXPECT_EQ(text.find("dim_order: [1, 0]"), std::string::npos) << text;
  const Node& result = edge.graph().outputNode().inputs().front();
  EXPECT_EQ(result.value()->tensor()->strides, (std::vector<SymInt>{2, 1}));
}

TEST(ToEdge, CastsAndSlicesThatChangeNothingGo) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2, 3}));
  Node& cast = builder.graph().call("aten._to_copy.default", {relu}, {{"dtype", Dtype::Float32}});
  cast.setValue(tensorValue({2, 3}));
  Node& slice = builder.call("aten.slice.Tensor", {cast, 0, 0, 2}, tensorValue({2, 3}));
  builder.userOutput(builder.call("aten.neg.default", {slice}, tensorValue({2, 3})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  EXPECT_EQ(edge.graph().size(), 4u) << fxText(edge.graph());
}

// A result must not become the input itself.
TEST(ToEdge, ACastThatChangesNothingStaysBetweenInputAndResult) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& cast = builder.graph().call("aten._to_copy.default", {x}, {{"dtype", Dtype::Float32}});
  cast.setValue(tensorValue({2, 3}));
  builder.userOutput(cast);
  const ExportedProgram edge = toEdgeDialect(builder.finish());
  EXPECT_EQ(edge.graph().size(), 3u) << fxText(edge.graph());
}

TEST(ToEdge, EmptyOperandsOfCatStayIfTheyDecideItsDtype) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& empty = builder.userInput("empty", tensorValue({0}, Dtype::Float64));
  Node& plain = builder.userInput("plain", tensorValue({0}));
  builder.userOutput(
      builder.call("aten.cat.default", {Arg::list({x, empty, plain})}, tensorValue({2}, Dtype::Float64)));
  builder.userOutput(builder.call("aten.cat.default", {Arg::list({x, plain})}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  const std::string text = fxText(edge.graph());
  EXPECT_NE(text.find("[%x, %empty, %plain]"), std::string::npos) << text;
  EXPECT_NE(text.find("[%x]"), std::string::npos) << text;
}

TEST(ToEdge, UnusedParametersGoAndUnusedBuffersStay) {
  ProgramBuilder builder;
  builder.parameter("weight", sampleTensor({2}));
  builder.buffer("state", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call("aten.relu.default", {x}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  EXPECT_FALSE(edge.stateDict().contains("weight"));
  EXPECT_TRUE(edge.stateDict().contains("state"));
}

TEST(ToEdge, CallsHaveDebugHandlesAndWhatIsMadeForThemTheSame) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& y = builder.userInput("y", tensorValue({2}, Dtype::Int64));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2}));
  relu.editMeta([](NodeMeta& meta) { meta.set("stack_trace", std::string("here")); });
  builder.userOutput(builder.call("aten.add.Tensor", {relu, y}, tensorValue({2})));
  const ExportedProgram edge = toPlainEdge(builder.finish());
  const Node& madeRelu = *edge.graph().find("aten_relu_default");
  const Node& cast = *edge.graph().find("aten__to_copy_default");
  const Node& add = *edge.graph().find("aten_add_tensor");
  EXPECT_EQ(madeRelu.meta().stackTrace(), "here");
  EXPECT_EQ(madeRelu.meta().debugHandle(), 1);
  EXPECT_EQ(add.meta().debugHandle(), 2);
  EXPECT_EQ(cast.meta().debugHandle(), 2);
}

TEST(ToEdge, ViewsCannotBePreserved) {
  for (const std::string name : {"aten.permute.default", "aten.permute"}) {
    EdgeCompileConfig config;
    config.preserveOps = {name};
    try {
      toEdgeDialect(tinyProgram(), config);
      ADD_FAILURE() << name;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("'" + name + "'"), std::string::npos) << error.what();
    }
  }
}

TEST(ToEdge, AnOrderWithoutMemoryFormatIsNotPreserved) {
  ProgramBuilder builder;
  TensorMeta turned = *tensorValue({3, 2})->tensor();
  turned.strides = {1, 3};
  Node& x = builder.userInput("x", ValueMeta::of(turned));
  builder.userOutput(builder.call("aten.clone.default", {x}, ValueMeta::of(turned)));
  const ExportedProgram edge = toEdgeDialect(builder.finish());
  const Node& clone = edge.graph().outputNode().inputs().front();
  EXPECT_NE(clone.text().find("dim_order: [0, 1]"), std::string::npos) << clone.text();
  EXPECT_EQ(clone.value()->tensor()->strides, (std::vector<SymInt>{2, 1}));
}

TEST(ToEdge, AMemoryFormatThatTheRankDoesNotHaveIsRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& clone =
      builder.graph().call("aten.clone.default", {x}, {{"memory_format", MemoryFormat::ChannelsLast}}, "odd");
  clone.setValue(tensorValue({2}));
  builder.userOutput(clone);
  try {
    toEdgeDialect(builder.finish());
    FAIL();
  } catch (const UnsupportedError& error) {
    EXPECT_NE(std::string(error.what()).find("%odd"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace edgefx {
namespace {

using test::countingProgram;
using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

using Messages = std::vector<std::string>;

Messages messages(const ExportedProgram& program) {
  Messages out;
  for (const Diagnostic& diagnostic : checkProgram(program)) out.push_back(diagnostic.message);
  return out;
}

ValueRef symbolicInt(const char* text) {
  return ValueMeta::of(ValueMeta::SymIntValue{SymInt(Symbolic{SymExpr::symbol(text), {}})});
}

TEST(CheckProgram, AcceptsGoodProgramsOfEitherDialect) {
  for (ExportedProgram (*make)() : {tinyProgram, countingProgram}) {
    ExportedProgram program = make();
    EXPECT_EQ(messages(program), Messages());
    wrapAsEdge(program);
    EXPECT_EQ(messages(program), Messages());
    EXPECT_NO_THROW(verifyProgram(program));
  }
}

TEST(CheckProgram, ReportsWhatLintFinds) {
  ExportedProgram program = tinyProgram();
  program.graph().find("mul")->moveAfter(*program.graph().find("relu"));
  std::vector<Diagnostic> found = checkProgram(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, "relu");
}

TEST(CheckProgram, ReportsWhatCheckSignatureFinds) {
  ExportedProgram program = tinyProgram();
  program.stateDict().erase("weight");
  EXPECT_EQ(messages(program), Messages{"input spec 0 (parameter \"weight\") is not in the state dict"});
}

TEST(CheckProgram, GetAttrOfNoChild) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& branch = builder.graph().getAttr("true_graph_0");
  builder.userOutput(builder.call("higher_order.invoke_subgraph", {branch, x}, tensorValue({2})));
  std::vector<Diagnostic> found = checkProgram(builder.finish());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, "true_graph_0");
}

TEST(CheckProgram, MissingValues) {
  ExportedProgram program = tinyProgram();
  program.graph().find("x")->setValue({});
  program.graph().find("mul")->setValue({});
  std::vector<Diagnostic> found = checkProgram(program);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].node, "x");
  EXPECT_EQ(found[0].message, "expected a value recorded for the placeholder, found none");
  EXPECT_EQ(found[1].node, "mul");
  EXPECT_EQ(found[1].message, "expected a value recorded for the call of 'aten.mul.Tensor', found none");
}

TEST(CheckProgram, MissingValueOfAnUnusedCall) {
  ExportedProgram program = tinyProgram();
  InsertionGuard guard(program.graph(), before(program.graph().outputNode()));
  Node& x = *program.graph().find("x");
  Node& unused = program.graph().call("aten.relu.default", {x});
  EXPECT_EQ(messages(program).size(), 1u);
  unused.setTarget(Target::edge("aten.relu.default"));
  EXPECT_EQ(messages(program).size(), 1u);
}

TEST(CheckProgram, CallsThatReturnNothingNeedNoValue) {
  ExportedProgram program = tinyProgram();
  InsertionGuard guard(program.graph(), before(program.graph().outputNode()));
  program.graph().call("aten._assert_async.msg", {*program.graph().find("x"), "no"});
  program.graph().call("mylib.of_no_known_schema.default", {});
  program.graph().call("higher_order.print", {"done"});
  EXPECT_EQ(messages(program), Messages());
}

std::unique_ptr<Graph> branchGraph() {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  x.setValue(tensorValue({2}));
  Node& relu = graph->call("aten.relu.default", {x}, {}, "relu");
  graph->output(Arg::tuple({relu}));
  return graph;
}

TEST(CheckProgram, NestedGraphsAreCheckedAndNamed) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& branch = builder.branch("body", branchGraph());
  builder.userOutput(builder.call("higher_order.invoke_subgraph", {branch, x}, tensorValue({2})));
  ExportedProgram program = builder.finish();
  std::vector<Diagnostic> found = checkProgram(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].graph, "body");
  EXPECT_EQ(found[0].node, "relu");
  program.graphModule().findChild("body")->graph().find("relu")->setValue(tensorValue({2}));
  EXPECT_EQ(messages(program), Messages());
}

TEST(CheckProgram, ModuleCallsAreNoPartOfAProgram) {
  ExportedProgram program = tinyProgram();
  program.graphModule().addChild("fused", std::make_unique<GraphModule>(branchGraph()));
  program.graphModule().findChild("fused")->graph().find("relu")->setValue(tensorValue({2}));
  InsertionGuard guard(program.graph(), before(program.graph().outputNode()));
  program.graph().callModule("fused", {*program.graph().find("x")}).setValue(tensorValue({2}));
  EXPECT_EQ(messages(program), Messages{"expected calls of functions only, found a call of module 'fused'"});
}

TEST(CheckProgram, StoredTensorOfAnotherShapeOrDtype) {
  ExportedProgram program = tinyProgram();
  program.stateDict().set("weight", sampleTensor({4, 5}), true);
  program.stateDict().set("scale", sampleTensor({4}, Dtype::Float16));
  std::vector<Diagnostic> found = checkProgram(program);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].node, "p_weight");
  EXPECT_EQ(found[0].message,
            "input spec 0 stores float32[4, 5] as \"weight\", but the node's value is float32[4, 4]");
  EXPECT_EQ(found[1].message,
            "input spec 1 stores float16[4] as \"scale\", but the node's value is float32[4]");
}

// Two inputs may swap their targets as long as the shapes fit; these do not.
TEST(CheckProgram, SwappedTargets) {
  ProgramBuilder builder;
  builder.parameter("fc.weight", sampleTensor({2, 2}));
  builder.parameter("fc.bias", sampleTensor({2}));
  ExportedProgram program = builder.finish();
  EXPECT_EQ(messages(program), Messages());
  std::swap(program.signature.inputs[0].target, program.signature.inputs[1].target);
  EXPECT_EQ(messages(program).size(), 2u);
}

TEST(CheckProgram, ConstantsAreComparedToo) {
  ProgramBuilder builder;
  builder.buffer("scratch", sampleTensor({2}), false);
  builder.constant("lifted", sampleTensor({2}));
  ExportedProgram program = builder.finish();
  EXPECT_EQ(messages(program), Messages());
  program.constants().set("scratch", sampleTensor({3}));
  program.constants().set("lifted", sampleTensor({}));
  EXPECT_EQ(messages(program),
            (Messages{"input spec 0 stores float32[3] as \"scratch\", but the node's value is float32[2]",
                      "input spec 1 stores float32[] as \"lifted\", but the node's value is float32[2]"}));
}

TEST(CheckProgram, RawEntriesAreJudgedByTheirShape) {
  ExportedProgram program = tinyProgram();
  SharedBytes bytes = SharedBytes::copyOf("0123");
  program.stateDict().set("scale",
                          StoredTensor::raw(bytes, contiguousTensor(Dtype::Float8E8M0FNU, {4}), false));
  EXPECT_EQ(
      messages(program),
      Messages{"input spec 1 stores float8_e8m0fnu[4] as \"scale\", but the node's value is float32[4]"});
  program.graph().find("b_scale")->setValue(tensorValue({4}, Dtype::Float8E8M0FNU));
  EXPECT_EQ(messages(program), Messages());
}

TEST(CheckProgram, AnObjectIsNoTensor) {
  ExportedProgram program = tinyProgram();
  program.stateDict().set("scale", StoredTensor::opaque(SharedBytes::copyOf("p"), "weight_", {}, false));
  EXPECT_EQ(messages(program),
            Messages{"input spec 1 stores an object as \"scale\", but the node's value is float32[4]"});
}

TEST(CheckProgram, SymbolicSizesMayBeAnything) {
  ExportedProgram program = tinyProgram();
  SymInt size(Symbolic{SymExpr::symbol("s0"), {}});
  program.graph().find("p_weight")->setValue(tensorValue({size, 4}));
  EXPECT_EQ(messages(program), Messages());
  program.graph().find("p_weight")->setValue(tensorValue({size, 4, 1}));
  EXPECT_EQ(messages(program).size(), 1u);
}

TEST(CheckProgram, SpecsThatContradictTheValue) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& n = builder.userInput("n", symbolicInt("s0"));
  builder.userOutput(x);
  builder.userOutput(n);
  ExportedProgram program = builder.finish();
  EXPECT_EQ(messages(program), Messages());
  program.signature.inputs[1].arg.kind = SpecArgKind::Tensor;
  program.signature.outputs[0].arg.kind = SpecArgKind::SymInt;
  EXPECT_EQ(messages(program),
            (Messages{"input spec 1 says a tensor, but the node's value is SymInt(s0)",
                      "output spec 0 says a symbolic int, but the node's value is float32[2]"}));
}

TEST(CheckProgram, ManyViolationsAreCounted) {
  ExportedProgram program = tinyProgram();
  InsertionGuard guard(program.graph(), before(program.graph().outputNode()));
  for (size_t i = 0; i < kMostProgramFindings + 7; ++i) {
    program.graph().call("aten.relu.default", {*program.graph().find("x")});
  }
  Messages found = messages(program);
  ASSERT_EQ(found.size(), kMostProgramFindings + 1);
  EXPECT_EQ(found.back(), "found 7 more violations, not shown");
}

TEST(VerifyProgram, ThrowsEveryViolation) {
  ExportedProgram program = tinyProgram();
  program.stateDict() = TensorTable();
  try {
    verifyProgram(program);
    FAIL() << "expected VerificationError";
  } catch (const VerificationError& error) {
    EXPECT_EQ(error.diagnostics().size(), 2u);
    EXPECT_NE(std::string(error.what()).find("edgefx: node '%p_weight': input spec 0"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace edgefx

#include <edgefx/run/interpreter.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Control flow that needs no fixture to be judged.
namespace edgefx {
namespace {

using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;

using Values = std::vector<c10::IValue>;

// cond(flag, x + 1, x - 1)
ExportedProgram condProgram() {
  const auto branch = [](Target target) {
    auto graph = std::make_unique<Graph>();
    Node& x = graph->placeholder("x");
    Node& y = graph->call(target, {x, 1});
    graph->output(Arg::tuple({y}));
    return graph;
  };
  ProgramBuilder builder;
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& yes = builder.branch("true_graph_0", branch("aten.add.Tensor"));
  Node& no = builder.branch("false_graph_0", branch("aten.sub.Tensor"));
  Node& call = builder.call("higher_order.cond", {flag, yes, no, Arg::tuple({x})}, nullptr, "cond");
  builder.userOutput(builder.call("operator.getitem", {call, 0}, tensorValue({2}), "getitem"));
  return builder.finish();
}

TEST(ControlFlow, CondTakesTheBranchOfItsCondition) {
  const ExportedProgram program = condProgram();
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({2});
  EXPECT_TRUE(at::equal(interpreter.run({at::scalar_tensor(true, at::kBool), x})[0].toTensor(), x + 1));
  EXPECT_TRUE(at::equal(interpreter.run({at::scalar_tensor(false, at::kBool), x})[0].toTensor(), x - 1));
}

// while i < limit: i += 1, x *= 2
ExportedProgram whileProgram() {
  auto condition = std::make_unique<Graph>();
  {
    Node& i = condition->placeholder("i");
    condition->placeholder("x");
    Node& limit = condition->placeholder("limit");
    condition->output(condition->call("aten.lt.Tensor", {i, limit}));
  }
  auto body = std::make_unique<Graph>();
  {
    Node& i = body->placeholder("i");
    Node& x = body->placeholder("x");
    body->placeholder("limit");
    Node& next = body->call("aten.add.Tensor", {i, 1});
    Node& twice = body->call("aten.mul.Tensor", {x, 2});
    body->output(Arg::tuple({next, twice}));
  }
  ProgramBuilder builder;
  Node& i = builder.userInput("i", tensorValue({}, Dtype::Int64));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& limit = builder.userInput("limit", tensorValue({}, Dtype::Int64));
  Node& cond = builder.branch("cond_0", std::move(condition));
  Node& step = builder.branch("body_0", std::move(body));
  Node& loop = builder.call("higher_order.while_loop", {cond, step, Arg::tuple({i, x}), Arg::tuple({limit})},
                            nullptr, "while_loop");
  builder.userOutput(builder.call("operator.getitem", {loop, 0}, tensorValue({}, Dtype::Int64), "getitem"));
  builder.userOutput(builder.call("operator.getitem", {loop, 1}, tensorValue({2}), "getitem_1"));
  return builder.finish();
}

TEST(ControlFlow, WhileLoopRunsUntilItsConditionFails) {
  const ExportedProgram program = whileProgram();
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({2});
  for (const int64_t limit : {-1, 0, 1, 5}) {
    const Values results =
        interpreter.run({at::scalar_tensor(0, at::kLong), x, at::scalar_tensor(limit, at::kLong)});
    const int64_t turns = std::max<int64_t>(limit, 0);
    EXPECT_EQ(results[0].toTensor().item().toLong(), turns);
    EXPECT_TRUE(at::equal(results[1].toTensor(), x * (1 << turns)));
  }
}

TEST(ControlFlow, MappingOverNothingIsAFault) {
  auto body = std::make_unique<Graph>();
  Node& row = body->placeholder("row");
  body->output(Arg::tuple({body->call("aten.neg.default", {row})}));
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({0, 2}));
  Node& graph = builder.branch("body_graph_0", std::move(body));
  Node& map =
      builder.call("higher_order.map_impl", {graph, Arg::list({x}), Arg::list({})}, nullptr, "map_impl");
  builder.userOutput(builder.call("operator.getitem", {map, 0}, tensorValue({0, 2}), "getitem"));
  const ExportedProgram program = builder.finish();
  try {
    Interpreter(program).run({at::zeros({0, 2})});
    FAIL() << "nothing was thrown";
  } catch (const ExecutionError& error) {
    EXPECT_NE(std::string(error.what()).find("node '%map_impl'"), std::string::npos) << error.what();
  }
}

TEST(ControlFlow, AFaultInABranchNamesBothNodes) {
  ExportedProgram program = condProgram();
  Graph& branch = program.graphModule().findChild("true_graph_0")->graph();
  Node& add = *branch.find("add_tensor");
  add.setTarget("aten.mm.default");
  add.setArg(1, *branch.find("x"));
  try {
    Interpreter(program).run({at::scalar_tensor(true, at::kBool), sampleTensor({2})});
    FAIL() << "nothing was thrown";
  } catch (const ExecutionError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("graph 'true_graph_0'"), std::string::npos) << text;
    EXPECT_NE(text.find("called by node '%cond'"), std::string::npos) << text;
  }
}

TEST(ControlFlow, WrongOperandsAreFoundBeforeAnythingRuns) {
  ExportedProgram program = condProgram();
  Node& cond = *program.graph().find("cond");
  Node& x = *program.graph().find("x");
  cond.setArg(3, Arg::tuple({x, x}));
  EXPECT_THROW(Interpreter{program}, VerificationError);
  cond.setArg(3, Arg::tuple({x}));
  EXPECT_NO_THROW(Interpreter{program});
  cond.setArg(1, x);
  EXPECT_THROW(Interpreter{program}, VerificationError);
}

// The branch writes its operand, which is a buffer outside.
TEST(ControlFlow, WritesInABranchReachTheState) {
  ExportedProgram branched = [] {
    const auto branch = [](double by) {
      auto graph = std::make_unique<Graph>();
      Node& b = graph->placeholder("b");
      Node& y = graph->call("aten.add_.Tensor", {b, by});
      graph->output(Arg::tuple({graph->call("aten.mul.Tensor", {y, 1})}));
      return graph;
    };
    ProgramBuilder builder;
    Node& b = builder.buffer("b", at::zeros({2}));
    Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
    Node& yes = builder.branch("true_graph_0", branch(1));
    Node& no = builder.branch("false_graph_0", branch(10));
    Node& call = builder.call("higher_order.cond", {flag, yes, no, Arg::tuple({b})}, nullptr, "cond");
    builder.userOutput(builder.call("operator.getitem", {call, 0}, tensorValue({2}), "getitem"));
    return builder.finish();
  }();
  Interpreter interpreter(branched);
  interpreter.run({at::scalar_tensor(true, at::kBool)});
  interpreter.run({at::scalar_tensor(false, at::kBool)});
  EXPECT_EQ(interpreter.state("b")[0].item().toDouble(), 11);
  EXPECT_EQ(branched.stateDict().find("b")->tensor()[0].item().toDouble(), 0);
}

}  // namespace
}  // namespace edgefx

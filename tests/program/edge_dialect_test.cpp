#include <edgefx/ir/fx_text.h>
#include <edgefx/program/exported_program.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>

namespace edgefx {
namespace {

using test::ProgramBuilder;
using test::tensorValue;

TEST(WrapAsEdge, WrapsOperatorsOfEveryLibraryAndNothingElse) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2}), "a");
  Node& custom = builder.call("mylib.twice.default", {relu}, tensorValue({2}), "b");
  Node& size = builder.call("operator.mul", {2, 3}, {}, "c");
  Node& higher = builder.call("higher_order.invoke_subgraph", {custom}, tensorValue({2}), "d");
  builder.userOutput(higher);
  ExportedProgram program = builder.finish();

  wrapAsEdge(program);
  EXPECT_EQ(relu.target(), Target::edge("aten.relu.default"));
  EXPECT_EQ(custom.target(), Target::edge("mylib.twice.default"));
  EXPECT_EQ(size.target(), Target("operator.mul"));
  EXPECT_EQ(higher.target(), Target("higher_order.invoke_subgraph"));
  EXPECT_EQ(relu.name(), "a");
  EXPECT_EQ(program.dialect, Dialect::Edge);
}

TEST(WrapAsEdge, LeavesOperatorsThatAreArguments) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& call =
      builder.call("higher_order.auto_functionalized", {Target("mylib.add_.default"), x}, tensorValue({2}));
  builder.userOutput(call);
  ExportedProgram program = builder.finish();
  wrapAsEdge(program);
  EXPECT_EQ(call.arg(0).asOperator(), Target("mylib.add_.default"));
}

TEST(WrapAsEdge, DropsGetitemsNobodyUses) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& topk = builder.call("aten.topk.default", {x, 1}, {}, "topk");
  Node& used = builder.call("operator.getitem", {topk, 0}, tensorValue({1}), "used");
  Node& outer = builder.call("operator.getitem", {topk, 1}, {}, "outer");
  builder.call("operator.getitem", {outer, 0}, {}, "inner");
  builder.call("aten.relu.default", {x}, tensorValue({2}), "unused_call");
  builder.userOutput(used);
  ExportedProgram program = builder.finish();
  wrapAsEdge(program);
  EXPECT_NE(program.graph().find("used"), nullptr);
  EXPECT_EQ(program.graph().find("outer"), nullptr);
  EXPECT_EQ(program.graph().find("inner"), nullptr);
  EXPECT_NE(program.graph().find("unused_call"), nullptr);
}

std::unique_ptr<Graph> edgeBranchGraph() {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  Node& topk = graph->call("aten.topk.default", {x, 1}, {}, "topk");
  Node& first = graph->call("operator.getitem", {topk, 0}, {}, "first");
  graph->call("operator.getitem", {topk, 1}, {}, "second");
  graph->output(Arg::tuple({first}));
  return graph;
}

TEST(WrapAsEdge, ReachesNestedGraphs) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& branch = builder.branch("true_graph_0", edgeBranchGraph());
  Node& call = builder.call("higher_order.cond", {x, branch, branch, Arg::list({x})}, tensorValue({1}));
  builder.userOutput(call);
  ExportedProgram program = builder.finish();
  GraphModule& outer = *program.graphModule().findChild("true_graph_0");
  outer.addChild("inner", std::make_unique<GraphModule>(edgeBranchGraph()));

  wrapAsEdge(program);
  for (const char* path : {"true_graph_0", "true_graph_0.inner"}) {
    Graph& graph = program.graphModule().findChild(path)->graph();
    EXPECT_EQ(graph.find("topk")->target(), Target::edge("aten.topk.default")) << path;
    EXPECT_NE(graph.find("first"), nullptr) << path;
    EXPECT_EQ(graph.find("second"), nullptr) << path;
  }
}

TEST(WrapAsEdge, ASecondTimeChangesNothing) {
  ExportedProgram program = test::countingProgram();
  wrapAsEdge(program);
  std::string once = fxText(program.graphModule());
  wrapAsEdge(program);
  EXPECT_EQ(fxText(program.graphModule()), once);
  EXPECT_NE(once.find("executorch.exir.dialects.edge._ops.aten.relu.default"), std::string::npos) << once;
}

}  // namespace
}  // namespace edgefx

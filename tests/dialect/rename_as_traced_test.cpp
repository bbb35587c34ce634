#include <edgefx/dialect/rename_as_traced.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/support/error.h>

#include "backend/test_delegates.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

std::vector<std::string> nodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.emplace_back(node.name());
  return names;
}

std::unique_ptr<Graph> oneReluGraph() {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  x.setValue(tensorValue({2}));
  Node& relu = graph->call("aten.relu.default", {x}, {}, "odd");
  relu.setValue(tensorValue({2}));
  graph->output(Arg::tuple({relu}));
  return graph;
}

TEST(RenameAsTraced, NamesComeFromTargetsWithFreshCounters) {
  ProgramBuilder builder;
  Node& x = builder.userInput("aten_relu_default", tensorValue({2}));
  Node& dead = builder.call(Target::edge("aten.relu.default"), {x}, tensorValue({2}), "dead");
  builder.graph().erase(dead);
  Node& a = builder.call(Target::edge("aten.relu.default"), {x}, tensorValue({2}), "b_7");
  Node& b = builder.call(Target::edge("aten.relu.default"), {a}, tensorValue({2}), "a");
  Node& sum = builder.call("aten.sum.default", {b}, tensorValue({}), "whatever");
  builder.userOutput(builder.call("aten._assert_scalar.default", {sum, "text"}, tensorValue({2}), "c"));
  ExportedProgram program = builder.finish();
  program.moduleCallGraph.front().signature->outputs = {program.signature.outputs[0].arg};
  renameAsTraced(program);
  EXPECT_EQ(nodeNames(program.graph()),
            (std::vector<std::string>{"aten_relu_default", "aten_relu_default_1", "aten_relu_default_2",
                                      "sum_1", "_assert_scalar", "output"}));
  EXPECT_EQ(program.signature.outputs[0].arg.name, "_assert_scalar");
  EXPECT_EQ(program.moduleCallGraph.front().signature->outputs.front().name, "_assert_scalar");
  EXPECT_EQ(render(checkProgram(program)), "");
  // Names that were given up can be taken again.
  EXPECT_EQ(program.graph().uniqueName("b_7"), "b_7");
}

TEST(RenameAsTraced, InputsWithReservedNamesAreRenamedWithTheirSpecs) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  x.setName("print");
  builder.program().signature.inputs[0].arg.name = "print";
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2}));
  builder.result(OutputKind::UserInputMutation, relu, "print");
  builder.userOutput(relu);
  ExportedProgram program = builder.finish();
  renameAsTraced(program);
  EXPECT_EQ(x.name(), "print_1");
  EXPECT_EQ(x.targetText(), "x");
  EXPECT_EQ(program.signature.inputs[0].arg.name, "print_1");
  EXPECT_EQ(program.signature.outputs[0].target, "print_1");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(RenameAsTraced, GraphsAreCountedPerOwnerAndOnceEach) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& second = builder.branch("submodule_0", oneReluGraph());
  Node& first = builder.branch("a", oneReluGraph());
  builder.program().graphModule().addChild("unnamed", std::make_unique<GraphModule>(oneReluGraph()));
  GraphModule& outer = *builder.program().graphModule().findChild("a");
  outer.addChild("inner", std::make_unique<GraphModule>(oneReluGraph()));
  Graph& graph = outer.graph();
  {
    const InsertionGuard guard(graph, before(graph.outputNode()));
    graph.getAttr("inner", "inner");
  }
  first.moveBefore(second);
  Node& again = builder.graph().getAttr("a", "again");
  builder.userOutput(builder.call("higher_order.cond", {x, first, second, again}, tensorValue({2})));
  ExportedProgram program = builder.finish();
  renameAsTraced(program);
  const GraphModule& top = program.graphModule();
  EXPECT_EQ(nodeNames(top.graph()),
            (std::vector<std::string>{"x", "submodule_0", "submodule_1", "submodule_2", "cond", "output"}));
  EXPECT_EQ(top.graph().find("submodule_2")->targetText(), "submodule_0") << "the same graph";
  EXPECT_EQ(top.children().size(), 2u);
  EXPECT_NE(top.findChild("submodule_0.submodule_0"), nullptr);
  EXPECT_EQ(nodeNames(top.findChild("submodule_1")->graph()),
            (std::vector<std::string>{"x", "relu", "output"}));
}

TEST(RenameAsTraced, DelegatesAndGraphsHaveOneCounter) {
  ExportedProgram program = loweredProgram();
  renameAsTraced(program);
  EXPECT_EQ(render(checkProgram(program)), "");
  for (const Node& node : program.graph().nodes()) {
    if (!callsDelegate(node)) continue;
    EXPECT_NE(findLoweredModule(program.graphModule(), node), nullptr) << node.text();
  }
  EXPECT_FALSE(program.graphModule().delegates().empty());
}

TEST(RenameAsTraced, ResultsWithoutSpecsAreRefused) {
  ExportedProgram program = tinyProgram();
  program.signature.outputs.clear();
  const std::string before = fxText(program.graphModule());
  EXPECT_THROW(renameAsTraced(program), VerificationError);
  EXPECT_EQ(fxText(program.graphModule()), before);
}

}  // namespace
}  // namespace edgefx::test

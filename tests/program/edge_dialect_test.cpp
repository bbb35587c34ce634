#include <edgefx/ir/fx_text.h>
#include <edgefx/program/exported_program.h>

#include "support/program_builder.h"
#include "support/program_from_text.h"

#include <gtest/gtest.h>

#include <string>

namespace edgefx {
namespace {

using test::programFromText;

// What follows the placeholders in the text of the program.
std::string bodyOf(const ExportedProgram& program) {
  const std::string text = programText(program);
  return text.substr(text.find("):\n"));
}

TEST(WrapAsEdge, WrapsOperatorsOfEveryLibraryAndNothingElse) {
  ExportedProgram program = programFromText(R"((%x : f32[2]):
    %a = aten.relu.default(%x) : f32[2]
    %b = mylib.twice.default(%a) : f32[2]
    %c = operator.mul(2, 3) : SymInt(6)
    %d = higher_order.invoke_subgraph(%b) : f32[2]
    return (%d))");
  wrapAsEdge(program);
  EXPECT_EQ(bodyOf(program), R"():
  %a = edge.aten.relu.default(%x) : f32[2]
  %b = edge.mylib.twice.default(%a) : f32[2]
  %c = operator.mul(2, 3) : SymInt(6)
  %d = higher_order.invoke_subgraph(%b) : f32[2]
  return (%d,)
settings {
  dialect = edge
}
)");
}

TEST(WrapAsEdge, LeavesOperatorsThatAreArguments) {
  ExportedProgram program = programFromText(R"((%x : f32[2]):
    %a = higher_order.auto_functionalized(mylib.add_.default, %x) : f32[2]
    return (%a))");
  wrapAsEdge(program);
  EXPECT_EQ(program.graph().find("a")->arg(0).asOperator(), Target("mylib.add_.default"));
}

TEST(WrapAsEdge, DropsGetitemsNobodyUses) {
  ExportedProgram program = programFromText(R"((%x : f32[2]):
    %topk = aten.topk.default(%x, 1) : (f32[1], i64[1])
    %used = operator.getitem(%topk, 0) : f32[1]
    %outer = operator.getitem(%topk, 1) : i64[1]
    %inner = operator.getitem(%outer, 0) : i64[]
    %unused_call = aten.relu.default(%x) : f32[2]
    return (%used))");
  wrapAsEdge(program);
  EXPECT_NE(program.graph().find("used"), nullptr);
  EXPECT_EQ(program.graph().find("outer"), nullptr);
  EXPECT_EQ(program.graph().find("inner"), nullptr);
  EXPECT_NE(program.graph().find("unused_call"), nullptr);
}

TEST(WrapAsEdge, ReachesNestedGraphs) {
  const std::string branch = R"((%x : f32[2]):
    %topk = aten.topk.default(%x, 1) : (f32[1], i64[1])
    %first = operator.getitem(%topk, 0) : f32[1]
    %second = operator.getitem(%topk, 1) : i64[1]
    return (%first))";
  ExportedProgram program = programFromText(R"((%p : bool[], %x : f32[2]):
    %branch = get_attr "true_graph_0"
    %cond = higher_order.cond(%p, %branch, %branch, [%x]) : (f32[1],)
    %getitem = operator.getitem(%cond, 0) : f32[1]
    return (%getitem)
    submodule "true_graph_0")" + branch + "submodule \"true_graph_0.inner\"" +
                                            branch);
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

TEST(OperatorIn, FollowsTheDialectOfTheProgram) {
  ExportedProgram program = test::countingProgram();
  EXPECT_EQ(operatorIn(program, "aten.relu.default"), Target("aten.relu.default"));
  wrapAsEdge(program);
  EXPECT_EQ(operatorIn(program, "aten.relu.default"), Target::edge("aten.relu.default"));
  EXPECT_THROW(operatorIn(program, "relu"), UsageError);
}

}  // namespace
}  // namespace edgefx

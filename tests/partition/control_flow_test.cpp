#include <edgefx/ir/node_queries.h>
#include <edgefx/partition/control_flow.h>
#include <edgefx/serialization/pt2.h>

#include "ir/graph_testing.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::test {
namespace {

ExportedProgram nestedCond() {
  return loadProgram(corpusRoots()[1] / "nested_cond.pt2");
}

bool isAnyCall(const Node& node) {
  return node.isCall();
}

NodeTest allBut(std::string_view name) {
  return [name](const Node& node) { return !node.callsOperator(name); };
}

std::vector<std::string> visited(const ExportedProgram& program, const NodeTest& enters) {
  std::vector<std::string> paths;
  visitBranches(
      program.graphModule(), [&](const ConstNestedModule& at) { paths.push_back(at.path); }, enters);
  return paths;
}

// cond(p, left, right, (x,)), twice; both operators name "shared" as their second branch.
ExportedProgram sharingConds() {
  ProgramBuilder builder;
  Node& p = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& one = builder.branch("one", reluGraph());
  Node& shared = builder.branch("shared", reluGraph());
  Node& first = builder.call("higher_order.cond", {p, one, shared, {x}}, tensorValue({2}), "first");
  Node& two = builder.branch("two", reluGraph());
  Node& second = builder.call("higher_order.cond", {p, two, shared, {x}}, tensorValue({2}), "second");
  builder.userOutput(first);
  builder.userOutput(second);
  return builder.finish();
}

TEST(TagBranches, BranchesGoWithTheirOperator) {
  const ExportedProgram program = sharingConds();
  const Graph& graph = program.graph();
  Tags tags;
  tags.tag(*graph.find("second"), "t1");
  tags.tag(*graph.find("one"), "stray");
  tagBranches(program, tags);
  EXPECT_EQ(tags.tagOf(*graph.find("one")), "");
  EXPECT_EQ(tags.tagOf(*graph.find("two")), "t1");
  EXPECT_EQ(tags.tagOf(*graph.find("shared")), "t1");
  tags.tag(*graph.find("first"), "t0");
  tagBranches(program, tags);
  EXPECT_EQ(tags.tagOf(*graph.find("shared")), "t0");
}

TEST(TagBranches, InNestedGraphsToo) {
  const ExportedProgram program = nestedCond();
  const GraphModule& branch = *program.graphModule().findChild("true_graph_0");
  Tags tags;
  tags.tag(*branch.graph().find("cond"), "inner");
  tagBranches(program, tags);
  EXPECT_EQ(tags.tagOf(*branch.graph().find("true_graph_0")), "inner");
  EXPECT_EQ(tags.tagOf(*branch.graph().find("false_graph_0")), "inner");
  EXPECT_FALSE(tags.isTagged(*program.graph().find("true_graph_0")));
}

TEST(TagBranches, EveryOperatorWithGraphsForArguments) {
  for (const char* name : {"while_loop", "map_loop", "scan_loop", "invoke_subgraph", "no_grad_region"}) {
    SCOPED_TRACE(name);
    const ExportedProgram program = loadProgram(fixture(std::string(name) + "/program.pt2"));
    Tags tags;
    size_t operators = 0;
    size_t branches = 0;
    for (const Node& node : program.graph().nodes()) {
      if (!node.isCall() || branchesOf(node, program.graphModule()).empty()) continue;
      tags.tag(node, "t0");
      ++operators;
    }
    tagBranches(program, tags);
    for (const Node& node : program.graph().nodes()) branches += node.isGetAttr() && tags.isTagged(node);
    EXPECT_GE(operators, 1u);
    EXPECT_GE(branches, 1u);
  }
}

TEST(CloseOverGetitems, FollowTheProducer) {
  const ExportedProgram program = loadProgram(corpusRoots()[1] / "multi_output_getitem.pt2");
  const Graph& graph = program.graph();
  Tags tags;
  tags.tag(*graph.find("topk"), "t0");
  closeOverGetitems(program, tags);
  EXPECT_EQ(tags.tagOf(*graph.find("getitem")), "t0");
  tags.untag(*graph.find("topk"));
  closeOverGetitems(program, tags);
  EXPECT_FALSE(tags.isTagged(*graph.find("getitem")));
}

TEST(CloseOverGetitems, InNestedGraphsToo) {
  const ExportedProgram program = nestedCond();
  const Graph& branch = program.graphModule().findChild("true_graph_0")->graph();
  Tags tags;
  tags.tag(*branch.find("cond"), "t0");
  closeOverGetitems(program, tags);
  EXPECT_EQ(tags.tagOf(*branch.find("getitem")), "t0");
  EXPECT_FALSE(tags.isTagged(*program.graph().find("getitem")));
}

TEST(FindUnsupported, LooksIntoEveryBranch) {
  const ExportedProgram program = nestedCond();
  const Node& cond = *program.graph().find("cond");
  auto unsupported = [&](const NodeTest& test) {
    const Node* node = findUnsupported(cond, program.graphModule(), test);
    return node == nullptr ? std::string() : std::string(node->target().name());
  };
  EXPECT_EQ(unsupported(isAnyCall), "");
  EXPECT_EQ(unsupported(allBut("cond")), "cond");
  EXPECT_EQ(unsupported(allBut("aten.tan.default")), "aten.tan.default");
  EXPECT_EQ(unsupported(allBut("aten.mul.Tensor")), "aten.mul.Tensor");
  EXPECT_EQ(unsupported(allBut("operator.getitem")), "");
  // In the true branch after the nested operator, and in that one's false branch.
  EXPECT_EQ(unsupported(allBut("aten.add.Tensor")), "aten.add.Tensor");
}

TEST(FindUnsupported, GoesOnAfterANestedOperator) {
  auto inner = std::make_unique<Graph>();
  Node& x = inner->placeholder("x");
  Node& mul = inner->call("aten.mul.Tensor", {x, x});
  Node& last = inner->call("aten.add.Tensor", {mul, x});
  inner->output(Arg::tuple({last}));
  ProgramBuilder builder;
  Node& p = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& branch = builder.branch("true_graph_0", std::move(inner));
  Node& cond = builder.call("higher_order.cond", {p, branch, branch, {p}}, tensorValue({2}));
  builder.userOutput(cond);
  const ExportedProgram program = builder.finish();
  EXPECT_EQ(findUnsupported(cond, program.graphModule(), allBut("aten.add.Tensor")), &last);
}

TEST(FindUnsupported, ACallWithoutBranchesIsAskedItself) {
  const ExportedProgram program = loadProgram(corpusRoots()[1] / "siblings.pt2");
  const Node& sin = *program.graph().find("sin");
  EXPECT_EQ(findUnsupported(sin, program.graphModule(), isAnyCall), nullptr);
  EXPECT_EQ(findUnsupported(sin, program.graphModule(), allBut("aten.sin.default")), &sin);
}

TEST(VisitBranches, DepthFirstAndOnce) {
  EXPECT_EQ(visited(nestedCond(), isAnyCall), (Names{"", "true_graph_0", "true_graph_0.true_graph_0",
                                                     "true_graph_0.false_graph_0", "false_graph_0"}));
  EXPECT_EQ(visited(sharingConds(), isAnyCall), (Names{"", "one", "shared", "two"}));
  const ExportedProgram loop = loadProgram(fixture("while_loop/program.pt2"));
  EXPECT_EQ(visited(loop, isAnyCall).size(), 3u);
}

TEST(VisitBranches, OnlyWhatIsEntered) {
  EXPECT_EQ(visited(sharingConds(), [](const Node& node) { return node.name() == "first"; }),
            (Names{"", "one"}));
  EXPECT_EQ(visited(nestedCond(), [](const Node&) { return false; }), (Names{""}));
}

}  // namespace
}  // namespace edgefx::test

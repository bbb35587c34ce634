#include <edgefx/ir/lint.h>

#include "ir/graph_builder.h"
#include "ir/graph_testing.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::lintText;

class Lint : public testing::Test {
 protected:
  Node& relu(Node& input, std::string_view name) {
    return graph.call("aten.relu.default", {input}, {}, name);
  }
  std::vector<std::string> messages() {
    std::vector<std::string> out;
    for (const Diagnostic& finding : lint(graph)) out.push_back("%" + finding.node + ": " + finding.message);
    return out;
  }
  using Messages = std::vector<std::string>;

  Graph graph;
  Node& x = graph.placeholder("x");
};

TEST_F(Lint, FindsNothingInAGoodGraph) {
  Node& a = relu(x, "a");
  graph.output(Arg::tuple({a, a, x, Arg::dict({{"k", a}})}));
  EXPECT_EQ(messages(), Messages());
  EXPECT_EQ(lintText(*graph.clone()), "");
}

TEST_F(Lint, Fx27UseBeforeDefinition) {
  Node& a = relu(x, "a");
  Node& b = relu(a, "b");
  graph.output(b);
  b.moveBefore(a);
  EXPECT_EQ(messages(), Messages{"%b: argument '%a' is used before it is defined"});
  const Diagnostic finding = lint(graph)[0];
  EXPECT_EQ(finding.nodeText, b.text());
  EXPECT_EQ(finding.graph, "");
}

TEST_F(Lint, Fx27UseOfItself) {
  Node& a = relu(x, "a");
  graph.output(a);
  a.setArgs({a});
  EXPECT_EQ(messages(), Messages{"%a: argument '%a' is used before it is defined"});
}

TEST_F(Lint, Fx27NameTakenTwice) {
  relu(x, "a");
  Node& b = relu(x, "b");
  graph.output(b);
  b.setName("a");
  EXPECT_EQ(messages(), Messages{"%a: name 'a' is taken by an earlier call_function node"});
}

// Files name placeholders and values with any text.
TEST_F(Lint, NamesMayHoldAnyCharacters) {
  graph.output(x);
  for (const char* name : {"a b", "1a", "a.b", "\xc3\xa9", "lambda", "-"}) {
    x.setName(name);
    EXPECT_EQ(messages(), Messages()) << name;
  }
}

TEST_F(Lint, Fx29PlaceholdersComeFirst) {
  Node& a = relu(x, "a");
  graph.placeholder("y");
  graph.output(a);
  EXPECT_EQ(messages(),
            Messages{"%y: placeholders must come first: this one stands after '%a', a call_function node"});
}

TEST_F(Lint, Fx29OneOutputAtTheEnd) {
  EXPECT_EQ(messages(), Messages{"%: the graph has no output node"});
  graph.output(x);
  relu(x, "a");
  graph.placeholder("y");
  graph.output(x);
  EXPECT_EQ(messages(), (Messages{"%a: stands after the output node '%output'",
                                  "%y: stands after the output node '%output'",
                                  "%output_1: a graph has one output node: '%output' is one already"}));
}

TEST_F(Lint, NumbersOfArguments) {
  Node& attribute = graph.getAttr("w");
  Node& output = graph.output(x);
  x.setArgs({1, 2});
  attribute.setArgs({x});
  output.setArgs({});
  EXPECT_EQ(messages(),
            (Messages{"%x: a placeholder node takes at most one argument and no keyword arguments, found 2 "
                      "and 0",
                      "%w: a get_attr node takes no arguments and no keyword arguments, found 1 and 0",
                      "%output: a output node takes one argument and no keyword arguments, found 0 and 0"}));
}

// Such graphs cannot be made by the public functions.
TEST_F(Lint, ErasedAndForeignNodes) {
  Graph other;
  Node& foreign = other.placeholder("foreign");
  Node& dead = relu(x, "dead");
  graph.erase(dead);
  detail::GraphBuilder builder(graph);
  for (Node* input : {&dead, &foreign}) {
    Node& node = builder.append(Target("aten.neg.default"), "n");
    Argument* arguments = builder.arguments().allocate(1);
    arguments[0] = ArgumentWriter::makeNode(*input);
    builder.finish(node, arguments, 1, 0);
  }
  graph.output(x);
  const Messages found = messages();
  EXPECT_EQ(found.at(0), "%n: argument '%dead' is an erased node");
  EXPECT_EQ(found.at(1), "%n_1: argument '%foreign' is a node of another graph");
}

TEST_F(Lint, StopsAfterTwentyFindings) {
  graph.output(x);
  for (int i = 0; i < 100; ++i) relu(x, "late");
  EXPECT_EQ(lint(graph).size(), kMostLintFindings);
}

TEST(LintModule, Fx28TargetsNameChildren) {
  GraphModule top;
  Node& x = top.graph().placeholder("x");
  Node& attribute = top.graph().getAttr("branch");
  Node& inner = top.graph().getAttr("branch.inner");
  Node& call = top.graph().callModule("other", {x});
  top.graph().output(Arg::tuple({attribute, inner, call}));
  EXPECT_EQ(lintText(top.graph()), "");
  EXPECT_EQ(lint(top).size(), 3u);
  EXPECT_EQ(lint(top)[0].message, "target 'branch' names no child module");
  EXPECT_EQ(lint(top)[0].node, "branch");
  GraphModule& branch = top.addChild("branch", std::make_unique<GraphModule>(test::reluGraph()));
  branch.addChild("inner", std::make_unique<GraphModule>(test::reluGraph()));
  top.addChild("other", std::make_unique<GraphModule>(test::reluGraph()));
  EXPECT_EQ(lintText(top), "");
}

TEST(LintModule, FindingsNameTheGraph) {
  GraphModule top(test::reluGraph());
  GraphModule& a = top.addChild("a", std::make_unique<GraphModule>(test::reluGraph()));
  GraphModule& b = a.addChild("b", std::make_unique<GraphModule>());
  top.addChild("unnamed", std::make_unique<GraphModule>());
  {
    InsertionGuard guard(top.graph(), before(*top.graph().back()));
    top.graph().getAttr("a");
  }
  {
    InsertionGuard guard(a.graph(), before(*a.graph().back()));
    a.graph().getAttr("b");
  }
  b.graph().placeholder("p");
  const std::vector<Diagnostic> findings = lint(top);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].graph, "a.b");
  EXPECT_EQ(findings[0].message, "the graph has no output node");
}

}  // namespace
}  // namespace edgefx

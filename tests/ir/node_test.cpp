#include <edgefx/ir/graph.h>
#include <edgefx/ir/node.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::messageOf;
using test::Names;
using test::namesOf;

static_assert(sizeof(Node) <= 128);
static_assert(!std::is_copy_constructible_v<Node> && !std::is_move_constructible_v<Node>);

class NodeTest : public testing::Test {
 protected:
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& y = graph.placeholder("y");
};

TEST_F(NodeTest, Fx7InputsInOrderOfFirstUse) {
  Node& b = graph.placeholder("b");
  Node& c = graph.placeholder("c");
  Node& node = graph.call("my.op.default", {{x, {y}}},
                          {{"k", Arg::dict({{"z", c}})}, {"s", Arg::slice(x, nullptr, b)}});
  EXPECT_EQ(namesOf(node.inputs()), (Names{"x", "y", "c", "b"}));
  EXPECT_EQ(node.numInputs(), 4u);
}

TEST_F(NodeTest, Fx8EachUserCountsOnce) {
  graph.call("aten.add.Tensor", {x, x});
  EXPECT_EQ(x.numUsers(), 1u);
  EXPECT_EQ(namesOf(x.users()), Names{"add_tensor"});
}

TEST_F(NodeTest, Fx9SettingArgsMovesTheUserToTheEnd) {
  Node& add = graph.call("aten.add.Tensor", {x, y}, {}, "add");
  graph.call("aten.mul.Tensor", {x, y}, {}, "mul");
  add.setArgs({y, x});
  EXPECT_EQ(namesOf(x.users()), (Names{"mul", "add"}));
  EXPECT_EQ(namesOf(y.users()), (Names{"mul", "add"}));
  EXPECT_EQ(namesOf(add.inputs()), (Names{"y", "x"}));
  graph.find("mul")->setArg(1, 2);
  EXPECT_EQ(namesOf(x.users()), (Names{"add", "mul"}));
  EXPECT_EQ(namesOf(y.users()), Names{"add"});
}

TEST_F(NodeTest, ArgsMayBorrowFromTheSameNode) {
  Node& node = graph.call("my.op.default", {x, {y, "text"}, 3}, {{"k", y}});
  node.setArgs({node.arg(1), node.arg(0)});
  EXPECT_EQ(node.text(),
            "%op_default : [num_users=0] = call_function[target=torch.ops.my.op.default](args = ([%y, "
            "text], %x), kwargs = {k: %y})");
  node.setArgs(
      {node.arg(0).items()[1], node.arg(0), node.arg(0).items()[0], *node.findKwarg("k"), node.arg(1)});
  EXPECT_EQ(node.text(),
            "%op_default : [num_users=0] = call_function[target=torch.ops.my.op.default](args = (text, "
            "[%y, text], %y, %y, %x), kwargs = {k: %y})");
  node.setArg(1, node.arg(1).items()[0]);
  node.setKwargs({{"a", *node.findKwarg("k")}, {"b", node.arg(4)}});
  EXPECT_EQ(node.text(),
            "%op_default : [num_users=0] = call_function[target=torch.ops.my.op.default](args = (text, "
            "%y, %y, %y, %x), kwargs = {a: %y, b: %x})");
  EXPECT_EQ(namesOf(node.inputs()), (Names{"y", "x"}));
}

TEST_F(NodeTest, SetKwarg) {
  Node& node = graph.call("my.op.default", {x}, {{"a", 1}});
  node.setKwarg("a", y);
  node.setKwarg("b", 2);
  EXPECT_EQ(node.text(),
            "%op_default : [num_users=0] = call_function[target=torch.ops.my.op.default](args = (%x,), "
            "kwargs = {a: "
            "%y, b: 2})");
  EXPECT_EQ(namesOf(y.users()), Names{"op_default"});
  EXPECT_EQ(messageOf<UsageError>([&] {
              node.setKwargs({{"a", 1}, {"a", 2}});
            }),
            "keyword argument 'a' is given twice");
  EXPECT_EQ(node.kwargs().size(), 2u);
}

TEST_F(NodeTest, MissingArgumentNamesTheNode) {
  Node& node = graph.call("my.op.default", {x});
  EXPECT_EQ(node.findArg(1), nullptr);
  try {
    node.arg(1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.diagnostics()[0].node, "op_default");
    EXPECT_EQ(error.diagnostics()[0].message, "positional argument 1 asked for, there are 1");
  }
  EXPECT_THROW(node.setArg(1, x), UsageError);
}

TEST_F(NodeTest, Fx10ReplaceAllUses) {
  Node& relu = graph.call("aten.relu.default", {x}, {}, "relu");
  graph.call("aten.add.Tensor", {x, {x, y}}, {}, "a");
  graph.call("aten.mul.Tensor", {y, 1}, {{"other", Arg::dict({{"k", x}})}}, "b");
  graph.call("aten.sub.Tensor", {y, 1}, {}, "c");
  EXPECT_EQ(namesOf(x.replaceAllUsesWith(y, [](const Node& user) { return user.name() != "relu"; })),
            (Names{"a", "b"}));
  EXPECT_EQ(namesOf(x.users()), Names{"relu"});
  EXPECT_EQ(namesOf(y.users()), (Names{"c", "a", "b"}));
  EXPECT_EQ(graph.find("a")->text(),
            "%a : [num_users=0] = call_function[target=torch.ops.aten.add.Tensor](args = (%y, [%y, %y]), "
            "kwargs = {})");
  // As in FX, the replacement itself is rewritten, too.
  EXPECT_EQ(namesOf(x.replaceAllUsesWith(relu)), Names{"relu"});
  EXPECT_EQ(&relu.arg(0).asNode(), &relu);
  EXPECT_NE(test::lintText(graph).find("argument '%relu' is used before it is defined"), std::string::npos);
}

TEST_F(NodeTest, ReplaceAllUsesWithItselfChangesNothing) {
  graph.call("aten.add.Tensor", {x, y}, {}, "a");
  EXPECT_EQ(namesOf(x.replaceAllUsesWith(x)), Names{"a"});
  EXPECT_EQ(namesOf(x.users()), Names{"a"});
}

TEST_F(NodeTest, Fx11ReplaceInput) {
  Node& node = graph.call("my.op.default", {{x, {x}}}, {{"s", Arg::slice(x, y, nullptr)}});
  EXPECT_TRUE(node.replaceInput(x, y));
  EXPECT_EQ(namesOf(node.inputs()), Names{"y"});
  EXPECT_FALSE(node.replaceInput(x, y));
  EXPECT_EQ(x.numUsers(), 0u);
}

TEST_F(NodeTest, Fx12ForeignNodesAreRefused) {
  Graph other;
  Node& foreign = other.placeholder("foreign");
  Node& node = graph.call("aten.relu.default", {x});
  const std::string before = fxText(graph);
  EXPECT_EQ(messageOf<UsageError>([&] { node.setArg(0, foreign); }),
            "argument '%foreign' is a node of another graph");
  EXPECT_THROW(node.setArgs({x, {y, foreign}}), UsageError);
  EXPECT_THROW(node.setKwarg("k", foreign), UsageError);
  EXPECT_THROW(node.replaceInput(x, foreign), UsageError);
  EXPECT_THROW(x.replaceAllUsesWith(foreign), UsageError);
  EXPECT_THROW(graph.call("aten.relu.default", {foreign}), UsageError);
  EXPECT_EQ(fxText(graph), before);
  EXPECT_EQ(foreign.numUsers(), 0u);
  EXPECT_EQ(namesOf(x.users()), Names{"relu_default"});
}

TEST_F(NodeTest, ErasedNodesAreRefused) {
  Node& node = graph.call("aten.relu.default", {x});
  Node& dead = graph.call("aten.neg.default", {x});
  graph.erase(dead);
  EXPECT_EQ(messageOf<UsageError>([&] { node.setArg(0, dead); }),
            "argument '%neg_default' is an erased node");
  EXPECT_THROW(dead.setArgs({}), UsageError);
  EXPECT_THROW(dead.setKwarg("k", 1), UsageError);
  EXPECT_THROW(dead.rename("other"), UsageError);
  EXPECT_THROW(dead.setName("other"), UsageError);
  EXPECT_THROW(dead.moveBefore(x), UsageError);
  EXPECT_THROW(x.moveAfter(dead), UsageError);
  EXPECT_THROW(x.replaceAllUsesWith(dead), UsageError);
  EXPECT_EQ(namesOf(x.users()), Names{"relu_default"});
}

TEST_F(NodeTest, TargetsChange) {
  Node& node = graph.call("aten.relu.default", {x});
  node.setTarget("aten.neg.default");
  EXPECT_TRUE(node.isCall("aten.neg.default"));
  EXPECT_FALSE(node.isCall(Target::edge("aten.neg.default")));
  EXPECT_TRUE(node.callsOperator("aten.neg.default"));
  EXPECT_EQ(node.name(), "relu_default");
  node.setTarget(Target::edge("aten.neg.default"));
  EXPECT_TRUE(node.callsOperator("aten.neg.default"));
  x.setTargetText("other");
  EXPECT_EQ(x.targetText(), "other");
  EXPECT_EQ(messageOf<UsageError>([&] { x.setTarget("aten.neg.default"); }),
            "'%x' is a placeholder node: only call_function nodes call a target");
  EXPECT_THROW(node.setTargetText("other"), UsageError);
  EXPECT_THROW(x.target(), UsageError);
}

TEST_F(NodeTest, Fx15Moves) {
  Node& a = graph.call("aten.relu.default", {x}, {}, "a");
  Node& b = graph.call("aten.relu.default", {x}, {}, "b");
  Node& c = graph.call("aten.relu.default", {x}, {}, "c");
  c.moveBefore(a);
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"x", "y", "c", "a", "b"}));
  c.moveAfter(b);
  a.moveAfter(a);
  b.moveBefore(b);
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"x", "y", "a", "b", "c"}));
  a.moveBefore(b);  // where it stands
  x.moveAfter(c);
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"y", "a", "b", "c", "x"}));
  EXPECT_TRUE(c.isBefore(x));
  EXPECT_FALSE(x.isBefore(y));
  EXPECT_FALSE(x.isBefore(x));
  Graph other;
  EXPECT_THROW(a.moveBefore(other.placeholder("z")), UsageError);
}

TEST_F(NodeTest, LinksInBothDirections) {
  EXPECT_EQ(x.prev(), nullptr);
  EXPECT_EQ(x.next(), &y);
  EXPECT_EQ(y.prev(), &x);
  EXPECT_EQ(y.next(), nullptr);
}

TEST_F(NodeTest, MetadataHasValueSemantics) {
  x.editMeta([](NodeMeta& meta) { meta.set("k", "1"); });
  y.setMeta(x.metaRef());
  y.editMeta([](NodeMeta& meta) { meta.set("k", "2"); });
  EXPECT_EQ(**x.meta().find("k"), "1");
  EXPECT_EQ(**y.meta().find("k"), "2");
  EXPECT_TRUE(graph.call("aten.relu.default", {x}).meta().empty());
}

TEST_F(NodeTest, ManyUsers) {
  constexpr int kUsers = 100000;
  Node& z = graph.placeholder("z");
  for (int i = 0; i < kUsers; ++i) graph.call("aten.relu.default", {x});
  EXPECT_EQ(x.numUsers(), static_cast<size_t>(kUsers));
  EXPECT_EQ(x.replaceAllUsesWith(y).size(), static_cast<size_t>(kUsers));
  EXPECT_EQ(x.numUsers(), 0u);
  // From the front, from the back, and in between.
  const std::vector<Node*> users = y.usersSnapshot();
  for (size_t i = 0; i < users.size(); i += 2) users[i]->setArg(0, z);
  EXPECT_EQ(y.users().front().name(), users[1]->name());
  for (size_t i = users.size(); i-- > 0;) graph.erase(*users[i]);
  EXPECT_EQ(y.numUsers() + z.numUsers(), 0u);
  EXPECT_EQ(graph.size(), 3u);
}

TEST_F(NodeTest, ErasingWhileIteratingOverUsers) {
  for (int i = 0; i < 20; ++i) graph.call("aten.relu.default", {x});
  for (Node& user : x.users()) graph.erase(user);
  EXPECT_EQ(x.numUsers(), 0u);
}

}  // namespace
}  // namespace edgefx

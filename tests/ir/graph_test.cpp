#include <edgefx/ir/graph.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

#include <thread>
#include <type_traits>

namespace edgefx {
namespace {

using test::messageOf;
using test::Names;
using test::namesOf;

static_assert(!std::is_copy_constructible_v<Graph> && !std::is_copy_assignable_v<Graph>);
static_assert(!std::is_move_constructible_v<Graph>);

class GraphTest : public testing::Test {
 protected:
  Node& relu(std::string_view name) { return graph.call("aten.relu.default", {x}, {}, name); }

  Graph graph;
  Node& x = graph.placeholder("x");
};

TEST_F(GraphTest, EmptyGraph) {
  Graph empty;
  EXPECT_EQ(empty.size(), 0u);
  EXPECT_EQ(empty.front(), nullptr);
  EXPECT_EQ(empty.back(), nullptr);
  EXPECT_EQ(namesOf(empty.nodes()), Names());
  EXPECT_EQ(fxText(*empty.clone()), "graph():");
}

TEST_F(GraphTest, Fx13InsertionPoints) {
  Node& a = relu("relu");
  Node& last = relu("last");
  {
    InsertionGuard guard(graph, after(a));
    relu("tan");
    relu("exp");
    InsertionGuard inner(graph, before(last));
    relu("one");
    relu("two");
  }
  relu("end");
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"x", "relu", "exp", "tan", "one", "two", "last", "end"}));
}

TEST_F(GraphTest, Fx14InsertionPointOfAnotherGraph) {
  Graph other;
  Node& foreign = other.placeholder("z");
  EXPECT_EQ(messageOf<UsageError>([&] { graph.setInsertionPoint(before(foreign)); }),
            "insertion point '%z' is a node of another graph");
  graph.setInsertionPoint(before(x));
  relu("a");
  relu("b");
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"a", "b", "x"}));
}

TEST_F(GraphTest, Fx16InsertionPointAtErasedNodes) {
  Node& a = relu("a");
  Node& b = relu("b");
  Node& c = relu("c");
  relu("d");
  graph.erase(b);
  graph.erase(a);
  graph.erase(c);
  graph.setInsertionPoint(before(b));
  relu("p");
  graph.setInsertionPoint(after(b));
  relu("q");
  EXPECT_EQ(namesOf(graph.nodes()), (Names{"x", "q", "p", "d"}));
  EXPECT_EQ(test::lintText(graph), "edgefx: the graph has no output node\n");
}

TEST_F(GraphTest, Fx16IterationSurvivesErasing) {
  for (int i = 0; i < 10; ++i) relu("r");
  Names seen;
  for (Node& node : graph.nodes()) {
    seen.emplace_back(node.name());
    if (node.isPlaceholder()) continue;
    // The next one, too, and the one behind the next.
    Node* next = node.next();
    if (next != nullptr && next->next() != nullptr) graph.erase(*next->next());
    if (next != nullptr) graph.erase(*next);
    graph.erase(node);
  }
  EXPECT_EQ(seen, (Names{"x", "r", "r_3", "r_6", "r_9"}));
  EXPECT_EQ(namesOf(graph.nodes()), Names{"x"});
}

TEST_F(GraphTest, Fx17OutputNode) {
  EXPECT_EQ(messageOf<VerificationError>([&] { graph.outputNode(); }),
            "the last node must be the output, found placeholder '%x'");
  EXPECT_EQ(messageOf<VerificationError>([] { Graph().outputNode(); }),
            "the graph is empty: it has no output node");
  Node& output = graph.output(x);
  EXPECT_EQ(&graph.outputNode(), &output);
}

TEST_F(GraphTest, Fx18Erase) {
  Node& a = relu("a");
  for (int i = 0; i < 12; ++i) graph.call("aten.neg.default", {a}, {}, "n");
  try {
    graph.erase(a);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(
        error.diagnostics()[0].message,
        "cannot erase a node in use: its users are '%n', '%n_1', '%n_2', '%n_3', '%n_4', '%n_5', '%n_6', "
        "'%n_7', '%n_8', '%n_9' and 2 more");
    EXPECT_EQ(error.diagnostics()[0].node, "a");
  }
  Node& unused = relu("unused");
  graph.erase(unused);
  EXPECT_TRUE(unused.isErased());
  EXPECT_EQ(messageOf<UsageError>([&] { graph.erase(unused); }),
            "cannot erase '%unused': it is erased already");
  Graph other;
  EXPECT_THROW(other.erase(a), UsageError);
  EXPECT_EQ(graph.size(), 14u);
}

TEST_F(GraphTest, FailedCreationChangesNothing) {
  Graph other;
  Node& foreign = other.placeholder("foreign");
  const std::string before = fxText(graph);
  const std::string next = graph.uniqueName("relu_default");
  EXPECT_THROW(graph.call("aten.relu.default", {x, foreign}), UsageError);
  EXPECT_THROW(graph.call("aten.relu.default", {x}, {{"k", x}, {"k", x}}), UsageError);
  EXPECT_THROW(graph.output(foreign), UsageError);
  EXPECT_THROW(graph.call("", {x}), UsageError);
  EXPECT_EQ(fxText(graph), before);
  EXPECT_EQ(graph.uniqueName("relu_default"), next);
  // Ids of the failed ones are lost, and harmless.
  relu("a");
  graph.output(x);
  EXPECT_EQ(test::lintText(graph), "");
  EXPECT_EQ(test::lintText(*graph.clone()), "");
  EXPECT_EQ(fxText(*graph.clone()), fxText(graph));
}

TEST_F(GraphTest, CloneIsIndependent) {
  Node& add = graph.call("my.op.default", {x, {x, "text", Arg::complex(1, 2)}},
                         {{"k", SymExpr::parse("Symbol('s0', integer=True)")}}, "add");
  graph.output(Arg::tuple({add}));
  add.editMeta([](NodeMeta& meta) { meta.set("k", "1"); });
  const std::string before = fxText(graph);
  std::unique_ptr<Graph> clone = graph.clone();
  EXPECT_EQ(fxText(*clone), before);
  EXPECT_EQ(test::lintText(*clone), "");
  Node& copied = *clone->find("add");
  EXPECT_EQ(copied.id(), add.id());
  EXPECT_EQ(&copied.graph(), clone.get());
  EXPECT_EQ(&copied.arg(0).asNode().graph(), clone.get());
  EXPECT_EQ(copied.metaRef(), add.metaRef());

  copied.setArgs({1});
  copied.setName("other");
  copied.editMeta([](NodeMeta& meta) { meta.set("k", "2"); });
  clone->placeholder("fresh", "a_new_name_in_the_clone");
  EXPECT_EQ(fxText(graph), before);
  EXPECT_EQ(**add.meta().find("k"), "1");

  // And the other way round.
  const std::string copy = fxText(*clone);
  add.setArgs({});
  graph.erase(*graph.back());
  graph.erase(add);
  EXPECT_EQ(fxText(*clone), copy);
}

TEST_F(GraphTest, CloneOutlivesItsSource) {
  auto source = test::reluGraph();
  source->call("my.op.default", {"a text", SymExpr::parse("Symbol('s0', integer=True)"), Arg::complex(1, 2)});
  const std::string before = fxText(*source);
  std::unique_ptr<Graph> clone = source->clone()->clone();
  source.reset();
  EXPECT_EQ(fxText(*clone), before);
}

TEST_F(GraphTest, CloneKeepsOrderOfUsers) {
  Node& a = relu("a");
  relu("b");
  relu("c");
  a.setArgs({x});
  EXPECT_EQ(namesOf(x.users()), (Names{"b", "c", "a"}));
  EXPECT_EQ(namesOf(graph.clone()->find("x")->users()), (Names{"b", "c", "a"}));
}

TEST_F(GraphTest, CloneAfterErasures) {
  std::vector<Node*> made;
  for (int i = 0; i < 300; ++i)
    made.push_back(&graph.call("aten.add.Tensor", {x, i == 0 ? x : *made.back()}));
  std::vector<Node*> erased;
  for (size_t i = made.size(); i-- > 0;) {
    if (i % 3 == 0) continue;
    made[i]->replaceAllUsesWith(x);
    graph.erase(*made[i]);
  }
  graph.output(Arg::list({*made[0]}));
  std::unique_ptr<Graph> clone = graph.clone();
  EXPECT_EQ(clone->size(), 102u);
  EXPECT_EQ(clone->idBound(), graph.idBound());
  EXPECT_EQ(fxText(*clone), fxText(graph));
  EXPECT_EQ(test::lintText(*clone), "");
  EXPECT_EQ(test::lintText(graph), "");
  for (const Node& node : graph.nodes()) EXPECT_EQ(clone->find(node.name())->id(), node.id());
  // Edited on, with edges that moved.
  for (Node* user : clone->find("x")->usersSnapshot()) user->setArgs({*clone->find("x")});
  EXPECT_EQ(test::lintText(*clone), "");
}

TEST_F(GraphTest, CloneKeepsTheInsertionPoint) {
  Node& a = relu("a");
  relu("b");
  graph.setInsertionPoint(before(a));
  std::unique_ptr<Graph> clone = graph.clone();
  clone->placeholder("c");
  EXPECT_EQ(namesOf(clone->nodes()), (Names{"x", "c", "a", "b"}));
  graph.erase(a);
  clone = graph.clone();
  clone->placeholder("c");
  EXPECT_EQ(namesOf(clone->nodes()), (Names{"x", "b", "c"}));
}

TEST_F(GraphTest, ManyThreadsReadAndCloneOneGraph) {
  for (int i = 0; i < 500; ++i) relu("r");
  const std::string before = fxText(graph);
  const Graph& shared = graph;
  std::vector<std::thread> threads;
  std::atomic<int> same = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        std::unique_ptr<Graph> clone = shared.clone();
        same += fxText(*clone) == before && fxText(shared) == before && lint(shared).size() == 1;
        clone->find("r")->setName("changed");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, 80);
}

TEST_F(GraphTest, NodeMapReadsLaterNodesAsDefault) {
  NodeMap<int> map(graph, 7);
  Node& a = relu("a");
  EXPECT_EQ(std::as_const(map)[a], 7);
  map[a] = 8;
  EXPECT_EQ(map[a], 8);
  EXPECT_EQ(map[x], 7);
}

// All at one place, so that there is room for none after the first 32.
class OrderTest : public testing::TestWithParam<const char*> {};

TEST_P(OrderTest, HundredThousandInsertionsAtOnePlace) {
  constexpr int kNodes = 100000;
  Graph graph;
  Node& first = graph.placeholder("first");
  Node& last = graph.placeholder("last");
  const std::string_view where = GetParam();
  const test::CpuTimer timer;
  if (where == "before last") graph.setInsertionPoint(before(last));
  if (where == "after first") graph.setInsertionPoint(after(first));
  if (where == "at the front") graph.setInsertionPoint(before(first));
  for (int i = 0; i < kNodes; ++i) {
    Node& node = graph.placeholder("p", "p");
    if (where == "alternating") graph.setInsertionPoint(i % 2 == 0 ? before(node) : after(node));
    if (where == "moves") last.moveAfter(node), last.moveBefore(first), node.moveBefore(first);
  }
  EXPECT_LT(timer.seconds(), 10);
  EXPECT_EQ(graph.size(), kNodes + 2u);
  const Node* at = graph.front();
  const Node& front = *at;
  for (const Node* next = at->next(); next != nullptr; at = next, next = next->next()) {
    ASSERT_TRUE(at->isBefore(*next));
    ASSERT_FALSE(next->isBefore(*at));
    ASSERT_TRUE(front.isBefore(*next));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, OrderTest,
                         testing::Values("before last", "after first", "at the front", "alternating",
                                         "moves"));

TEST_F(GraphTest, MemoryIsBoundedUnderEditing) {
  Node& y = graph.placeholder("y");
  Node& node = graph.call("my.op.default", {x}, {{"flag", 1}});
  auto edit = [&] {
    node.setArgs({x, y});
    node.setArgs({x});
    node.setArg(0, y);
    node.setKwarg("flag", 2);
    Node& temporary = graph.call("my.op.default", {x, y, node}, {}, "temporary");
    temporary.replaceAllUsesWith(node);
    graph.erase(temporary);
  };
  for (int i = 0; i < 1000; ++i) edit();
  const size_t before = graph.memoryUsage();
  for (int i = 0; i < 1000; ++i) {
    node.setArgs({x, y});
    node.setArgs({x});
    node.setArg(0, y);
    node.setKwarg("flag", 2);
  }
  EXPECT_EQ(graph.memoryUsage(), before);
}

TEST_F(GraphTest, EdgesOfErasedNodesAreUsedAgain) {
  Node& y = graph.placeholder("y");
  for (int i = 0; i < 20000; ++i) graph.erase(graph.call("my.op.default", {x, y, {x, y}}));
  // The clone keeps ids, but not the room of edges that nobody has.
  for (int i = 0; i < 50; ++i) relu("r");
  EXPECT_EQ(namesOf(graph.clone()->find("x")->users()).size(), 50u);
  EXPECT_EQ(namesOf(x.users()).size(), 50u);
  EXPECT_EQ(test::lintText(*graph.clone()), "edgefx: the graph has no output node\n");
}

TEST_F(GraphTest, CloneCompactsEdges) {
  std::vector<Node*> nodes;
  for (int i = 0; i < 2000; ++i) nodes.push_back(&graph.call("my.op.default", {x, {x, x}}));
  Arg::List all;
  for (Node* node : nodes) all.emplace_back(*node);
  Node& wide = graph.call("my.op.default", {Arg::list(all)});
  wide.setArgs({});
  for (Node* node : nodes) {
    if (node != nodes[7]) graph.erase(*node);
  }
  wide.setArgs({*nodes[7], x});
  std::unique_ptr<Graph> clone = graph.clone();
  EXPECT_EQ(fxText(*clone), fxText(graph));
  EXPECT_EQ(test::lintText(*clone), "edgefx: the graph has no output node\n");
  EXPECT_LT(clone->memoryUsage(), graph.memoryUsage());
  clone->find(wide.name())->setArgs({*clone->find("x")});
  EXPECT_EQ(test::lintText(*clone), "edgefx: the graph has no output node\n");
}

}  // namespace
}  // namespace edgefx

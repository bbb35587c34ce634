#include <edgefx/ir/graph.h>
#include <edgefx/support/error.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

namespace edgefx {
namespace {

using test::messageOf;

class GraphNames : public testing::Test {
 protected:
  std::string named(std::string_view candidate) {
    return std::string(graph.placeholder("t", candidate).name());
  }
  // The name of a placeholder whose target is `target`.
  std::string ofTarget(std::string_view target) { return std::string(graph.placeholder(target).name()); }

  Graph graph;
};

TEST_F(GraphNames, Fx22ObservedSequence) {
  const std::pair<const char*, const char*> sequence[] = {
      {"x", "x"},         {"x", "x_1"},         {"x", "x_2"},           {"x_1", "x_3"},
      {"x_7", "x_7"},     {"x", "x_8"},         {"y_3", "y_3"},         {"y", "y"},
      {"y", "y_4"},       {"a-b c", "a_b_c"},   {"a.b.c", "a_b_c_1"},   {"1abc", "_1abc"},
      {"\xc3\xa9", "_"},  {"_", "__1"},         {"for", "for_1"},       {"for_1", "for_2"},
      {"for", "for_3"},   {"input", "input_1"}, {"device", "device_1"}, {"self", "self"},
      {"add_", "add_"},   {"add_", "add__1"},   {"_1", "_1"},           {"_1", "_1_1"},
      {"*args", "_args"},
  };
  for (const auto& [candidate, name] : sequence) EXPECT_EQ(named(candidate), name) << candidate;
  EXPECT_EQ(graph.uniqueName(""), "_unnamed");
}

TEST_F(GraphNames, Fx22LeadingZerosSetTheCounterBack) {
  for (int i = 0; i < 5; ++i) named("x");
  EXPECT_EQ(named("x_01"), "x_01");
  EXPECT_EQ(named("x_01"), "x_5");
}

TEST_F(GraphNames, Fx26ReservedWords) {
  for (const char* word : {"False", "and", "yield", "int", "print", "ValueError", "PythonFinalizationError",
                           "_IncompleteInputError", "__build_class__", "inf", "nan", "NoneType", "torch",
                           "device", "fx_pytree", "pytree"}) {
    EXPECT_EQ(named(word), std::string(word) + "_1");
  }
  for (const char* word : {"match", "case", "self", "none", "None", "tensor"}) EXPECT_EQ(named(word), word);
}

TEST_F(GraphNames, Fx19TargetsAsCandidates) {
  EXPECT_EQ(ofTarget("myCamelCaseFOO"), "my_camel_case_foo");
  EXPECT_EQ(ofTarget("__add__"), "add");
  EXPECT_EQ(ofTarget("a.B.weight"), "a_b_weight");
  EXPECT_EQ(graph.getAttr("Lin.W").name(), "lin_w");
  Node& x = graph.placeholder("x");
  EXPECT_EQ(graph.call("aten.sum.dim_IntList", {x}).name(), "sum_dim_int_list");
  EXPECT_EQ(graph.call(Target::edge("aten.add.Tensor"), {x, x}).name(), "aten_add_tensor");
  EXPECT_EQ(graph.call(Target::edge("dim_order_ops._clone_dim_order.default"), {x}).name(),
            "dim_order_ops__clone_dim_order_default");
  EXPECT_EQ(graph.call("higher_order.cond", {x}).name(), "cond");
  EXPECT_EQ(graph.output(x).name(), "output");
  // Names that are asked for are not put in lower case.
  EXPECT_EQ(graph.call("aten.add.Tensor", {x, x}, {}, "Sum").name(), "Sum");
}

TEST_F(GraphNames, Fx23PlaceholderKeepsItsTarget) {
  EXPECT_EQ(graph.placeholder("x").text(), "%x : [num_users=0] = placeholder[target=x]");
  EXPECT_EQ(graph.placeholder("x").text(), "%x_1 : [num_users=0] = placeholder[target=x]");
  EXPECT_EQ(graph.placeholder("input").text(), "%input_1 : [num_users=0] = placeholder[target=input]");
}

TEST_F(GraphNames, Fx20NamesAreNeverReleased) {
  graph.erase(graph.placeholder("x"));
  EXPECT_EQ(named("x"), "x_1");
  EXPECT_EQ(graph.find("x"), nullptr);
  graph.find("x_1")->rename("y");
  EXPECT_EQ(named("x_1"), "x_2");
}

TEST_F(GraphNames, Fx24RenameMakesUnique) {
  Node& a = graph.placeholder("a");
  graph.placeholder("b");
  EXPECT_EQ(a.rename("a"), "a");
  EXPECT_EQ(a.rename("b"), "b_1");
  EXPECT_EQ(graph.find("b_1"), &a);
  EXPECT_EQ(graph.find("a"), nullptr);
  EXPECT_EQ(a.rename("a"), "a_1");
  EXPECT_EQ(a.rename("new name"), "new_name");
}

TEST_F(GraphNames, Fx24SetNameDoesNot) {
  Node& a = graph.placeholder("a");
  Node& b = graph.placeholder("b");
  b.setName("a");
  EXPECT_EQ(b.name(), "a");
  EXPECT_EQ(graph.find("a"), &a);
  EXPECT_NE(test::lintText(graph).find("name 'a' is taken by an earlier placeholder node"),
            std::string::npos);
  // The name goes to the other node that has it.
  a.rename("c");
  EXPECT_EQ(graph.find("a"), &b);
  EXPECT_EQ(named("a"), "a_1");
  EXPECT_EQ(named("b"), "b_1");
  EXPECT_EQ(messageOf<UsageError>([&] { a.setName(""); }), "a node's name must not be empty");
}

TEST_F(GraphNames, ErasedNodePassesItsNameOn) {
  Node& a = graph.placeholder("a");
  Node& b = graph.placeholder("b");
  b.setName("a");
  graph.erase(a);
  EXPECT_EQ(graph.find("a"), &b);
}

TEST_F(GraphNames, Fx25CloneFreesNamesOfErasedNodes) {
  Node& x = graph.placeholder("x");
  graph.placeholder("x");
  graph.erase(x);
  EXPECT_EQ(named("x"), "x_2");
  auto clone = graph.clone();
  EXPECT_EQ(clone->placeholder("x").name(), "x");
  // The counter is that of the last of the copied names.
  EXPECT_EQ(clone->placeholder("x").name(), "x_3");
}

// Clones take the table of names over where it is what they would make themselves, and make it anew
// elsewhere.
TEST_F(GraphNames, ClonesNameAsIfMadeAnew) {
  const std::vector<std::string> candidates = {
      "add",   "add_1", "add_7", "add_007", "abs",    "abs_2",  "7up", "a.b.c",  "a_b_c",   "x_0", "x",
      "x_1_2", "x_1",   "_3",    "add_2",   "sum_40", "sum_39", "sum", "sum_40", "add_1_1", "x_01"};
  const auto namesIn = [&](const Graph& graph) {
    std::vector<std::string> names;
    for (const std::string& candidate : candidates) names.push_back(graph.uniqueName(candidate));
    return names;
  };
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    std::vector<Node*> nodes;
    for (int i = 0; i < 12; ++i) {
      nodes.push_back(&graph.placeholder("x", candidates[random() % candidates.size()]));
    }
    if (round % 2 != 0) {
      switch (random() % 4) {
        case 0:
          graph.erase(*nodes[random() % nodes.size()]);
          break;
        case 1:
          nodes[random() % nodes.size()]->rename(candidates[random() % candidates.size()]);
          break;
        case 2:
          nodes[3]->moveBefore(*nodes[1]);
          break;
        case 3:
          nodes[3]->setName("sum_5");
          break;
      }
    }
    const std::unique_ptr<Graph> taken = graph.clone();
    const std::unique_ptr<Graph> again = taken->clone();
    const std::vector<std::string> before = namesIn(graph);
    const std::unique_ptr<Graph> edited = graph.clone();
    edited->placeholder("x", "add");
    edited->erase(*edited->back());
    EXPECT_EQ(namesIn(graph), before);  // what a clone does shows nowhere else

    // A node that moved there and back leaves no table behind.
    Node& first = *graph.front();
    Node& second = *first.next();
    first.moveAfter(second);
    first.moveBefore(second);
    const std::vector<std::string> made = namesIn(*graph.clone());
    EXPECT_EQ(namesIn(*taken), made);
    EXPECT_EQ(namesIn(*again), made);
  }
}

TEST_F(GraphNames, ClonesCountInTheOrderOfTheNodes) {
  for (const char* name : {"x", "x_3", "x_7"}) named(name);
  EXPECT_EQ(graph.clone()->uniqueName("x"), "x_8");
  graph.find("x_7")->moveBefore(*graph.find("x_3"));
  EXPECT_EQ(graph.uniqueName("x"), "x_8");
  EXPECT_EQ(graph.clone()->uniqueName("x"), "x_4");
  graph.setInsertionPoint(before(*graph.front()));
  named("x_5");
  EXPECT_EQ(graph.clone()->uniqueName("x"), "x_4");
}

TEST_F(GraphNames, UniqueNameReservesNothing) {
  named("x");
  EXPECT_EQ(graph.uniqueName("x"), "x_1");
  EXPECT_EQ(graph.uniqueName("x"), "x_1");
  EXPECT_EQ(named("x"), "x_1");
}

TEST_F(GraphNames, FindsByName) {
  std::vector<Node*> made;
  for (int i = 0; i < 2000; ++i) made.push_back(&graph.placeholder("p", "p" + std::to_string(i * 7)));
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(graph.find("p" + std::to_string(i * 7)), made[i]);
  EXPECT_EQ(graph.find("p1"), nullptr);
  EXPECT_EQ(graph.find(""), nullptr);
  const Graph& constant = *graph.clone();
  EXPECT_EQ(Graph().find("x"), nullptr);
  (void)constant;
}

TEST_F(GraphNames, HugeNumbersDoNotOverflow) {
  EXPECT_EQ(named("x_18446744073709551615"), "x_18446744073709551615");
  EXPECT_EQ(named("x_18446744073709551615"), "x_18446744073709551615_1");
  EXPECT_EQ(named("x_999999999999999999"), "x_999999999999999999");
  EXPECT_EQ(named("x"), "x");
  EXPECT_EQ(named("x"), "x_1000000000000000000");
}

// Each "x_0...0" sets the counter back, so that the next "x" would try every number again.
TEST_F(GraphNames, CountersSetBackStayCheap) {
  constexpr int kNames = 20000;
  named("x");
  for (int i = 0; i < kNames; ++i) named("x");
  const test::CpuTimer timer;
  for (int i = 0; i < kNames; ++i) {
    named("x_" + std::string(1 + i % 17, '0') + std::to_string(i / 17));
    named("x");
  }
  EXPECT_LT(timer.seconds(), 5);
  EXPECT_EQ(test::lintText(graph), "edgefx: the graph has no output node\n");
}

TEST_F(GraphNames, OneNodeIsFoundFromManyThreads) {
  for (int i = 0; i < 1000; ++i) graph.placeholder("p");
  const std::unique_ptr<Graph> clone = graph.clone();  // its table of names is made on first use
  const Graph& shared = *clone;
  std::vector<std::thread> threads;
  std::atomic<int> found = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 1; i < 1000; ++i) {
        found += shared.find("p_" + std::to_string(i)) != nullptr;
        found += shared.uniqueName("p") == "p_1000";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found, 4 * 2 * 999);
}

}  // namespace
}  // namespace edgefx

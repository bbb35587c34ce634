#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/serialization/pt2.h>

#include "ir/graph_testing.h"
#include "partition/literal_partitioner.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx {
namespace {

using Lines = std::vector<std::string>;

const OperatorSupport kAdds = support::operators({"aten.add.Tensor"});
constexpr const char* kAdd = "aten.add.Tensor";
constexpr const char* kSin = "aten.sin.default";

Lines propose(const Graph& graph, const OperatorSupport& support, CapabilityOptions options = {}) {
  return test::textOf(proposePartitions(graph, support, options));
}

CapabilityOptions withSingles() {
  return {.allowsSingleNodePartition = true};
}

Lines proposeForCase(const char* name, const OperatorSupport& support) {
  const ExportedProgram program = loadProgram(test::corpusRoots()[1] / (std::string(name) + ".pt2"));
  return propose(program.graph(), support, withSingles());
}

OperatorSupport allBut(const std::vector<Target>& targets) {
  return support::anyCall() && !support::operators(targets);
}

std::vector<std::string> partTexts(const std::vector<std::vector<const Node*>>& parts) {
  std::vector<std::string> lines;
  for (const auto& part : parts) {
    std::string line;
    for (const Node* node : part) line += (line.empty() ? "" : " ") + std::string(node->name());
    lines.push_back(line);
  }
  return lines;
}

TEST(CapabilityPartitioner, IdsCountFromTheEnd) {
  Graph graph;
  Node& a1 = graph.call(kAdd, {graph.placeholder("x"), 1}, {}, "a1");
  Node& a2 = graph.call(kAdd, {a1, 1}, {}, "a2");
  Node& u = graph.call(kSin, {a2}, {}, "u");
  Node& a3 = graph.call(kAdd, {u, 1}, {}, "a3");
  graph.output(graph.call(kAdd, {a3, 1}, {}, "a4"));
  EXPECT_EQ(propose(graph, kAdds), (Lines{"1: a3 a4", "3: a1 a2"}));
}

TEST(CapabilityPartitioner, AValueMustNotComeBack) {
  Graph graph;
  Node& a1 = graph.call(kAdd, {graph.placeholder("x"), 1}, {}, "a1");
  Node& u = graph.call(kSin, {a1}, {}, "u");
  Node& a2 = graph.call(kAdd, {a1, 1}, {}, "a2");
  graph.output(graph.call(kAdd, {a2, u}, {}, "a3"));
  EXPECT_EQ(propose(graph, kAdds, withSingles()), (Lines{"1: a2 a3", "2: a1"}));
  EXPECT_EQ(propose(graph, kAdds), (Lines{"1: a2 a3"}));
}

TEST(CapabilityPartitioner, AlternatingChain) {
  Graph graph;
  Node& a1 = graph.call(kAdd, {graph.placeholder("x"), 1}, {}, "a1");
  Node& b1 = graph.call(kSin, {a1}, {}, "b1");
  Node& a2 = graph.call(kAdd, {b1, 1}, {}, "a2");
  graph.output(graph.call(kSin, {a2}, {}, "b2"));
  EXPECT_EQ(propose(graph, kAdds, withSingles()), (Lines{"0: a2", "1: a1"}));
  EXPECT_EQ(propose(graph, kAdds), Lines());
}

TEST(CapabilityPartitioner, UnrelatedNodesShareAPartitionUnlessToldNotTo) {
  Graph graph;
  Node& x = graph.placeholder("x");
  graph.output(Arg::tuple({graph.call(kAdd, {x, 1}, {}, "a"), graph.call(kAdd, {x, 2}, {}, "b")}));
  EXPECT_EQ(propose(graph, kAdds, withSingles()), (Lines{"1: a b"}));
  EXPECT_EQ(propose(graph, kAdds, {.allowsSingleNodePartition = true, .skipHorizontalFusion = true}),
            (Lines{"0: b", "1: a"}));
}

TEST(CapabilityPartitioner, FieldReports) {
  const OperatorSupport noSin = allBut({kSin});
  EXPECT_EQ(proposeForCase("one_tag_nonconvex", noSin), (Lines{"1: mul add_1", "2: add"}));
  EXPECT_EQ(proposeForCase("interleaved_groups", allBut({kSin, "aten.cos.default"})),
            (Lines{"1: mul mul_1", "3: add add_1"}));
  EXPECT_EQ(proposeForCase("siblings", allBut({"aten.abs.default"})), (Lines{"1: sin cos"}));
}

TEST(CapabilityPartitioner, AGetitemIsClaimedExactlyWhenItsProducerIs) {
  const OperatorSupport topk = support::operators({"aten.topk.default"});
  const auto proposed = [](const OperatorSupport& support) {
    Lines lines = proposeForCase("multi_output_getitem", support);
    for (std::string& line : lines) {
      // The file may hold the unused second result as well.
      if (const size_t at = line.find(" topk_unused_1"); at != std::string::npos) line.erase(at, 14);
      line.erase(0, line.find(' ') + 1);
    }
    return lines;
  };
  EXPECT_EQ(proposed(topk || kAdds), (Lines{"topk getitem add"}));
  EXPECT_EQ(proposed(kAdds), (Lines{"add"}));
  EXPECT_EQ(proposed(kAdds || support::operators({"operator.getitem"})), (Lines{"add"}));
  EXPECT_EQ(proposed(topk), (Lines{"topk getitem"}));
}

// The first element reaches what the second one is read for, so that producer and second getitem start out
// apart.
TEST(CapabilityPartitioner, AGetitemFollowsItsProducer) {
  Graph graph;
  Node& topk = graph.call("aten.topk.default", {graph.placeholder("x"), 2}, {}, "topk");
  Node& first = graph.call("operator.getitem", {topk, 0}, {}, "first");
  Node& sin = graph.call(kSin, {first}, {}, "sin");
  Node& second = graph.call("operator.getitem", {topk, 1}, {}, "second");
  Node& nested = graph.call("operator.getitem", {second, 0}, {}, "nested");
  Node& add = graph.call(kAdd, {nested, sin}, {}, "add");
  graph.output(Arg::tuple({graph.call(kAdd, {add, nested}, {}, "add_1"), topk}));
  EXPECT_EQ(propose(graph, allBut({kSin}), withSingles()),
            (Lines{"1: add add_1", "5: topk first second nested"}));
}

TEST(CapabilityPartitioner, PlaceholdersAndOutputsAreNeverClaimed) {
  Graph graph;
  graph.output(graph.call(kAdd, {graph.placeholder("x"), graph.getAttr("w")}, {}, "add"));
  const OperatorSupport everything = support::predicate([](const Node&) { return true; }, "");
  EXPECT_EQ(propose(graph, everything, withSingles()), (Lines{"1: w add"}));
}

TEST(CapabilityPartitioner, CallsThatDoNotComputeDoNotCount) {
  Graph graph;
  Node& cat = graph.call(Target::edge("aten.cat.default"), {Arg::list({graph.placeholder("x")})}, {}, "cat");
  graph.output(graph.call(kAdd, {cat, 1}, {}, "add"));
  EXPECT_EQ(propose(graph, support::anyCall()), (Lines{"1: cat add"}));
  EXPECT_EQ(propose(graph, support::anyCall(), {.nonComputeOps = {"aten.cat.default"}}), Lines());
  EXPECT_EQ(propose(graph, support::anyCall(),
                    {.nonComputeOps = {"aten.cat.default"}, .allowedSingleNodePartitionOps = {kAdd}}),
            (Lines{"1: cat add"}));
}

TEST(CapabilityPartitioner, BookendsGoWithTheirGetitems) {
  Graph graph;
  Node& split = graph.call("aten.split.Tensor", {graph.placeholder("x"), 1}, {}, "split");
  Node& part = graph.call("operator.getitem", {split, 0}, {}, "part");
  Node& add = graph.call(kAdd, {part, 1}, {}, "add");
  Node& topk = graph.call("aten.topk.default", {add, 1}, {}, "topk");
  Node& best = graph.call("operator.getitem", {topk, 0}, {}, "best");
  graph.output(graph.call("aten.view.default", {best, Arg::list({1})}, {}, "view"));
  std::vector<ProposedPartition> partitions = proposePartitions(graph, support::anyCall());
  const std::vector<Target> nonCompute{"aten.split.Tensor", "aten.view.default", "operator.getitem"};
  removeBookendNonComputeOps(partitions, nonCompute);
  EXPECT_EQ(test::textOf(partitions), (Lines{"1: add topk best"}));
  const std::vector<Target> all{"aten.split.Tensor", "aten.view.default", "operator.getitem", kAdd,
                                "aten.topk.default"};
  removeBookendNonComputeOps(partitions, all);
  EXPECT_EQ(test::textOf(partitions), (Lines{"1:"}));
}

TEST(CapabilityPartitioner, BookendsAreOfOneGraph) {
  Graph one, other;
  const Node& a = one.placeholder("a");
  const Node& b = other.placeholder("b");
  std::vector<ProposedPartition> partitions{{0, {&a}}, {1, {&b}}};
  EXPECT_EQ(test::messageOf<UsageError>([&] { removeBookendNonComputeOps(partitions, {}); }),
            "expected the nodes of all partitions in one graph, found '%b' in another");
}

TEST(SplitIntoConvex, WhatIsLeftAfterABorderWasUntagged) {
  const ExportedProgram program = loadProgram(test::corpusRoots()[1] / "untag_boundary.pt2");
  const Graph& graph = program.graph();
  const Node *relu = graph.find("relu"), *matmul = graph.find("matmul");
  EXPECT_EQ(partTexts(splitIntoConvex(graph, {{matmul, relu}})), (Lines{"relu", "matmul"}));
  EXPECT_EQ(partTexts(splitIntoConvex(graph, {{relu, graph.find("mul")}, {matmul}})),
            (Lines{"relu mul", "matmul"}));
}

TEST(SplitIntoConvex, SetsThatMakeACycleTogether) {
  const ExportedProgram program = loadProgram(test::corpusRoots()[1] / "interleaved_groups.pt2");
  const Graph& graph = program.graph();
  const std::vector<const Node*> p1{graph.find("add"), graph.find("mul")},
      p2{graph.find("add_1"), graph.find("mul_1")};
  EXPECT_EQ(partTexts(splitIntoConvex(graph, {p1})), (Lines{"add mul"}));
  EXPECT_EQ(partTexts(splitIntoConvex(graph, {p1, p2})), (Lines{"add", "mul", "add_1", "mul_1"}));
}

TEST(SplitIntoConvex, AGetitemStaysWithItsProducer) {
  Graph graph;
  Node& topk = graph.call("aten.topk.default", {graph.placeholder("x"), 2}, {}, "topk");
  Node& first = graph.call("operator.getitem", {topk, 0}, {}, "first");
  Node& sin = graph.call(kSin, {first}, {}, "sin");
  Node& second = graph.call("operator.getitem", {topk, 1}, {}, "second");
  Node& add = graph.call(kAdd, {second, sin}, {}, "add");
  graph.output(add);
  EXPECT_EQ(partTexts(splitIntoConvex(graph, {{&topk, &first, &second, &add}})),
            (Lines{"topk first second", "add"}));
}

TEST(SplitIntoConvex, RefusesWhatIsNoSet) {
  Graph graph, other;
  const Node& x = graph.placeholder("x");
  const Node& y = other.placeholder("y");
  EXPECT_EQ(test::messageOf<UsageError>([&] {
              splitIntoConvex(graph, {{&x}, {&x}});
            }),
            "expected each node in one set, found '%x' twice");
  EXPECT_EQ(test::messageOf<UsageError>([&] { splitIntoConvex(graph, {{&y}}); }),
            "expected live nodes of the graph, found one of another graph or an erased one");
}

// Chains of supported and unsupported calls side by side, which grow the same partition over and over:
// nothing of it may be quadratic.
TEST(CapabilityPartitioner, LongGraphsAreQuick) {
  Graph graph;
  Node* a = &graph.placeholder("x");
  Node* u = a;
  constexpr int kSteps = 100'000;
  std::vector<const Node*> claimed;
  for (int i = 0; i < kSteps; ++i) {
    u = &graph.call(kSin, {*u});
    Node& side = graph.call(kAdd, {*a, 2});
    a = &graph.call(kAdd, {*a, side});
    claimed.push_back(a);
  }
  graph.output(Arg::tuple({*a, *u}));
  const test::CpuTimer timer;
  EXPECT_EQ(proposePartitions(graph, kAdds).size(), 1U);
  EXPECT_EQ(proposePartitions(graph, kAdds, {.skipHorizontalFusion = true}).size(), 1U);
  EXPECT_GT(splitIntoConvex(graph, {claimed}).size(), 1U);
  EXPECT_LT(timer.seconds(), 5);
}

}  // namespace
}  // namespace edgefx

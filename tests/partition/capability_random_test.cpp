#include <edgefx/ir/fx_text.h>
#include <edgefx/partition/capability_partitioner.h>

#include "partition/literal_partitioner.h"
#include "partition/random_graphs.h"

#include <gtest/gtest.h>

#include <random>

namespace edgefx {
namespace {

// Supported, and a getitem exactly when its producer is.
bool isClaimedWithProducer(const OperatorSupport& support, const Node& node) {
  const Node* at = &node;
  while (at->isCall("operator.getitem")) at = &at->arg(0).asNode();
  return support.supports(*at);
}

std::vector<std::vector<const Node*>> setsOf(const std::vector<ProposedPartition>& partitions) {
  std::vector<std::vector<const Node*>> sets;
  for (const ProposedPartition& partition : partitions) sets.push_back(partition.nodes);
  return sets;
}

test::RandomShape randomShape(uint64_t seed) {
  std::mt19937_64 draw(seed * 7919 + 13);
  test::RandomShape shape;
  shape.calls = static_cast<uint32_t>(2 + draw() % 58);
  shape.supportedPercent = static_cast<uint32_t>(10 + draw() % 90);
  shape.reach = static_cast<uint32_t>(1 + draw() % 24);
  shape.mostInputs = static_cast<uint32_t>(1 + draw() % 4);
  shape.tuplePercent = static_cast<uint32_t>(draw() % 3 * 20);
  return shape;
}

constexpr uint64_t kRandomGraphs = 800;

// Compares kRandomGraphs graphs; returns how many of them the reference divides without a cycle.
size_t compareWithLiteral(const CapabilityOptions& options) {
  const OperatorSupport support = test::randomSupport();
  size_t sound = 0;
  for (uint64_t seed = 0; seed < kRandomGraphs; ++seed) {
    const std::unique_ptr<Graph> graph = test::randomGraph(seed, randomShape(seed));
    const std::vector<ProposedPartition> ours = proposePartitions(*graph, support, options);
    EXPECT_FALSE(test::makesCycle(*graph, setsOf(ours))) << fxText(*graph);
    const test::LiteralProposal theirs = test::proposeLiterally(
        *graph, [&](const Node& node) { return isClaimedWithProducer(support, node); }, options);
    if (theirs.madeCycle) continue;
    ++sound;
    EXPECT_EQ(test::textOf(ours), test::textOf(theirs.partitions)) << "seed " << seed << "\n"
                                                                   << fxText(*graph);
    if (testing::Test::HasFailure()) break;
  }
  return sound;
}

TEST(CapabilityRandom, EqualsTheReference) {
  EXPECT_EQ(compareWithLiteral({.allowsSingleNodePartition = true}), kRandomGraphs);
}

TEST(CapabilityRandom, EqualsTheReferenceWithoutSingleNodes) {
  EXPECT_EQ(compareWithLiteral({}), kRandomGraphs);
}

TEST(CapabilityRandom, EqualsTheReferenceWithNonComputeOps) {
  EXPECT_EQ(compareWithLiteral({.nonComputeOps = {"aten.relu.default", "aten.add.Tensor"}}), kRandomGraphs);
}

TEST(CapabilityRandom, EqualsTheReferenceWithOpsThatMayStandAlone) {
  EXPECT_EQ(compareWithLiteral({.nonComputeOps = {"aten.relu.default"},
                                .allowedSingleNodePartitionOps = {"aten.mul.Tensor"}}),
            kRandomGraphs);
}

// The reference does not look at the other nodes of a user's partition, and forgets what reaches a partition
// whose id changes, so that it closes cycles now and then.
TEST(CapabilityRandom, EqualsTheReferenceWithoutHorizontalFusion) {
  EXPECT_GT(compareWithLiteral({.allowsSingleNodePartition = true, .skipHorizontalFusion = true}),
            kRandomGraphs * 9 / 10);
  EXPECT_GT(compareWithLiteral({.nonComputeOps = {"aten.relu.default"},
                                .allowedSingleNodePartitionOps = {"aten.mul.Tensor"},
                                .skipHorizontalFusion = true}),
            kRandomGraphs * 9 / 10);
}

TEST(CapabilityRandom, RemovesBookendsAsTheReference) {
  const OperatorSupport support = test::randomSupport();
  const std::vector<Target> nonCompute{"aten.relu.default", "aten.add.Tensor"};
  size_t removed = 0;
  for (uint64_t seed = 0; seed < kRandomGraphs; ++seed) {
    const std::unique_ptr<Graph> graph = test::randomGraph(seed, randomShape(seed));
    std::vector<ProposedPartition> ours =
        proposePartitions(*graph, support, {.allowsSingleNodePartition = true});
    std::vector<ProposedPartition> theirs = ours;
    const std::vector<std::string> before = test::textOf(ours);
    removeBookendNonComputeOps(ours, nonCompute);
    test::removeBookendsLiterally(theirs, nonCompute);
    ASSERT_EQ(test::textOf(ours), test::textOf(theirs)) << fxText(*graph);
    EXPECT_FALSE(test::makesCycle(*graph, setsOf(ours))) << fxText(*graph);
    removed += before != test::textOf(ours);
  }
  EXPECT_GT(removed, kRandomGraphs / 4);
}

// Any sets at all, many of them far from convex.
TEST(CapabilityRandom, SplitsRandomSetsIntoConvexOnes) {
  size_t split = 0, kept = 0;
  for (uint64_t seed = 0; seed < kRandomGraphs; ++seed) {
    const std::unique_ptr<Graph> graph = test::randomGraph(seed, randomShape(seed));
    std::mt19937_64 draw(seed);
    std::vector<std::vector<const Node*>> sets(1 + draw() % 4);
    const uint64_t share = 1 + draw() % 10;
    for (const Node& node : graph->nodes()) {
      if (node.isCall() && draw() % 10 < share) sets[draw() % sets.size()].push_back(&node);
    }
    const auto parts = splitIntoConvex(*graph, sets);
    EXPECT_FALSE(test::makesCycle(*graph, parts)) << fxText(*graph);
    if (test::makesCycle(*graph, sets)) {
      EXPECT_GT(parts.size(), sets.size());
      ++split;
    } else {
      EXPECT_EQ(parts, sets);
      ++kept;
    }
    std::vector<const Node*> before, after;
    for (const auto& set : sets) before.insert(before.end(), set.begin(), set.end());
    for (const auto& part : parts) after.insert(after.end(), part.begin(), part.end());
    std::sort(before.begin(), before.end());
    std::sort(after.begin(), after.end());
    EXPECT_EQ(before, after);
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(split, kRandomGraphs / 4);
  EXPECT_GT(kept, kRandomGraphs / 10);
}

}  // namespace
}  // namespace edgefx

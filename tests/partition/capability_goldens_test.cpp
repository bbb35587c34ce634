#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/serialization/pt2.h>

#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// Partitions that the reference's partitioner made of real programs, read off the delegates that it led to.
namespace edgefx {
namespace {

namespace fs = std::filesystem;

struct PartitionSetup {
  const char* golden;   // name of the file, before ".lowered.txt"
  const char* program;  // what was partitioned
  OperatorSupport support;
};

std::vector<PartitionSetup> partitionSetups() {
  const OperatorSupport all = support::anyCall() && support::notDelegated();
  const OperatorSupport addmul = support::operators(
      {"aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor", "aten.mm.default", "aten.addmm.default"});
  return {{"backend-addmul", "edge.pt2", addmul},
          {"aten-backend-addmul", "program.pt2", addmul},
          {"backend-all", "edge.pt2", all},
          {"aten-backend-all", "program.pt2", all}};
}

// Names of the calls in each delegate of the top graph, but for those that nothing uses: lowering drops some.
std::vector<std::vector<std::string>> delegatesOf(const std::string& text) {
  std::vector<std::vector<std::string>> delegates;
  std::istringstream lines(text);
  bool inGraph = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      inGraph = line.starts_with("# lowered ") && line.find('.') == std::string::npos;
      if (inGraph) delegates.emplace_back();
    } else if (inGraph && line.find("] = call_function[") != std::string::npos &&
               line.find(" : [num_users=0]") == std::string::npos) {
      const size_t start = line.find('%') + 1;
      delegates.back().push_back(line.substr(start, line.find(' ', start) - start));
    }
  }
  std::erase_if(delegates, [](const auto& calls) { return calls.empty(); });
  return delegates;
}

std::vector<std::vector<std::string>> callNames(const std::vector<ProposedPartition>& partitions) {
  std::vector<std::vector<std::string>> names;
  for (const ProposedPartition& partition : partitions) {
    names.emplace_back();
    for (const Node* node : partition.nodes) {
      if (node->numUsers() != 0) names.back().emplace_back(node->name());
    }
  }
  return names;
}

template <typename T>
std::vector<T> inAnyOrder(std::vector<T> items) {
  for (auto& item : items) std::sort(item.begin(), item.end());
  std::sort(items.begin(), items.end());
  return items;
}

// Some edge.pt2 files name nodes in another way than the program that the golden was made from.
bool hasAllCalls(const Graph& graph, const std::vector<std::vector<std::string>>& names) {
  return std::ranges::all_of(names, [&](const auto& delegate) {
    return std::ranges::all_of(delegate, [&](const auto& name) { return graph.find(name) != nullptr; });
  });
}

std::vector<fs::path> fixtureFolders() {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(test::corpusRoots()[0])) {
    if (entry.is_directory()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(CapabilityGoldens, SameNodesInEachDelegate) {
  size_t compared = 0, several = 0;
  for (const PartitionSetup& given : partitionSetups()) {
    for (const fs::path& folder : fixtureFolders()) {
      const fs::path golden = folder / (std::string(given.golden) + ".lowered.txt");
      if (!fs::exists(golden) || !fs::exists(folder / given.program)) continue;
      const auto expected = delegatesOf(test::readFile(golden));
      const ExportedProgram program = loadProgram(folder / given.program);
      if (!hasAllCalls(program.graph(), expected)) continue;
      const auto partitions =
          proposePartitions(program.graph(), given.support, {.allowsSingleNodePartition = true});
      EXPECT_EQ(inAnyOrder(callNames(partitions)), inAnyOrder(expected)) << golden;
      ++compared;
      several += expected.size() > 1;
    }
  }
  EXPECT_GE(compared, 8U);
  EXPECT_GE(several, 4U);
  RecordProperty("compared", static_cast<int>(compared));
  RecordProperty("several", static_cast<int>(several));
}

// The name of the fused module holds the number of the partition.
TEST(CapabilityGoldens, SameIds) {
  size_t compared = 0;
  for (const PartitionSetup& given : partitionSetups()) {
    for (const fs::path& folder : fixtureFolders()) {
      const fs::path golden = folder / (std::string(given.golden) + ".fused.txt");
      if (!fs::exists(golden) || !fs::exists(folder / given.program)) continue;
      const std::string text = test::readFile(golden);
      const ExportedProgram program = loadProgram(folder / given.program);
      const auto partitions =
          proposePartitions(program.graph(), given.support, {.allowsSingleNodePartition = true});
      ASSERT_EQ(partitions.size(), 1U) << golden;
      const std::string module = "target=fused_aoti_" + std::to_string(partitions[0].id) + "]";
      EXPECT_NE(text.find(module), std::string::npos) << golden << " lacks " << module;
      ++compared;
    }
  }
  EXPECT_GE(compared, 4U);
}

}  // namespace
}  // namespace edgefx

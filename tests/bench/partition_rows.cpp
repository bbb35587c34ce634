#include <edgefx/partition/capability_partitioner.h>

#include "bench/bench_graphs.h"
#include "bench/bench_rows.h"
#include "bench/memory.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>

namespace edgefx::bench {
namespace {

constexpr size_t kRegionNodes = 20;

std::vector<ProposedPartition> partitionsOf(const Graph& graph, const CapabilityOptions& options = {}) {
  static const OperatorSupport support = regionSupport();
  return proposePartitions(graph, support, options);
}

void requirePartitions(const Graph& graph, size_t expected) {
  const size_t found = partitionsOf(graph).size();
  if (found != expected)
    throw std::runtime_error(fmt::format("expected {} partitions, found {}", expected, found));
}

void regionRow(const Options& options, size_t nodes, const Goal& goal, Table& table) {
  const size_t partitions = nodes / kRegionNodes;
  const std::unique_ptr<Graph> graph = makeRegions(nodes, partitions);
  requirePartitions(*graph, partitions);
  const std::shared_ptr<torch::jit::Graph> peer = makePeer(nodes);
  const auto times =
      medians({making("partition", [&] { return partitionsOf(*graph); }),
               making("vertical", [&] { return partitionsOf(*graph, {.skipHorizontalFusion = true}); }),
               making("copy", [&] { return peer->copy(); })},
              options.repetitionsAt(nodes));
  table.add({"6", fmt::format("partition, {} regions / J.copy()", partitions), nodes, times[0] / 1e3,
             times[2] / 1e3, "us", goal});
  table.add({"6",
             fmt::format("the same along users only / J.copy()"),
             nodes,
             times[1] / 1e3,
             times[2] / 1e3,
             "us",
             {}});
}

void chainRow(const Options& options, size_t nodes, Table& table) {
  const std::unique_ptr<Graph> graph = makeChain(nodes);
  requirePartitions(*graph, 1);
  const std::shared_ptr<torch::jit::Graph> peer = makePeer(nodes);
  const auto times = medians({making("partition", [&] { return partitionsOf(*graph); }),
                              making("copy", [&] { return peer->copy(); })},
                             options.repetitionsAt(nodes));
  table.add({"6b", "partition, one chain / J.copy()", nodes, times[0] / 1e3, times[1] / 1e3, "us",
             Goal{0.15, 0.25}});
  const Growth growth = growthOf([&] { partitionsOf(*graph); });
  table.add({"6b",
             "partition, one chain, peak memory",
             nodes,
             growth.peak / static_cast<double>(nodes),
             0,
             "B/node",
             {},
             false});
}

// How the time grows with the nodes, as the exponent of a power.
void growthRow(const Options& options, const char* work, size_t first, size_t last,
               std::unique_ptr<Graph> (*make)(size_t), const Goal& goal, Table& table) {
  const std::unique_ptr<Graph> small = make(first), large = make(last);
  const auto times = medians({making("small", [&] { return partitionsOf(*small); }),
                              making("large", [&] { return partitionsOf(*large); })},
                             options.repetitions);
  const double exponent =
      std::log(times[1] / times[0]) / std::log(static_cast<double>(last) / static_cast<double>(first));
  table.add({"12b", fmt::format("partition {}, growth from {} nodes, power", work, first), last, exponent, 0,
             "", goal, false});
}

}  // namespace

void addPartitionRows(const Options& options, Table& table) {
  if (options.wants("6")) {
    std::fprintf(stderr, "partitions\n");
    regionRow(options, 5'000, {0.4, 0.8}, table);
    if (options.maxNodes >= 100'000) regionRow(options, 100'000, {0.5, 1.2}, table);
  }
  if (options.wants("6b")) {
    std::fprintf(stderr, "a chain as one partition\n");
    for (const size_t nodes : options.sizes()) chainRow(options, nodes, table);
  }
  if (options.wants("12b")) {
    std::fprintf(stderr, "growth of partitioning\n");
    const auto regions = [](size_t nodes) { return makeRegions(nodes, nodes / kRegionNodes); };
    growthRow(options, "chain", 10'000, std::max<size_t>(options.maxNodes, 100'000), makeChain, {1.1, 1.2},
              table);
    growthRow(options, "regions", 10'000, 100'000, regions, {1.4, 1.9}, table);
  }
}

}  // namespace edgefx::bench

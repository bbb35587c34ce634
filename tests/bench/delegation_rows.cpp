#include <edgefx/backend/to_backend.h>

#include "bench/bench_graphs.h"
#include "bench/bench_rows.h"

#include <fmt/format.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

namespace edgefx::bench {
namespace {

constexpr size_t kCallsInPartition = 20;

}  // namespace

void addDelegationRows(const Options& options, Table& table) {
  if (!options.wants("7") && !options.wants("7b") && !options.wants("12b")) return;
  BackendRegistry registry;
  registry.add(std::make_unique<TrivialBackend>());
  std::map<size_t, double> manyTimes;
  for (const size_t nodes : options.sizes()) {
    std::fprintf(stderr, "delegation of %zu nodes\n", nodes);
    const ExportedProgram program =
        makeProgram(nodes, kFewWeights, 4);  // as in models: a layer reads the few before it
    const RunPartitioner many(kCallsInPartition), one(nodes);
    const auto delegateMany = [&] { return toBackend(program, many, registry); };
    const size_t repetitions = options.repetitionsAt(nodes);
    const auto line = [&](std::string row, std::string work, Contestant other, Goal goal) {
      const auto times = medians({making("many", delegateMany), std::move(other)}, repetitions);
      table.add({std::move(row), std::move(work), nodes, times[0] * 1e-3, times[1] * 1e-3, "us", goal});
      manyTimes[nodes] = times[0];
    };
    // Before there is a peer, whose freed memory would be sorted out by whoever asks for larger pieces next.
    line("7b", "toBackend, many partitions / one",
         making("one", [&] { return toBackend(program, one, registry); }), {1.5, 2.5});
    const std::shared_ptr<torch::jit::Graph> peer = makePeer(nodes);
    line("7", fmt::format("toBackend, {} partitions / J.copy()", nodes / kCallsInPartition),
         making("copy", [&] { return peer->copy(); }), {0.6, 1.2});
  }
  if (manyTimes.size() < 2) return;
  const auto [first, fewTime] = *manyTimes.begin();
  const auto [last, muchTime] = *manyTimes.rbegin();
  const double exponent =
      std::log(muchTime / fewTime) / std::log(static_cast<double>(last) / static_cast<double>(first));
  table.add(
      {"12b", "toBackend, many partitions: growth exponent", last, exponent, 0, "", Goal{1.1, 1.3}, false});
}

}  // namespace edgefx::bench

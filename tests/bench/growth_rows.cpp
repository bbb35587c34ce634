#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/check_program.h>
#include <edgefx/serialization/pt2.h>

#include "bench/bench_graphs.h"
#include "bench/bench_rows.h"
#include "support/test_data.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>

namespace edgefx::bench {

void addGrowthRows(const Options& options, Table& table) {
  if (!options.wants("12")) return;
  constexpr size_t kFirst = 1'000, kCompared = 10'000;
  const test::TempDir folder;
  std::map<std::string, std::map<size_t, double>> times;  // of a node, by work and size
  for (size_t nodes = kFirst; nodes <= options.maxNodes; nodes *= 10) {
    std::fprintf(stderr, "growth, %zu nodes\n", nodes);
    const ExportedProgram program = makeProgram(nodes);
    const EdgeProgramManager manager(program.clone());
    const auto file = folder / "program.pt2", copy = folder / "copy.pt2";
    saveProgram(program, file);
    const std::vector<Contestant> contestants{
        making("copy", [&] { return program.clone(); }),
        making("load", [&] { return loadProgram(file); }),
        making("save",
               [&] {
                 saveProgram(program, copy);
                 return 0;
               }),
        making("print", [&] { return fxText(program.graph()); }),
        making("validate", [&] { return checkProgram(program); }),
        making("toOpBackend", [&] { return manager.toOpBackend(IdentityBackend()); })};
    const std::vector<double> measured = medians(contestants, options.repetitionsAt(nodes));
    for (size_t i = 0; i < contestants.size(); ++i) {
      times[contestants[i].name][nodes] = measured[i] / static_cast<double>(nodes);
    }
  }
  for (const auto& [work, bySize] : times) {
    const auto compared = bySize.find(kCompared);
    for (const auto& [nodes, time] : bySize) {
      const double base = compared == bySize.end() ? 0 : compared->second;
      table.add({"12", fmt::format("{} / itself at 10k", work), nodes, time, base, "ns/node", {}});
    }
  }
}

}  // namespace edgefx::bench

// Measures edgefx beside its peers and prints one table of all rows:
//
//   cmake -S . -B build/bench -G Ninja -DCMAKE_BUILD_TYPE=Release -DEDGEFX_BUILD_BENCH=ON
//   ninja -C build/bench edgefx_bench && build/bench/tests/bench/edgefx_bench
//
// Options: --max-nodes=1000000 (100000 unless given), --rows=1,3c,9 (all), --repetitions=9,
// --weights-mib=1024. Every time is CPU time, the median of repetitions that take turns with those of the
// peer. The exit code is 1 if a floor is not held. Files go to $TMPDIR, up to three times the weights.
// EDGEFX_CORPUS may name a folder with larger fixtures.
//
// Single pieces of work for a profiler (see single_work.h), and the instructions that each takes for a node:
//
//   build/bench/tests/bench/edgefx_bench --only clone,check --nodes 10000 --repeat 2 [--weights 16]
//   tests/bench/count_instructions.sh build/bench/tests/bench/edgefx_bench [nodes] [clone,check]
//
// The second counts the second turn of each, which is the difference between --repeat 2 and --repeat 1.
#include <edgefx/support/warning.h>

#include "bench/bench_rows.h"
#include "bench/single_work.h"

#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edgefx::bench {
namespace {

template <typename Number>
Number toNumber(std::string_view option, std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("expected a number after " + std::string(option) + ", found '" +
                                std::string(text) + "'");
  }
  return number;
}

std::vector<std::string> splitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

struct CommandLine {
  Options table;
  SingleWork single;  // if it names any
};

// Takes "--option value" and "--option=value".
CommandLine readCommandLine(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    std::string_view option = argv[i], value;
    if (const size_t equals = option.find('='); equals != std::string_view::npos) {
      value = option.substr(equals + 1);
      option = option.substr(0, equals);
    } else if (++i < argc) {
      value = argv[i];
    }
    const auto read = [&](auto& number) { number = toNumber<std::decay_t<decltype(number)>>(option, value); };
    if (option == "--max-nodes") {
      read(line.table.maxNodes);
    } else if (option == "--rows") {
      line.table.rows = splitAtCommas(value);
    } else if (option == "--repetitions") {
      read(line.table.repetitions);
    } else if (option == "--weights-mib") {
      read(line.table.weightMib);
    } else if (option == "--only") {
      line.single.works = splitAtCommas(value);
    } else if (option == "--nodes") {
      read(line.single.nodes);
    } else if (option == "--weights") {
      read(line.single.weights);
    } else if (option == "--repeat") {
      read(line.single.repeat);
    } else {
      throw std::invalid_argument("unknown option " + std::string(option));
    }
  }
  return line;
}

bool printTable(const Options& options) {
  char program[] = "edgefx_bench", interleave[] = "--benchmark_enable_random_interleaving=true";
  char* arguments[] = {program, interleave, nullptr};
  int count = 2;
  benchmark::Initialize(&count, arguments);
  Table table;
  addMemoryRows(options, table);
  addGraphRows(options, table);
  addPartitionRows(options, table);
  addFileRows(options, table);
  addWeightRows(options, table);
  addDelegationRows(options, table);
  addGrowthRows(options, table);
  addRunRows(options, table);
  addRewriteRows(options, table);
  return table.print();
}

}  // namespace
}  // namespace edgefx::bench

int main(int argc, char** argv) {
  try {
    edgefx::setWarningHandler({});
    const auto line = edgefx::bench::readCommandLine(argc, argv);
    if (!line.single.works.empty()) edgefx::bench::runSingleWorks(line.single);
    return edgefx::bench::printTable(line.table) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "edgefx_bench: %s\n", error.what());
    return 2;
  }
}

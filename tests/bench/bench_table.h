#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::bench {

struct Options {
  size_t maxNodes = 100'000;
  size_t weightMib = 1024;
  int repetitions = 9;            // of work that takes less than a second
  std::vector<std::string> rows;  // empty for all

  bool wants(std::string_view row) const;
  // 1k, 10k, 100k, ... nodes, up to maxNodes.
  std::vector<size_t> sizes() const;
  int repetitionsAt(size_t nodes) const;
};

// What a number must not exceed, or must reach.
struct Goal {
  double target = 0;
  double floor = 0;
  bool atLeast = false;
};

// One line of the table. The goal is set for the ratio of the two numbers, or for ours alone.
struct Line {
  std::string row;  // number of the goal, "3c"
  std::string work;
  size_t nodes = 0;  // 0 where it makes no sense
  double ours = 0;
  double peer = 0;  // 0 if there is none
  std::string unit;
  std::optional<Goal> goal;
  bool ratioIsJudged = true;
};

class Table {
 public:
  void add(Line line) { lines_.push_back(std::move(line)); }
  // Sorted by row. Returns whether every floor is held.
  bool print() const;

 private:
  std::vector<Line> lines_;
};

// One of several pieces of work that are measured side by side.
struct Contestant {
  std::string name;
  std::function<void(benchmark::State&)> run;
};

// Runs them in turns, in random order, each `repetitions` times for 20 ms or more. Returns the median of each
// in nanoseconds of CPU time for one iteration. Throws std::runtime_error if one does not report.
std::vector<double> medians(const std::vector<Contestant>& contestants, int repetitions);

// CPU time of the whole process, in seconds: other programs on the machine count little.
inline double cpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Measures `work`, but not the destruction of what it returns.
template <typename Work>
Contestant making(std::string name, Work work) {
  return {std::move(name), [work = std::move(work)](benchmark::State& state) {
            for (auto _ : state) {
              const double start = cpuSeconds();
              auto made = work();
              state.SetIterationTime(cpuSeconds() - start);
              benchmark::DoNotOptimize(made);
            }
          }};
}

// Measures the destruction of what `make` returns.
template <typename Make>
Contestant destroying(std::string name, Make make) {
  return {std::move(name), [make = std::move(make)](benchmark::State& state) {
            for (auto _ : state) {
              std::optional made(make());
              const double start = cpuSeconds();
              made.reset();
              state.SetIterationTime(cpuSeconds() - start);
            }
          }};
}

}  // namespace edgefx::bench

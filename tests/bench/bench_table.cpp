#include "bench/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>

namespace edgefx::bench {
namespace {

constexpr double kShortestRun = 0.02;  // seconds

// Keeps the time of every repetition and prints nothing.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration)
        times_[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
    }
  }

  double median(const std::string& name) {
    std::vector<double>& times = times_[name];
    if (times.empty()) throw std::runtime_error("the benchmark '" + name + "' has not reported any time");
    std::sort(times.begin(), times.end());
    const size_t middle = times.size() / 2;
    return times.size() % 2 != 0 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

std::string number(double value) {
  if (value == 0) return "";
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string measured(double value, const std::string& unit) {
  return value == 0 ? "" : number(value) + " " + unit;
}

bool holds(double value, double limit, bool atLeast) {
  return atLeast ? value >= limit : value <= limit;
}

}  // namespace

bool Options::wants(std::string_view row) const {
  return rows.empty() || std::find(rows.begin(), rows.end(), row) != rows.end();
}

std::vector<size_t> Options::sizes() const {
  std::vector<size_t> sizes;
  for (size_t nodes = 1'000; nodes <= maxNodes; nodes *= 10) sizes.push_back(nodes);
  if (sizes.empty()) sizes.push_back(maxNodes);
  return sizes;
}

int Options::repetitionsAt(size_t nodes) const {
  return nodes < 1'000'000 ? repetitions : std::min(repetitions, 3);
}

bool Table::print() const {
  std::vector<const Line*> sorted;
  for (const Line& line : lines_) sorted.push_back(&line);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Line* a, const Line* b) {
    const int left = std::atoi(a->row.c_str()), right = std::atoi(b->row.c_str());
    return left != right ? left < right : a->row < b->row;
  });

  constexpr const char* kFormat = "{:<4} {:<44} {:>8} {:>12} {:>12} {:>8} {:>8} {:>8}  {}\n";
  fmt::print(kFormat, "row", "work", "N", "ours", "peer", "ratio", "target", "floor", "ok");
  bool allHold = true;
  for (const Line* line : sorted) {
    const double ratio = line->peer == 0 ? 0 : line->ours / line->peer;
    std::string target, floor, verdict;
    if (line->goal) {
      const Goal& goal = *line->goal;
      const double judged = line->ratioIsJudged ? ratio : line->ours;
      const std::string unit = line->ratioIsJudged ? "x" : " " + line->unit;
      target = number(goal.target) + unit;
      floor = number(goal.floor) + unit;
      const bool isWithinFloor = holds(judged, goal.floor, goal.atLeast);
      verdict = holds(judged, goal.target, goal.atLeast) ? "target" : isWithinFloor ? "floor" : "MISSED";
      allHold = allHold && isWithinFloor;
    }
    fmt::print(kFormat, line->row, line->work, line->nodes == 0 ? "" : std::to_string(line->nodes),
               measured(line->ours, line->unit), measured(line->peer, line->unit),
               ratio == 0 ? "" : number(ratio) + "x", target, floor, verdict);
  }
  return allHold;
}

std::vector<double> medians(const std::vector<Contestant>& contestants, int repetitions) {
  benchmark::ClearRegisteredBenchmarks();
  for (const Contestant& contestant : contestants) {
    benchmark::RegisterBenchmark(contestant.name.c_str(), contestant.run)
        ->UseManualTime()
        ->Repetitions(repetitions)
        ->MinTime(kShortestRun)
        ->Unit(benchmark::kNanosecond);
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);
  std::vector<double> times;
  for (const Contestant& contestant : contestants) times.push_back(collector.median(contestant.name));
  return times;
}

}  // namespace edgefx::bench

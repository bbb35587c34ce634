#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace edgefx::bench {

struct SingleWork {
  // "clone", "lint", "signature", "check" (both and more), "print", "save" (its JSON), "load", "dom"
  // (simdjson alone, on the same JSON), "destroy", "identity" and "rewrite" (toOpBackend); "peercopy",
  // "peerlint" and "peerprint".
  std::vector<std::string> works;
  size_t nodes = 10'000;
  size_t weights = 16;  // parameters among the nodes
  int repeat = 1;
};

// Makes a program and does each work on it `repeat` times, for a profiler. Prints a line for each that says
// what its counts are to be divided by, and ends the process without taking anything apart. Throws
// std::invalid_argument for unknown work, or more than 8 repetitions.
[[noreturn]] void runSingleWorks(const SingleWork& options);

}  // namespace edgefx::bench

#pragma once

#include "support/program_builder.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace edgefx::test {

// The same numbers on every platform.
class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}
  size_t below(size_t bound) { return static_cast<size_t>(generator_() % bound); }
  bool percent(size_t chance) { return below(100) < chance; }

 private:
  std::mt19937_64 generator_;
};

// A valid program of some ten to forty nodes: parameters, buffers (some written, some by way of several
// nodes, some returned as well), constants, lists of operands, operators with two results, nested control
// flow whose branches may be shared. All tensors are float32[4].
ExportedProgram randomProgram(Dice& dice);

}  // namespace edgefx::test

#pragma once

#include <edgefx/ir/graph.h>
#include <edgefx/partition/operator_support.h>

#include <cstdint>
#include <memory>

namespace edgefx::test {

// What of a random graph is up to the caller.
struct RandomShape {
  uint32_t calls = 30;
  uint32_t supportedPercent = 50;
  uint32_t reach = 8;         // how far back inputs may lie
  uint32_t mostInputs = 2;    // of a call
  uint32_t tuplePercent = 0;  // of calls with several results, each read by getitems some way below
};

// The operators of randomGraph that are meant to be supported.
OperatorSupport randomSupport();

// A graph of calls of supported and unsupported operators, the same for the same seed.
std::unique_ptr<Graph> randomGraph(uint64_t seed, const RandomShape& shape);

}  // namespace edgefx::test

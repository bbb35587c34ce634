// Lowers models that keep caches of keys and values, filled in one branch of a cond.
//   kv_cache SMALL.pt2 OUTPUT_FOLDER DECODER.pt2 EXPECTED.pt

#include "common/measure.h"
#include "decoder.h"
#include "device_only.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: kv_cache SMALL.pt2 OUTPUT_FOLDER DECODER.pt2 EXPECTED.pt\n");
    return 2;
  }
  try {
    kv_cache::lowerForDevice(argv[1], argv[2]);
    const std::vector<examples::Row> rows = kv_cache::lowerDecoder(argv[3], argv[4], argv[2]);
    std::printf("\n");
    return examples::printTable(rows) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

#include "support/text_hash.h"

#include <random>

namespace edgefx::detail {

uint64_t hashSeed() {
  static const uint64_t seed = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  return seed;
}

}  // namespace edgefx::detail

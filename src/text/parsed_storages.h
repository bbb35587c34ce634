#pragma once

#include "program/make_tensor.h"

#include <cstdint>
#include <unordered_map>

namespace edgefx::detail {

struct ParsedStorages {
  std::unordered_map<int64_t, SharedStorage> byNumber;
};

}  // namespace edgefx::detail

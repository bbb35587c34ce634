#pragma once

#include <string>
#include <vector>

namespace edgefx {

// How programs are brought to edge dialect, and what holds for everything after it. A value: managers keep
// their own.
struct EdgeCompileConfig {
  // Check programs against the edge dialect's operator list. Operator backends switch it off for what they
  // return.
  bool checkIrValidity = true;
  // Keep memory_format arguments instead of dim-order operators.
  bool skipDimOrder = false;
  // Operators outside Core ATen that the check lets pass, such as "aten.median.default".
  std::vector<std::string> coreAtenOpsExceptionList;
  // Operators that must not be decomposed.
  std::vector<std::string> preserveOps;

  bool operator==(const EdgeCompileConfig&) const = default;
};

}  // namespace edgefx

#pragma once

#include <simdjson.h>

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace edgefx::detail {

// A delegate in a program of ExecuTorch's form.
struct ExirDelegate {
  std::string graph;   // dotted path of the graph module
  std::string name;    // of the delegate in that module
  std::string module;  // JSON text of a LoweredBackendModule
};

using NameSet = std::set<std::string, std::less<>>;

// Rewrites a program's JSON of schema major 1, 2, 5 or 7 in the form of major 8: what changed is converted,
// what major 8 added gets its default, everything else, unknown members too, is carried along.
// `schema_version` keeps the number. Bare infinities must have become strings before. A buffer that does not
// say whether it is persistent is, if `stateDict` has its name. Equality constraints of dimensions are
// dropped with a warning: later schemas have none. Throws ParseError naming the member's path for JSON that
// does not have the old form, UnsupportedError for custom objects stored in the arguments themselves.
// ExecuTorch's fork of major 5 is known by having both `dialect` and `verifiers`: its element types get
// torch's numbers, and its delegates go to `delegates` unless that is null; their calls keep the name. O(n
// log n).
std::string upgradeProgramJson(simdjson::dom::element program, int64_t major, const NameSet& stateDict,
                               std::vector<ExirDelegate>* delegates = nullptr);

}  // namespace edgefx::detail

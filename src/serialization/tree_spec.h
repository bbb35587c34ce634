#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace edgefx::detail {

enum class TreeKind : uint8_t { Leaf, Tuple, List, Dict, NamedTuple, Deque, Other };

using TreeKey = std::variant<std::monostate, bool, int64_t, double, std::string>;  // monostate is None

// How the flat values of a call are nested.
struct TreeSpec {
  TreeKind kind = TreeKind::Leaf;  // ordered dicts and defaultdicts are dicts
  std::string type;                // "builtins.tuple"; empty for a leaf
  std::vector<TreeKey> keys;       // of a dict, one a child
  std::vector<TreeSpec> children;
  size_t leaves = 1;
};

// Reads a tree spec, JSON text `[1, {"type": ..., "context": ..., "children_spec": [...]}]`. Containers of
// Python's library must have the context they need; other types, which only Python knows, may have any.
// Throws ParseError for anything else and for specs nested deeper than 256. O(n log n).
TreeSpec parseTreeSpec(std::string_view text);

// Checks a tree spec as parseTreeSpec does, and returns the number of its leaves.
size_t checkTreeSpec(std::string_view text);

}  // namespace edgefx::detail

#pragma once

#include <cstddef>
#include <string_view>

namespace edgefx::detail {

// Checks a tree spec, JSON text `[1, {"type": ..., "context": ..., "children_spec": [...]}]`, which says how
// the flat values of a call are nested, and returns the number of its leaves. Containers of Python's library
// must have the context they need; other types, which only Python knows, may have any. Throws ParseError for
// anything else and for specs nested deeper than 256. O(n log n).
size_t checkTreeSpec(std::string_view text);

}  // namespace edgefx::detail

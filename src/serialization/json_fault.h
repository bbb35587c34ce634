#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {

struct JsonFault {
  size_t offset;     // in bytes
  std::string what;  // "unterminated string"
};

// Why `text` is not one JSON value, or nothing if it is one. For texts that a parser refused without saying
// where. A value nested in more than maxDepth - 1 others is a fault, so is an integer beyond 64 bits. Bare
// NaN and Infinity tokens, which readers of torch's files let pass, are named only if nothing else is wrong.
// Linear.
std::optional<JsonFault> findJsonFault(std::string_view text, size_t maxDepth);

// "not JSON: unexpected end at byte 1234"; "not JSON: " and the parser's own message if no fault is found.
std::string jsonErrorText(std::string_view text, std::string_view parserMessage, size_t maxDepth);

}  // namespace edgefx::detail

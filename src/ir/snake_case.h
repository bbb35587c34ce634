#pragma once

#include <string>
#include <string_view>

namespace edgefx::detail {

// FX's _snake_case: '_' between a lower-case and an upper-case letter, then all lower case.
inline std::string snakeCase(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && i > 0 && text[i - 1] >= 'a' && text[i - 1] <= 'z') out += '_';
    out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace edgefx::detail

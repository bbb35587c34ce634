#include "serialization/byte_text.h"

#include "support/utf8.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace edgefx::detail {

namespace {

constexpr size_t kLongestShown = 200;

void appendPrintable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const size_t length = decodeUtf8(text).length;
    const auto first = static_cast<uint8_t>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7f) {
      out += fmt::format("\\x{:02x}", first);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
}

}  // namespace

bool isUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = decodeUtf8(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  if (text.size() <= kLongestShown) {
    appendPrintable(out, text);
    return out;
  }
  appendPrintable(out, text.substr(0, kLongestShown / 2));
  out += fmt::format("...({} bytes)...", text.size() - kLongestShown);
  appendPrintable(out, text.substr(text.size() - kLongestShown / 2));
  return out;
}

}  // namespace edgefx::detail

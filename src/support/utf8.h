#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace edgefx::detail {

struct DecodedCharacter {
  uint32_t codePoint;
  uint32_t length;  // bytes read; 0 if the text does not start with a well-formed character
};

// Decodes the first character of `text`, which must not be empty. Overlong forms, surrogates and numbers
// above U+10FFFF are not well-formed.
inline DecodedCharacter decodeUtf8(std::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const auto isContinuation = [&](size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead >= 0xC2 && lead < 0xE0) {
    if (text.size() < 2 || !isContinuation(1)) return {0, 0};
    return {(lead & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    if (text.size() < 3 || !isContinuation(1) || !isContinuation(2)) return {0, 0};
    const uint32_t codePoint = (lead & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (codePoint < 0x800 || (codePoint >= 0xD800 && codePoint < 0xE000)) return {0, 0};
    return {codePoint, 3};
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    if (text.size() < 4 || !isContinuation(1) || !isContinuation(2) || !isContinuation(3)) return {0, 0};
    const uint32_t codePoint =
        (lead & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
    if (codePoint < 0x10000 || codePoint > 0x10FFFF) return {0, 0};
    return {codePoint, 4};
  }
  return {0, 0};
}

// Appends the character; a surrogate of Python's surrogateescape becomes the byte it stands for. False for
// numbers that are no character.
inline bool appendUtf8(std::string& out, uint32_t codePoint) {
  const auto add = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  if (codePoint < 0x80) {
    add(codePoint);
  } else if (codePoint < 0x800) {
    add(0xC0u | codePoint >> 6);
    add(0x80u | (codePoint & 0x3Fu));
  } else if (codePoint >= 0xDC80 && codePoint <= 0xDCFF) {
    add(codePoint & 0xFFu);
  } else if (codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint < 0xE000)) {
    return false;
  } else if (codePoint < 0x10000) {
    add(0xE0u | codePoint >> 12);
    add(0x80u | (codePoint >> 6 & 0x3Fu));
    add(0x80u | (codePoint & 0x3Fu));
  } else {
    add(0xF0u | codePoint >> 18);
    add(0x80u | (codePoint >> 12 & 0x3Fu));
    add(0x80u | (codePoint >> 6 & 0x3Fu));
    add(0x80u | (codePoint & 0x3Fu));
  }
  return true;
}

// The text with U+FFFD in the place of each byte that is of no well-formed character. Linear.
inline std::string wellFormedUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = decodeUtf8(text).length;
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

// Writes the lowest `digits` hexadecimal digits of `value`, lower case, and returns the end.
inline char* writeHex(char* out, uint32_t value, int digits) {
  for (int i = digits - 1; i >= 0; --i) *out++ = "0123456789abcdef"[value >> (4 * i) & 0xFu];
  return out;
}

}  // namespace edgefx::detail

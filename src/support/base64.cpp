#include "support/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace edgefx::detail {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kNoDigit = 0xff;

constexpr std::array<uint8_t, 256> kDigits = [] {
  std::array<uint8_t, 256> digits{};
  digits.fill(kNoDigit);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return digits;
}();

}  // namespace

std::string base64Of(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 0x3f] : '=';
  }
  return text;
}

std::optional<std::string> bytesOfBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const size_t digits = i + 4 == text.size() ? 4 - padding : 4;
    uint32_t group = 0;
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t digit = j < digits ? kDigits[static_cast<unsigned char>(text[i + j])] : 0;
      if (digit == kNoDigit) return std::nullopt;
      group = group << 6 | digit;
    }
    for (size_t j = 0; j + 1 < digits; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 0xff);
    // Bits that no byte takes must be zero, so that each text stands for its own bytes.
    if (digits < 4 && (group & (digits == 3 ? 0xffU : 0xffffU)) != 0) return std::nullopt;
  }
  return bytes;
}

}  // namespace edgefx::detail

#pragma once

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "serialization/pickle_opcode.h"
#include "serialization/zip_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace edgefx::detail {

// The bytes of a pickle, read front to back. Errors name the record and the offset of the opcode.
class PickleInput {
 protected:
  PickleInput(std::span<const std::byte> bytes, std::string_view record) : bytes_(bytes), record_(record) {}

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    Diagnostic diagnostic(fmt::format(format, std::forward<Args>(args)...));
    diagnostic.message += fmt::format(", at byte {} of the pickle", opAt_);
    diagnostic.record = printable(record_);
    throw ParseError(std::move(diagnostic));
  }

  std::span<const std::byte> take(uint64_t count) {
    if (count > left()) refuse("the pickle ends early: expected {} bytes more, found {}", count, left());
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  template <typename T>
  T takeNumber() {
    return zip::load<T>(take(sizeof(T)).data());
  }

  uint8_t takeByte() { return takeNumber<uint8_t>(); }

  std::string_view takeText(uint64_t length) {
    const auto taken = take(length);
    const std::string_view text(reinterpret_cast<const char*>(taken.data()), taken.size());
    if (!isUtf8(text)) refuse("text '{}' is not UTF-8", printable(text));
    return text;
  }

  std::string_view takeLine() {
    const auto rest = bytes_.subspan(position_);
    const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (end == rest.end()) refuse("the pickle ends early: expected a line");
    const std::string_view line = takeText(static_cast<uint64_t>(end - rest.begin()));
    ++position_;
    return line;
  }

  uint8_t takeOpcode() {
    opAt_ = position_;
    return takeByte();
  }

  void readProtocol() {
    if (static_cast<PickleOp>(takeByte()) != PickleOp::Proto) refuse("expected a pickle of protocol 2 to 5");
    const uint8_t protocol = takeByte();
    if (protocol < 2 || protocol > 5) refuse("pickle protocol {}, expected 2 to 5", protocol);
  }

  int64_t readLong() {
    const auto digits = take(takeByte());
    if (digits.size() > sizeof(int64_t)) refuse("integer of {} bytes, expected at most 8", digits.size());
    if (digits.empty()) return 0;
    const bool isNegative = (digits.back() & std::byte{0x80}) != std::byte{0};
    uint64_t value = isNegative ? ~uint64_t{0} : 0;
    for (size_t i = digits.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(digits[i]);
    return static_cast<int64_t>(value);
  }

  double readDouble() {
    uint64_t bits = 0;
    for (const std::byte byte : take(sizeof(uint64_t))) bits = bits << 8 | std::to_integer<uint64_t>(byte);
    return std::bit_cast<double>(bits);
  }

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

 private:
  std::span<const std::byte> bytes_;
  std::string_view record_;
  size_t position_ = 0;
  size_t opAt_ = 0;
};

}  // namespace edgefx::detail

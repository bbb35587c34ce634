#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace edgefx::detail::zip {

inline constexpr uint32_t kLocalHeaderSignature = 0x04034b50;
inline constexpr uint32_t kDirectoryEntrySignature = 0x02014b50;
inline constexpr uint32_t kEndSignature = 0x06054b50;
inline constexpr uint32_t kZip64EndSignature = 0x06064b50;
inline constexpr uint32_t kZip64LocatorSignature = 0x07064b50;

inline constexpr size_t kLocalHeaderSize = 30;
inline constexpr size_t kDirectoryEntrySize = 46;
inline constexpr size_t kEndSize = 22;
inline constexpr size_t kZip64EndSize = 56;
inline constexpr size_t kZip64LocatorSize = 20;

inline constexpr uint16_t kMethodStored = 0;
inline constexpr uint16_t kMethodDeflated = 8;

inline constexpr uint16_t kFlagEncrypted = 1 << 0;
inline constexpr uint16_t kFlagDataDescriptor = 1 << 3;
inline constexpr uint16_t kFlagStrongEncryption = 1 << 6;
inline constexpr uint16_t kFlagUtf8 = 1 << 11;
inline constexpr uint16_t kFlagMaskedHeaders = 1 << 13;

// Stands in a 16-bit or 32-bit field whose value is in the zip64 structures.
inline constexpr uint16_t kIn64Short = 0xffff;
inline constexpr uint32_t kIn64 = 0xffffffff;

inline constexpr uint16_t kExtraZip64 = 0x0001;
inline constexpr uint16_t kExtraPadding = 0x4246;  // "FB", as PyTorch's writer has it

template <typename T>
T load(const std::byte* from) {
  static_assert(std::is_unsigned_v<T>);
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(from[i]) << (8 * i)));
  }
  return value;
}

template <typename T>
void append(std::string& to, T value) {
  static_assert(std::is_unsigned_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// Why `name` may not name a record, as in "is absolute"; empty if it may. Names ending in '/' are folders and
// left to the caller.
std::string_view nameFault(std::string_view name);

}  // namespace edgefx::detail::zip

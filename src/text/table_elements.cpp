#include "text/table_elements.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace edgefx::detail {
namespace {

// Calls `use` with a value of the C++ type of a dtype; false for dtypes without one.
template <typename Use>
bool withElementType(Dtype dtype, Use&& use) {
  switch (dtype) {
    case Dtype::Bool:
      return use(bool());
    case Dtype::UInt8:
      return use(uint8_t());
    case Dtype::Int8:
      return use(int8_t());
    case Dtype::Int16:
      return use(int16_t());
    case Dtype::Int32:
      return use(int32_t());
    case Dtype::Int64:
      return use(int64_t());
    case Dtype::UInt16:
      return use(uint16_t());
    case Dtype::UInt32:
      return use(uint32_t());
    case Dtype::UInt64:
      return use(uint64_t());
    case Dtype::Float32:
      return use(float());
    case Dtype::Float64:
      return use(double());
    default:
      return false;
  }
}

template <typename T>
void appendElement(std::string& out, T value) {
  char digits[40];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const std::string_view text(digits, static_cast<size_t>(end - digits));
  out += text;
  if (std::is_floating_point_v<T> && text.find_first_not_of("-0123456789") == std::string_view::npos)
    out += ".0";
}

template <typename T>
bool readElement(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at == end;
}

bool readElement(std::string_view text, bool& value) {
  value = text == "True";
  return value || text == "False";
}

}  // namespace

std::optional<uint64_t> elementBytes(const TensorMeta& meta) {
  if (meta.layout != Layout::Strided || meta.storageOffset.isSymbolic() || meta.storageOffset.value() != 0)
    return std::nullopt;
  uint64_t bytes = elementSize(meta.dtype);
  for (const SymInt& size : meta.sizes) {
    if (size.isSymbolic() || size.value() < 0) return std::nullopt;
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size.value()), &bytes)) return std::nullopt;
  }
  if (bytes > uint64_t{1} << 40) return std::nullopt;
  // Strides of sizes that are all small enough do not overflow, but a size of 0 hides large ones.
  if (bytes != 0 && contiguousTensor(meta.dtype, meta.sizes).strides != meta.strides) return std::nullopt;
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

bool appendElementTexts(std::string& out, Dtype dtype, std::string_view bytes) {
  return withElementType(dtype, [&](auto kind) {
    using T = decltype(kind);
    for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      if (at != 0) out += ", ";
      if constexpr (std::is_same_v<T, bool>) {
        const char byte = bytes[at];
        if (byte != 0 && byte != 1) return false;
        out += byte != 0 ? "True" : "False";
      } else {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if constexpr (std::is_floating_point_v<T>) {
          if (std::isnan(value)) return false;
        }
        appendElement(out, value);
      }
    }
    return true;
  });
}

bool appendElementOf(std::string& bytes, Dtype dtype, std::string_view text) {
  return withElementType(dtype, [&](auto kind) {
    using T = decltype(kind);
    T value = T();
    if (!readElement(text, value)) return false;
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
    return true;
  });
}

}  // namespace edgefx::detail

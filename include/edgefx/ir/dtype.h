#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace edgefx {

// Element types, layouts and memory formats under the numbers of the .pt2 schema. They differ from those of
// c10::ScalarType, c10::Layout and c10::MemoryFormat: never cast between them.
enum class Dtype : uint8_t {
  Unknown = 0,
  UInt8 = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Complex32 = 9,
  Complex64 = 10,
  Complex128 = 11,
  Bool = 12,
  BFloat16 = 13,
  UInt16 = 28,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
  Float8E4M3FNUZ = 31,
  Float8E5M2FNUZ = 32,
  Float8E8M0FNU = 33,
  UInt32 = 34,
  UInt64 = 35,
};

enum class Layout : uint8_t {
  Unknown = 0,
  SparseCoo = 1,
  SparseCsr = 2,
  SparseCsc = 3,
  SparseBsr = 4,
  SparseBsc = 5,
  Mkldnn = 6,
  Strided = 7,
};

enum class MemoryFormat : uint8_t {
  Unknown = 0,
  Contiguous = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3,
  Preserve = 4,
};

// Python's text, such as "torch.float32", "torch.strided", "torch.channels_last". Unknown and numbers outside
// the enum give "torch.unknown".
std::string_view fxText(Dtype dtype);
std::string_view fxText(Layout layout);
std::string_view fxText(MemoryFormat format);

// The value with that schema number; nullopt for Unknown (0) and for every number not listed.
std::optional<Dtype> dtypeFromNumber(int64_t number);
std::optional<Layout> layoutFromNumber(int64_t number);
std::optional<MemoryFormat> memoryFormatFromNumber(int64_t number);

// Reads the canonical name with or without "torch."; nullopt for other text, aliases such as "float"
// included.
std::optional<Dtype> dtypeFromFxText(std::string_view text);
std::optional<Layout> layoutFromFxText(std::string_view text);
std::optional<MemoryFormat> memoryFormatFromFxText(std::string_view text);

// Bytes of one element; 0 for Unknown.
size_t elementSize(Dtype dtype);

bool isFloatingPoint(Dtype dtype);  // the 8-bit and 16-bit floats included, complex not
bool isComplex(Dtype dtype);
bool isIntegral(Dtype dtype);  // Bool not included

}  // namespace edgefx

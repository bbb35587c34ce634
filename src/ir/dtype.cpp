#include <edgefx/ir/dtype.h>

#include <array>

namespace edgefx {
namespace {

constexpr std::string_view kTorchPrefix = "torch.";
constexpr std::string_view kUnknownText = "torch.unknown";

enum class Family : uint8_t { Integral, Floating, Complex, Bool };

struct DtypeRow {
  Dtype dtype;
  std::string_view text;
  uint8_t size;
  Family family;
};

constexpr DtypeRow kDtypes[] = {
    {Dtype::UInt8, "torch.uint8", 1, Family::Integral},
    {Dtype::Int8, "torch.int8", 1, Family::Integral},
    {Dtype::Int16, "torch.int16", 2, Family::Integral},
    {Dtype::Int32, "torch.int32", 4, Family::Integral},
    {Dtype::Int64, "torch.int64", 8, Family::Integral},
    {Dtype::Float16, "torch.float16", 2, Family::Floating},
    {Dtype::Float32, "torch.float32", 4, Family::Floating},
    {Dtype::Float64, "torch.float64", 8, Family::Floating},
    {Dtype::Complex32, "torch.complex32", 4, Family::Complex},
    {Dtype::Complex64, "torch.complex64", 8, Family::Complex},
    {Dtype::Complex128, "torch.complex128", 16, Family::Complex},
    {Dtype::Bool, "torch.bool", 1, Family::Bool},
    {Dtype::BFloat16, "torch.bfloat16", 2, Family::Floating},
    {Dtype::UInt16, "torch.uint16", 2, Family::Integral},
    {Dtype::Float8E4M3FN, "torch.float8_e4m3fn", 1, Family::Floating},
    {Dtype::Float8E5M2, "torch.float8_e5m2", 1, Family::Floating},
    {Dtype::Float8E4M3FNUZ, "torch.float8_e4m3fnuz", 1, Family::Floating},
    {Dtype::Float8E5M2FNUZ, "torch.float8_e5m2fnuz", 1, Family::Floating},
    {Dtype::Float8E8M0FNU, "torch.float8_e8m0fnu", 1, Family::Floating},
    {Dtype::UInt32, "torch.uint32", 4, Family::Integral},
    {Dtype::UInt64, "torch.uint64", 8, Family::Integral},
};

constexpr size_t kNumberEnd = static_cast<size_t>(Dtype::UInt64) + 1;
constexpr int8_t kNoRow = -1;

constexpr std::array<int8_t, kNumberEnd> rowsByNumber() {
  std::array<int8_t, kNumberEnd> rows{};
  for (int8_t& row : rows) row = kNoRow;
  int8_t next = 0;
  for (const DtypeRow& row : kDtypes) rows[static_cast<size_t>(row.dtype)] = next++;
  return rows;
}

constexpr std::array<int8_t, kNumberEnd> kRowsByNumber = rowsByNumber();

const DtypeRow* findRow(uint64_t number) {
  if (number >= kNumberEnd || kRowsByNumber[number] == kNoRow) return nullptr;
  return &kDtypes[kRowsByNumber[number]];
}

const DtypeRow* findRow(Dtype dtype) {
  return findRow(static_cast<uint64_t>(dtype));
}

bool isOf(Dtype dtype, Family family) {
  const DtypeRow* row = findRow(dtype);
  return row != nullptr && row->family == family;
}

// Indexed by schema number.
constexpr std::string_view kLayoutTexts[] = {
    kUnknownText,       "torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc",
    "torch.sparse_bsr", "torch.sparse_bsc", "torch._mkldnn",    "torch.strided",
};

constexpr std::string_view kMemoryFormatTexts[] = {
    kUnknownText,
    "torch.contiguous_format",
    "torch.channels_last",
    "torch.channels_last_3d",
    "torch.preserve_format",
};

bool matches(std::string_view fullText, std::string_view text) {
  return text == fullText || text == fullText.substr(kTorchPrefix.size());
}

template <typename Enum, size_t kCount>
std::string_view textOf(const std::string_view (&texts)[kCount], Enum value) {
  const auto number = static_cast<size_t>(value);
  return number < kCount ? texts[number] : kUnknownText;
}

template <typename Enum, size_t kCount>
std::optional<Enum> fromNumber(const std::string_view (&)[kCount], int64_t number) {
  if (number <= 0 || number >= static_cast<int64_t>(kCount)) return std::nullopt;
  return static_cast<Enum>(number);
}

template <typename Enum, size_t kCount>
std::optional<Enum> fromText(const std::string_view (&texts)[kCount], std::string_view text) {
  for (size_t number = 1; number < kCount; ++number) {
    if (matches(texts[number], text)) return static_cast<Enum>(number);
  }
  return std::nullopt;
}

}  // namespace

std::string_view fxText(Dtype dtype) {
  const DtypeRow* row = findRow(dtype);
  return row == nullptr ? kUnknownText : row->text;
}

std::string_view fxText(Layout layout) {
  return textOf(kLayoutTexts, layout);
}

std::string_view fxText(MemoryFormat format) {
  return textOf(kMemoryFormatTexts, format);
}

std::optional<Dtype> dtypeFromNumber(int64_t number) {
  if (number < 0) return std::nullopt;
  const DtypeRow* row = findRow(static_cast<uint64_t>(number));
  if (row == nullptr) return std::nullopt;
  return row->dtype;
}

std::optional<Layout> layoutFromNumber(int64_t number) {
  return fromNumber<Layout>(kLayoutTexts, number);
}

std::optional<MemoryFormat> memoryFormatFromNumber(int64_t number) {
  return fromNumber<MemoryFormat>(kMemoryFormatTexts, number);
}

std::optional<Dtype> dtypeFromFxText(std::string_view text) {
  for (const DtypeRow& row : kDtypes) {
    if (matches(row.text, text)) return row.dtype;
  }
  return std::nullopt;
}

std::optional<Layout> layoutFromFxText(std::string_view text) {
  return fromText<Layout>(kLayoutTexts, text);
}

std::optional<MemoryFormat> memoryFormatFromFxText(std::string_view text) {
  return fromText<MemoryFormat>(kMemoryFormatTexts, text);
}

size_t elementSize(Dtype dtype) {
  const DtypeRow* row = findRow(dtype);
  return row == nullptr ? 0 : row->size;
}

bool isFloatingPoint(Dtype dtype) {
  return isOf(dtype, Family::Floating);
}

bool isComplex(Dtype dtype) {
  return isOf(dtype, Family::Complex);
}

bool isIntegral(Dtype dtype) {
  return isOf(dtype, Family::Integral);
}

}  // namespace edgefx

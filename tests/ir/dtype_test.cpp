#include <edgefx/ir/dtype.h>

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace edgefx {
namespace {

struct Expected {
  int64_t number;
  Dtype dtype;
  const char* text;
  size_t size;
  char family;  // i, f, c or b
};

constexpr Expected kExpected[] = {
    {1, Dtype::UInt8, "torch.uint8", 1, 'i'},
    {2, Dtype::Int8, "torch.int8", 1, 'i'},
    {3, Dtype::Int16, "torch.int16", 2, 'i'},
    {4, Dtype::Int32, "torch.int32", 4, 'i'},
    {5, Dtype::Int64, "torch.int64", 8, 'i'},
    {6, Dtype::Float16, "torch.float16", 2, 'f'},
    {7, Dtype::Float32, "torch.float32", 4, 'f'},
    {8, Dtype::Float64, "torch.float64", 8, 'f'},
    {9, Dtype::Complex32, "torch.complex32", 4, 'c'},
    {10, Dtype::Complex64, "torch.complex64", 8, 'c'},
    {11, Dtype::Complex128, "torch.complex128", 16, 'c'},
    {12, Dtype::Bool, "torch.bool", 1, 'b'},
    {13, Dtype::BFloat16, "torch.bfloat16", 2, 'f'},
    {28, Dtype::UInt16, "torch.uint16", 2, 'i'},
    {29, Dtype::Float8E4M3FN, "torch.float8_e4m3fn", 1, 'f'},
    {30, Dtype::Float8E5M2, "torch.float8_e5m2", 1, 'f'},
    {31, Dtype::Float8E4M3FNUZ, "torch.float8_e4m3fnuz", 1, 'f'},
    {32, Dtype::Float8E5M2FNUZ, "torch.float8_e5m2fnuz", 1, 'f'},
    {33, Dtype::Float8E8M0FNU, "torch.float8_e8m0fnu", 1, 'f'},
    {34, Dtype::UInt32, "torch.uint32", 4, 'i'},
    {35, Dtype::UInt64, "torch.uint64", 8, 'i'},
};

TEST(Dtype, EveryDtypeHasItsNumberTextSizeAndFamily) {
  for (const Expected& row : kExpected) {
    SCOPED_TRACE(row.text);
    EXPECT_EQ(static_cast<int64_t>(row.dtype), row.number);
    EXPECT_EQ(dtypeFromNumber(row.number), row.dtype);
    EXPECT_EQ(fxText(row.dtype), row.text);
    EXPECT_EQ(elementSize(row.dtype), row.size);
    EXPECT_EQ(isIntegral(row.dtype), row.family == 'i');
    EXPECT_EQ(isFloatingPoint(row.dtype), row.family == 'f');
    EXPECT_EQ(isComplex(row.dtype), row.family == 'c');
  }
}

TEST(Dtype, ReadsBackItsTextWithAndWithoutPrefix) {
  for (const Expected& row : kExpected) {
    EXPECT_EQ(dtypeFromFxText(row.text), row.dtype) << row.text;
    EXPECT_EQ(dtypeFromFxText(std::string(row.text).substr(6)), row.dtype) << row.text;
  }
}

TEST(Dtype, RefusesNumbersOutsideTheSchema) {
  std::set<int64_t> known;
  for (const Expected& row : kExpected) known.insert(row.number);
  for (int64_t number = -300; number <= 300; ++number) {
    EXPECT_EQ(dtypeFromNumber(number).has_value(), known.count(number) == 1) << number;
  }
  EXPECT_FALSE(dtypeFromNumber(std::numeric_limits<int64_t>::min()).has_value());
  EXPECT_FALSE(dtypeFromNumber(std::numeric_limits<int64_t>::max()).has_value());
}

TEST(Dtype, RefusesOtherText) {
  for (const char* text : {"", "torch.", "float", "torch.float", "torch.unknown", "unknown", "Float32",
                           "float32 ", "torch.torch.float32", "orch.float32"}) {
    EXPECT_FALSE(dtypeFromFxText(text).has_value()) << text;
  }
}

TEST(Dtype, UnknownHasNoSizeAndNoFamily) {
  for (const Dtype dtype : {Dtype::Unknown, static_cast<Dtype>(14), static_cast<Dtype>(255)}) {
    EXPECT_EQ(fxText(dtype), "torch.unknown");
    EXPECT_EQ(elementSize(dtype), 0u);
    EXPECT_FALSE(isIntegral(dtype) || isFloatingPoint(dtype) || isComplex(dtype));
  }
}

TEST(Layout, NumbersAndTextsAgree) {
  const char* const texts[] = {"torch.sparse_coo", "torch.sparse_csr", "torch.sparse_csc", "torch.sparse_bsr",
                               "torch.sparse_bsc", "torch._mkldnn",    "torch.strided"};
  int64_t number = 1;
  for (const char* text : texts) {
    const std::optional<Layout> layout = layoutFromNumber(number++);
    ASSERT_TRUE(layout.has_value()) << text;
    EXPECT_EQ(fxText(*layout), text);
    EXPECT_EQ(layoutFromFxText(text), layout);
    EXPECT_EQ(layoutFromFxText(std::string_view(text).substr(6)), layout);
  }
  EXPECT_EQ(layoutFromNumber(7), Layout::Strided);
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{8}, int64_t{256 + 7}}) {
    EXPECT_FALSE(layoutFromNumber(bad).has_value()) << bad;
  }
  EXPECT_FALSE(layoutFromFxText("unknown").has_value());
  EXPECT_EQ(fxText(Layout::Unknown), "torch.unknown");
  EXPECT_EQ(fxText(static_cast<Layout>(8)), "torch.unknown");
}

TEST(MemoryFormat, NumbersAndTextsAgree) {
  const char* const texts[] = {"torch.contiguous_format", "torch.channels_last", "torch.channels_last_3d",
                               "torch.preserve_format"};
  int64_t number = 1;
  for (const char* text : texts) {
    const std::optional<MemoryFormat> format = memoryFormatFromNumber(number++);
    ASSERT_TRUE(format.has_value()) << text;
    EXPECT_EQ(fxText(*format), text);
    EXPECT_EQ(memoryFormatFromFxText(text), format);
    EXPECT_EQ(memoryFormatFromFxText(std::string_view(text).substr(6)), format);
  }
  EXPECT_EQ(memoryFormatFromNumber(1), MemoryFormat::Contiguous);
  EXPECT_EQ(memoryFormatFromNumber(4), MemoryFormat::Preserve);
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{5}}) {
    EXPECT_FALSE(memoryFormatFromNumber(bad).has_value()) << bad;
  }
  EXPECT_FALSE(memoryFormatFromFxText("torch.contiguous").has_value());
  EXPECT_EQ(fxText(MemoryFormat::Unknown), "torch.unknown");
}

}  // namespace
}  // namespace edgefx

#include "support/strided_extent.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace edgefx::detail {
namespace {

using Numbers = std::vector<int64_t>;

TEST(StridedExtent, CountsUpToTheFarthestElement) {
  EXPECT_EQ(storageBytesNeeded(Numbers{}, Numbers{}, 0, 4), 4u);
  EXPECT_EQ(storageBytesNeeded(Numbers{}, Numbers{}, 3, 8), 32u);
  EXPECT_EQ(storageBytesNeeded(Numbers{4, 6}, Numbers{6, 1}, 0, 4), 96u);
  EXPECT_EQ(storageBytesNeeded(Numbers{2, 6}, Numbers{6, 1}, 6, 4), 72u);
  EXPECT_EQ(storageBytesNeeded(Numbers{6, 4}, Numbers{1, 6}, 0, 4), 96u);
  EXPECT_EQ(storageBytesNeeded(Numbers{4, 3}, Numbers{0, 1}, 0, 4), 12u);  // expanded
}

TEST(StridedExtent, NoElementsNeedNoBytes) {
  EXPECT_EQ(storageBytesNeeded(Numbers{3, 0}, Numbers{1, 1}, 1000, 4), 0u);
}

TEST(StridedExtent, RefusesNumbersThatCannotBe) {
  auto error = [](Numbers sizes, Numbers strides, int64_t offset) {
    return test::errorOf<ParseError>([&] { storageBytesNeeded(sizes, strides, offset, 4); });
  };
  EXPECT_EQ(error({2}, {1, 1}, 0), "edgefx: 1 sizes and 2 strides, expected as many");
  EXPECT_EQ(error({-1}, {1}, 0), "edgefx: negative number in sizes [-1], strides [1], offset 0");
  EXPECT_EQ(error({2}, {-1}, 0), "edgefx: negative number in sizes [2], strides [-1], offset 0");
  EXPECT_EQ(error({2}, {1}, -1), "edgefx: negative number in sizes [2], strides [1], offset -1");
}

TEST(StridedExtent, RefusesOverflow) {
  auto overflows = [](Numbers sizes, Numbers strides, int64_t offset) {
    return test::errorOf<ParseError>([&] { storageBytesNeeded(sizes, strides, offset, 4); })
        .starts_with("edgefx: overflow in sizes");
  };
  EXPECT_TRUE(overflows({}, {}, INT64_MAX));
  EXPECT_TRUE(overflows({}, {}, INT64_MAX / 4));
  EXPECT_FALSE(overflows({}, {}, INT64_MAX / 4 - 1));
  EXPECT_TRUE(overflows({3}, {INT64_MAX}, 0));
  EXPECT_TRUE(overflows({int64_t{1} << 40, int64_t{1} << 40}, {0, 0}, 0));  // element count
  EXPECT_TRUE(overflows({int64_t{1} << 40, int64_t{1} << 40, 0}, {1, 1, 1}, 0));
}

}  // namespace
}  // namespace edgefx::detail

#include "serialization/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace edgefx::detail {
namespace {

uint32_t zlibsCrc(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(::crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

TEST(Crc32, IsThatOfZlibAtAnyLengthAndAlignment) {
  std::mt19937 draw(7);
  std::vector<std::byte> bytes(700);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw());
  const std::span<const std::byte> all(bytes);
  for (size_t start = 0; start < 17; ++start) {
    for (size_t size = 0; start + size <= all.size(); ++size) {
      const auto part = all.subspan(start, size);
      ASSERT_EQ(crc32Of(part), size == 0 ? 0u : zlibsCrc(part)) << size << " bytes from " << start;
    }
  }
}

TEST(Crc32, IsThatOfZlibForLongBytes) {
  std::mt19937 draw(11);
  std::vector<std::byte> bytes((size_t{1} << 20) + 13);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(draw());
  EXPECT_EQ(crc32Of(bytes), zlibsCrc(bytes));
  const std::vector<std::byte> zeros(100'000), ones(100'000, std::byte{0xff});
  EXPECT_EQ(crc32Of(zeros), zlibsCrc(zeros));
  EXPECT_EQ(crc32Of(ones), zlibsCrc(ones));
}

TEST(Crc32, OfNothingIsZero) {
  EXPECT_EQ(crc32Of({}), 0u);
}

}  // namespace
}  // namespace edgefx::detail

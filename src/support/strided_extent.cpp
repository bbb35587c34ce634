#include "support/strided_extent.h"

#include <edgefx/support/error.h>

#include "support/fail.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace edgefx::detail {

uint64_t storageBytesNeeded(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset,
                            size_t elementSize) {
  if (sizes.size() != strides.size()) {
    fail<ParseError>("{} sizes and {} strides, expected as many", sizes.size(), strides.size());
  }
  auto isNegative = [](int64_t value) { return value < 0; };
  if (offset < 0 || std::any_of(sizes.begin(), sizes.end(), isNegative) ||
      std::any_of(strides.begin(), strides.end(), isNegative)) {
    fail<ParseError>("negative number in sizes [{}], strides [{}], offset {}", fmt::join(sizes, ", "),
                     fmt::join(strides, ", "), offset);
  }

  bool isEmpty = false;
  bool overflows = false;
  int64_t count = 1;      // product of the sizes that are not 0
  int64_t last = offset;  // index of the farthest element
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) {
      isEmpty = true;
      continue;
    }
    int64_t step = 0;
    overflows |= __builtin_mul_overflow(count, sizes[i], &count);
    overflows |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step);
    overflows |= __builtin_add_overflow(last, step, &last);
  }
  int64_t bytes = 0;
  overflows |= __builtin_add_overflow(last, int64_t{1}, &last);
  overflows |= __builtin_mul_overflow(last, static_cast<int64_t>(elementSize), &bytes);
  overflows |= __builtin_mul_overflow(count, static_cast<int64_t>(elementSize), &count);
  if (overflows) {
    fail<ParseError>("overflow in sizes [{}], strides [{}], offset {} of elements of {} bytes",
                     fmt::join(sizes, ", "), fmt::join(strides, ", "), offset, elementSize);
  }
  return isEmpty ? 0 : static_cast<uint64_t>(bytes);
}

}  // namespace edgefx::detail

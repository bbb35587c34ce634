#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace edgefx::detail {

// Bytes of storage, from its start, that a strided tensor touches: 0 if it has no elements. `offset` and
// `strides` count elements. Throws ParseError, with the numbers, if the ranks differ, a number is negative,
// or the element count or the extent does not fit 63 bits.
uint64_t storageBytesNeeded(std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset,
                            size_t elementSize);

}  // namespace edgefx::detail

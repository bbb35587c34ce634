#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace edgefx::detail {

// The CRC-32 of zip files, as zlib's crc32() gives it. O(bytes); by carry-less multiplication where the
// machine has it, which takes a fifth of the time.
uint32_t crc32Of(std::span<const std::byte> bytes);

}  // namespace edgefx::detail

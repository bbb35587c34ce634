#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace edgefx::test {

// SHA-256 (FIPS 180-4) as 64 lower-case hex digits: the corpus identifies the bytes of tensors by it.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace edgefx::test

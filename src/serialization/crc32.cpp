#include "serialization/crc32.h"

#include <zlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace edgefx::detail {
namespace {

#ifdef __x86_64__
// Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009),
// with its constants for the bit-reflected polynomial 0x04c11db7: four lanes of 16 bytes are folded over the
// text, then into one, which Barrett's method reduces to 32 bits.
constexpr size_t kLane = 16, kCrcBlock = 4 * kLane;

[[gnu::target("pclmul,sse4.1")]] __m128i laneAt(const std::byte* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

[[gnu::target("pclmul,sse4.1")]] __m128i fold(__m128i lane, __m128i factors, __m128i next) {
  const __m128i low = _mm_clmulepi64_si128(lane, factors, 0x00);
  const __m128i high = _mm_clmulepi64_si128(lane, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

// Goes on from `crc` over `size` bytes: at least a block, in whole lanes.
[[gnu::target("pclmul,sse4.1")]] uint32_t foldedCrc(uint32_t crc, const std::byte* at, size_t size) {
  const __m128i byBlock = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i byLane = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const __m128i byHalf = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i polynomial = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i evenWords = _mm_setr_epi32(~0, 0, ~0, 0);

  __m128i lanes[4];
  for (size_t i = 0; i < 4; ++i) lanes[i] = laneAt(at + i * kLane);
  lanes[0] = _mm_xor_si128(lanes[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  for (at += kCrcBlock, size -= kCrcBlock; size >= kCrcBlock; at += kCrcBlock, size -= kCrcBlock) {
    for (size_t i = 0; i < 4; ++i) lanes[i] = fold(lanes[i], byBlock, laneAt(at + i * kLane));
  }
  __m128i one = lanes[0];
  for (size_t i = 1; i < 4; ++i) one = fold(one, byLane, lanes[i]);
  for (; size >= kLane; at += kLane, size -= kLane) one = fold(one, byLane, laneAt(at));

  one = _mm_xor_si128(_mm_srli_si128(one, 8), _mm_clmulepi64_si128(one, byLane, 0x10));
  one = _mm_xor_si128(_mm_srli_si128(one, 4),
                      _mm_clmulepi64_si128(_mm_and_si128(one, evenWords), byHalf, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(one, evenWords), polynomial, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, evenWords), polynomial, 0x00);
  return ~static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(one, quotient), 1));
}
#endif

}  // namespace

uint32_t crc32Of(std::span<const std::byte> bytes) {
  uint32_t crc = 0;
#ifdef __x86_64__
  static const bool canFold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (canFold && bytes.size() >= kCrcBlock) {
    const size_t folded = bytes.size() / kLane * kLane;
    crc = foldedCrc(crc, bytes.data(), folded);
    bytes = bytes.subspan(folded);
  }
#endif
  if (bytes.empty()) return crc;  // zlib takes a null pointer for a request of the first value
  return static_cast<uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace edgefx::detail

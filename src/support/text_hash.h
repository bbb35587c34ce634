#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace edgefx::detail {

// Differs from process to process, so that no file can be made whose names collide. Nothing that is written
// out may depend on the order of a hash table.
uint64_t hashSeed();

// For names: fast on short text, all bits of the result usable.
inline uint64_t hashText(std::string_view text) {
  __extension__ typedef unsigned __int128 Product;
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  const uint64_t seed = hashSeed();
  uint64_t hash = seed + text.size() * kMultiplier;
  // Both halves of the product: the last characters of a name are the upper bits of a word, and touch the
  // upper half only.
  auto mix = [&hash](uint64_t word) {
    const auto product = static_cast<Product>(hash ^ word) * kMultiplier;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  const char* at = text.data();
  size_t left = text.size();
  auto mixWordAt = [&mix](const char* from) {
    uint64_t word;
    std::memcpy(&word, from, 8);
    mix(word);
  };
  if (left < 8) {
    uint64_t few = 0;
    for (size_t i = 0; i < left; ++i) few = few << 8 | static_cast<unsigned char>(at[i]);
    mix(few);
    return hash;
  }
  // Long text: two words for one multiplication. No file can cancel the seed.
  for (; left > 24; at += 16, left -= 16) {
    uint64_t words[2];
    std::memcpy(words, at, 16);
    const auto product = static_cast<Product>(words[0] ^ seed) * (words[1] ^ hash);
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  for (; left > 8; at += 8, left -= 8) mixWordAt(at);
  mixWordAt(at + left - 8);  // overlaps the word before
  return hash;
}

// For numbers beside text.
inline uint64_t hashWord(uint64_t word) {
  __extension__ typedef unsigned __int128 Product;
  const auto product = static_cast<Product>(hashSeed() ^ word) * 0x9e3779b97f4a7c15;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// For unordered containers keyed by text that comes from files.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return hashText(text); }
};

}  // namespace edgefx::detail

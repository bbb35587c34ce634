#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace edgefx::test {

inline std::span<const std::byte> asBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

inline std::string asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text of the error that `call` throws, which must be an E.
template <typename E, typename Call>
std::string errorOf(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("other exception: ") + error.what();
  }
  return "no exception";
}

}  // namespace edgefx::test

#define EXPECT_MENTIONS(error, part) \
  EXPECT_NE((error).find(part), std::string::npos) << "expected '" << (part) << "' in: " << (error)

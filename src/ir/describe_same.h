#pragma once

#include <edgefx/ir/sym_value.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace edgefx::detail {

// Numbers for symbols, to compare expressions by.
struct Assignments {
  static constexpr size_t count = 4;

  // What stands in the place of a wanted number, so that it is one that the symbol may have.
  std::function<int64_t(std::string_view symbol, int64_t wanted)> limit;

  std::optional<int64_t> number(std::string_view name, size_t round) const;
};

// See edgefx::describeSame.
bool describeSame(const ValueMeta* a, const ValueMeta* b, const Assignments& assignments);

}  // namespace edgefx::detail

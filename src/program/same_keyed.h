#pragma once

#include <edgefx/ir/argument.h>

namespace edgefx::detail {

// Whether both have the same keys in the same order, with values that `same` says are equal.
template <typename Same>
bool sameKeyed(const KeyedArguments& a, const KeyedArguments& b, Same&& same) {
  if (a.size() != b.size()) return false;
  auto other = b.begin();
  for (const KeyedArgument item : a) {
    if (item.key != (*other).key || !same(item.value, (*other).value)) return false;
    ++other;
  }
  return true;
}

}  // namespace edgefx::detail

#pragma once

#include <ATen/core/ivalue.h>

#include <utility>
#include <vector>

// Trees of values in few words.
namespace edgefx::test {

inline c10::IValue valueTuple(std::vector<c10::IValue> items) {
  return c10::ivalue::Tuple::create(std::move(items));
}

inline c10::IValue valueList(const std::vector<c10::IValue>& items) {
  c10::impl::GenericList list(c10::AnyType::get());
  for (const c10::IValue& item : items) list.push_back(item);
  return list;
}

inline c10::IValue valueDict(const std::vector<std::pair<c10::IValue, c10::IValue>>& entries) {
  c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
  for (const auto& [key, value] : entries) dict.insert(key, value);
  return dict;
}

}  // namespace edgefx::test

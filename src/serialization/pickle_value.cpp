#include "serialization/pickle_value.h"

#include <iterator>

namespace edgefx::detail {

std::string_view PickleValue::kindName() const {
  static constexpr std::string_view kNames[] = {"None",   "bool",    "int",    "float",  "str",
                                                "list",   "tuple",   "dict",   "tensor", "dtype",
                                                "device", "storage", "global", "class"};
  static_assert(std::size(kNames) == std::variant_size_v<decltype(data)>);
  return kNames[data.index()];
}

}  // namespace edgefx::detail

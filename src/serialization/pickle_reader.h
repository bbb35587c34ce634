#pragma once

#include "serialization/pickle_value.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace edgefx::detail {

// What becomes of objects of classes that the reader does not know.
enum class PickledObjects {
  Refuse,
  Tuples,  // one made of a tuple of fields and nothing else, as a named tuple is, is that tuple
};

// Reads the subset of pickle, protocols 2 to 5, that torch.save makes of tensors, parameters and plain Python
// values. Nothing is ever called: every opcode and every global outside the list is refused, as are
// self-references and nesting beyond 512 levels. O(bytes.size()) in time and memory. Throws ParseError with
// the record's name, the opcode or global, and the offset of the opcode in the pickle.
PickleValue readPickle(std::span<const std::byte> bytes, std::string_view recordLabel,
                       PickledObjects objects = PickledObjects::Refuse);

}  // namespace edgefx::detail

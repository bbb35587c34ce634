#pragma once

#include <edgefx/ir/argument.h>

namespace edgefx::detail {

// The kind of list that a file has for a list or tuple: its hint if its items allow it, otherwise the first
// kind that they allow, Any if there is none. An empty list without a hint is one of tensors in the arguments
// of a higher order operator, of numbers elsewhere.
ListHint listForm(const Argument& list, bool inHigherOrder = false);

// Whether the item makes its list one of tensors.
bool isTensorItem(const Argument& item);

// Whether the list has a hint, and a file would have another kind of list without it.
bool hintMatters(const Argument& list);

}  // namespace edgefx::detail

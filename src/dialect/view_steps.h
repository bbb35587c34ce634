#pragma once

#include "dialect/call_maker.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace edgefx::detail {

// One view: the call that took it and, of a list of views, which one it is. `node` is the view itself.
struct ViewStep {
  const Node* call = nullptr;
  std::optional<int64_t> index;
  const Node* node = nullptr;
};

// The same view of another tensor that stands for the same memory.
Node& retakeView(const ViewStep& step, Node& source, const CallMaker& maker);

// What the viewed tensor holds after the view was written: `value` in the place of what it shows. `source` is
// the tensor as viewed first, for its description; `current` gives its contents before. UnsupportedError for
// views that there is no way back from.
Node& undoView(const ViewStep& step, const Node& source, const std::function<Node&()>& current, Node& value,
               const CallMaker& maker);

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/target.h>

#include <optional>
#include <string_view>

namespace edgefx::detail {

// The operator that copies what this view shows, "aten.view_copy.default" of "aten.view.default", of the ATen
// dialect; nothing if the target is no view that has one. O(log views).
std::optional<Target> viewCopyOf(Target target);

// Whether the target is a view that edge programs call the copy of, or the packet of one. O(views).
bool isViewOrPacket(Target target);

}  // namespace edgefx::detail

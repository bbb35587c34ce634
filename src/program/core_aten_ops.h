#pragma once

#include <string_view>

// What torch 2.14 tags `core` and `view_copy`. Names are Target::name(), "aten.add.Tensor". O(log entries).
namespace edgefx::detail {

// Whether the operator is of the Core ATen opset.
bool isCoreAten(std::string_view op);

// Whether it is of Core ATen and its result shares the memory of its operand.
bool isCoreAtenView(std::string_view op);

// Whether it is a view's functional form, "aten.view_copy.default", which edge programs call instead.
bool isViewCopy(std::string_view op);

}  // namespace edgefx::detail

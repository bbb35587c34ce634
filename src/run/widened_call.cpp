#include "run/widened_call.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace edgefx::detail {
namespace {

bool isNarrow(const c10::IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined()) return false;
  const at::ScalarType type = value.toTensor().scalar_type();
  return type == at::kHalf || type == at::kBFloat16;
}

// The value with float32 for narrow types; `found` becomes the type found.
c10::IValue widened(const c10::IValue& value, std::optional<at::ScalarType>& found) {
  if (isNarrow(value)) {
    found = value.toTensor().scalar_type();
    return value.toTensor().to(at::kFloat);
  }
  if (!value.isList()) return value;
  c10::impl::GenericList list(value.toList().elementType());
  for (const c10::IValue& item : value.toListRef()) list.push_back(widened(item, found));
  return list;
}

}  // namespace

bool lacksNarrowType(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return text.find("not implemented for 'Half'") != std::string_view::npos ||
         text.find("not implemented for 'BFloat16'") != std::string_view::npos;
}

void callWidened(const Kernel& kernel, std::vector<c10::IValue>& stack) {
  std::optional<at::ScalarType> narrow;
  for (c10::IValue& argument : stack) argument = widened(argument, narrow);
  kernel.call(stack);
  if (!narrow) return;
  for (c10::IValue& result : stack) {
    if (result.isTensor() && result.toTensor().defined() && result.toTensor().scalar_type() == at::kFloat) {
      result = result.toTensor().to(*narrow);
    }
  }
}

}  // namespace edgefx::detail

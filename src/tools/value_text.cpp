#include "tools/value_text.h"

#include "ir/convert_argument.h"

#include <ATen/core/Tensor.h>
#include <fmt/format.h>

namespace edgefx::tools {

std::string valueText(const c10::IValue& value) {
  std::string text = detail::describe(value);
  if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().numel() == 0) return text;
  const at::Tensor& tensor = value.toTensor();
  if (tensor.is_complex()) return text;
  const at::Tensor numbers = tensor.to(at::kDouble).contiguous().flatten();
  constexpr int64_t kFew = 8;
  if (tensor.numel() <= kFew) {
    const double* data = numbers.data_ptr<double>();
    return fmt::format("{}: {:g}", text, fmt::join(data, data + tensor.numel(), ", "));
  }
  return fmt::format("{}, min {:g}, max {:g}, mean {:g}", text, numbers.min().item().toDouble(),
                     numbers.max().item().toDouble(), numbers.mean().item().toDouble());
}

}  // namespace edgefx::tools

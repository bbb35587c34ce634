#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/empty.h>
#include <fmt/ranges.h>

#include <array>
#include <stdexcept>

namespace edgefx::detail {
namespace {

// The memory format of that order of dimensions, as exir maps them; none for an absent or empty order.
c10::optional<at::MemoryFormat> formatOf(const c10::optional<Ints>& order, int64_t rank) {
  if (!order || order->empty()) return c10::nullopt;
  const auto count = static_cast<int64_t>(order->size());
  if (count != rank) {
    throw std::runtime_error(
        fmt::format("dim_order [{}] is given for a tensor of {} dimensions", fmt::join(*order, ", "), rank));
  }
  bool isContiguous = true, isChannelsLast = count == 4 || count == 5;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = (*order)[static_cast<size_t>(i)];
    isContiguous = isContiguous && at == i;
    isChannelsLast = isChannelsLast && at == (i == 0 ? 0 : i == count - 1 ? 1 : i + 1);
  }
  if (isContiguous) return at::MemoryFormat::Contiguous;
  if (isChannelsLast) return count == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
  throw std::runtime_error(
      fmt::format("Failed to map a given dim_order: [{}] to a torch.memory_format", fmt::join(*order, ", ")));
}

at::Tensor cloneDimOrder(const at::Tensor& self, bool, const c10::optional<Ints>& order) {
  return self.clone(formatOf(order, self.dim()).value_or(at::MemoryFormat::Preserve));
}

at::Tensor emptyDimOrder(const Ints& size, const c10::optional<at::ScalarType>& dtype,
                         const c10::optional<at::Layout>& layout, const c10::optional<c10::Device>& device,
                         const c10::optional<bool>& pinMemory, const c10::optional<Ints>& order) {
  return at::empty(size, dtype, layout, device, pinMemory,
                   formatOf(order, static_cast<int64_t>(size.size())));
}

at::Tensor toDimOrderCopy(const at::Tensor& self, const c10::optional<at::ScalarType>& dtype,
                          const c10::optional<at::Layout>& layout, const c10::optional<c10::Device>& device,
                          const c10::optional<bool>& pinMemory, bool nonBlocking,
                          const c10::optional<Ints>& order) {
  return at::_to_copy(self, dtype, layout, device, pinMemory, nonBlocking,
                      formatOf(order, self.dim()).value_or(at::MemoryFormat::Preserve));
}

}  // namespace

std::span<const EquivalentEntry> dimOrderEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"dim_order_ops._clone_dim_order.default", onStack<&cloneDimOrder>},
      EquivalentEntry{"dim_order_ops._empty_dim_order.default", onStack<&emptyDimOrder>},
      EquivalentEntry{"dim_order_ops._to_dim_order_copy.default", onStack<&toDimOrderCopy>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

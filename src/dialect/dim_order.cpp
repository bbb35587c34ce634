#include "dialect/dim_order.h"

#include <edgefx/ir/node_queries.h>

#include "ir/shape_layout.h"
#include "support/fail.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace edgefx::detail {
namespace {

using Order = std::vector<int64_t>;

std::optional<int64_t> sizeNumber(const SymInt& size) {
  if (!size.isSymbolic()) return size.value();
  const int64_t* hint = std::get_if<int64_t>(&size.symbolic()->hint);
  return hint == nullptr ? std::nullopt : std::optional<int64_t>(*hint);
}

Order contiguousOrder(size_t rank) {
  Order order(rank);
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

Order lastChannelsOrder(size_t rank) {
  Order order = contiguousOrder(rank);
  order.erase(order.begin() + 1);
  order.push_back(1);
  return order;
}

bool surelyHas(const TensorMeta& tensor, MemoryFormat format) {
  try {
    return hasFormat(tensor, format);
  } catch (const ShapeUnknown&) {
    return false;
  }
}

// As torch.Tensor.dim_order: outermost first; dimensions that strides do not tell apart keep their order.
// Orders without memory format, for which exir fails, give way to the plain one.
Order orderOf(const TensorMeta& tensor) {
  const size_t rank = tensor.sizes.size();
  const bool isPlain = surelyHas(tensor, MemoryFormat::Contiguous);
  const bool isChannelsLast = (rank == 4 && surelyHas(tensor, MemoryFormat::ChannelsLast)) ||
                              (rank == 5 && surelyHas(tensor, MemoryFormat::ChannelsLast3d));
  if (isChannelsLast && !isPlain) return lastChannelsOrder(rank);
  if (isPlain && !isChannelsLast) return contiguousOrder(rank);
  std::vector<std::pair<int64_t, int64_t>> form;  // stride and size
  for (size_t i = 0; i < rank; ++i) {
    const std::optional<int64_t> stride = sizeNumber(tensor.strides[i]), size = sizeNumber(tensor.sizes[i]);
    if (!stride || !size) return contiguousOrder(rank);
    form.emplace_back(*stride, *size);
  }
  // 1 if `a` is further out than `b`, -1 if further in, 0 if that cannot be told.
  const auto compare = [&](int64_t a, int64_t b) {
    const auto [strideA, sizeA] = form[static_cast<size_t>(a)];
    const auto [strideB, sizeB] = form[static_cast<size_t>(b)];
    if (strideA == 0 || strideB == 0) return 0;
    if (strideA != strideB) return strideA < strideB ? -1 : 1;
    return sizeA > sizeB ? 1 : 0;
  };
  Order innermostFirst = contiguousOrder(rank);
  std::reverse(innermostFirst.begin(), innermostFirst.end());
  for (size_t i = 1; i < rank; ++i) {
    size_t at = i;
    for (size_t other = i; other-- > 0;) {
      const int compared = compare(innermostFirst[other], innermostFirst[at]);
      if (compared < 0) break;
      if (compared == 0) continue;
      std::swap(innermostFirst[other], innermostFirst[at]);
      at = other;
    }
  }
  std::reverse(innermostFirst.begin(), innermostFirst.end());
  const Order& order = innermostFirst;
  const bool isLastChannels = (rank == 4 || rank == 5) && order == lastChannelsOrder(rank);
  return isLastChannels ? order : contiguousOrder(rank);
}

std::optional<Order> orderOf(const Node& call, MemoryFormat format) {
  const bool isEmpty = call.target().op() == "empty";
  const Argument* const operand = call.findArg(0);
  const TensorMeta* tensor = nullptr;
  size_t rank = 0;
  if (isEmpty) {
    if (operand == nullptr || !operand->isSequence()) return std::nullopt;
    rank = operand->items().size();
  } else {
    tensor = operand == nullptr ? nullptr : tensorMetaOf(operand->findNode());
    if (tensor == nullptr) return std::nullopt;
    rank = tensor->sizes.size();
  }
  switch (format) {
    case MemoryFormat::Contiguous:
      return contiguousOrder(rank);
    case MemoryFormat::ChannelsLast:
    case MemoryFormat::ChannelsLast3d:
      if (rank != (format == MemoryFormat::ChannelsLast ? 4u : 5u)) {
        Diagnostic refused(
            fmt::format("a tensor of {} dimensions has no memory format {}, which the call of '{}' asks for",
                        rank, fxText(format), call.target().name()));
        refused.node = call.name();
        throw UnsupportedError(std::move(refused));
      }
      return lastChannelsOrder(rank);
    case MemoryFormat::Preserve:
    case MemoryFormat::Unknown:
      return isEmpty ? contiguousOrder(rank) : orderOf(*tensor);
  }
  return std::nullopt;
}

std::optional<Target> dimOrderTarget(Target target) {
  static const Target toCopy("dim_order_ops._to_dim_order_copy.default");
  static const Target clone("dim_order_ops._clone_dim_order.default");
  static const Target empty("dim_order_ops._empty_dim_order.default");
  if (target.name() == "aten._to_copy.default") return toCopy;
  if (target.name() == "aten.clone.default") return clone;
  if (target.name() == "aten.empty.memory_format") return empty;
  return std::nullopt;
}

}  // namespace

bool useDimOrder(Node& call) {
  const std::optional<Target> target = dimOrderTarget(call.target());
  if (!target) return false;
  MemoryFormat format = MemoryFormat::Preserve;
  Kwargs kwargs;
  for (const auto [key, value] : call.kwargs()) {
    if (key != "memory_format") {
      kwargs.emplace_back(key, value);
    } else if (value.kind() == ArgumentKind::MemoryFormat) {
      format = value.asMemoryFormat();
    }
  }
  const std::optional<Order> order = orderOf(call, format);
  if (!order) return false;
  kwargs.emplace_back("dim_order", Arg::list(Arg::List(order->begin(), order->end())));
  call.setKwargs(kwargs);
  call.setTarget(*target);
  return true;
}

}  // namespace edgefx::detail

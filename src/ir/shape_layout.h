#pragma once

#include "ir/shape_call.h"

#include <span>
#include <vector>

// How PyTorch lays out results. Functions throw ShapeUnknown where symbolic sizes leave it open.
namespace edgefx::detail {

using TensorMetas = std::span<const TensorMeta* const>;

SymInt elementCount(std::span<const SymInt> sizes);

Dims contiguousStrides(std::span<const SymInt> sizes);
// Of dimensions laid out in this order, the first one outermost.
Dims orderedStrides(std::span<const SymInt> sizes, std::span<const size_t> order);
// Strides of a memory format: ChannelsLast for 4 dimensions, ChannelsLast3d for 5, and contiguous.
Dims formatStrides(const ShapeCall& call, std::span<const SymInt> sizes, MemoryFormat format);

bool isContiguous(const TensorMeta& tensor);
bool hasFormat(const TensorMeta& tensor, MemoryFormat format);
// Whether the elements lie side by side, in any order of dimensions.
bool isDense(const TensorMeta& tensor);
// What at::Tensor::suggest_memory_format says.
MemoryFormat suggestedFormat(const TensorMeta& tensor);

// The sizes that all broadcast to; UsageError if they do not.
Dims broadcast(const ShapeCall& call, std::span<const Dims> shapes);
Dims broadcast(const ShapeCall& call, TensorMetas tensors);

// Strides of what an elementwise operator makes of such inputs: the order of dimensions that they have in
// common.
Dims elementwiseStrides(std::span<const SymInt> sizes, TensorMetas inputs);
// Strides of a copy that keeps the order of dimensions, as empty_like makes it.
Dims preservedStrides(const TensorMeta& tensor);

// A new contiguous tensor on the device of `source`.
TensorMeta contiguousLike(const TensorMeta& source, Dtype dtype, Dims sizes);
// A new tensor with this format on the device of `source`.
TensorMeta formatted(const ShapeCall& call, const TensorMeta& source, Dtype dtype, Dims sizes,
                     MemoryFormat format);
// A new tensor of the same sizes; `format` may be Preserve.
TensorMeta copied(const ShapeCall& call, const TensorMeta& source, Dtype dtype, MemoryFormat format);

inline ValueRef valueOf(TensorMeta tensor) {
  return ValueMeta::of(std::move(tensor));
}
ValueRef valuesOf(std::vector<TensorMeta> tensors, bool isList = false);

}  // namespace edgefx::detail

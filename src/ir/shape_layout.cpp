#include "ir/shape_layout.h"

#include "ir/sym_arith.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace edgefx::detail {
namespace {

bool isNumber(const SymInt& size, int64_t value) {
  return !size.isSymbolic() && size.value() == value;
}

int compareKnown(const SymInt& a, const SymInt& b) {
  const std::optional<int> sign = symCompare(a, b);
  if (!sign) throw ShapeUnknown();
  return *sign;
}

// Equal for every dimension that has more than one element.
bool sameStrides(const TensorMeta& tensor, std::span<const SymInt> strides) {
  for (size_t i = 0; i < strides.size(); ++i) {
    if (!isNumber(tensor.sizes[i], 1) && !symEqual(tensor.strides[i], strides[i])) return false;
  }
  return true;
}

bool isEmptyTensor(const TensorMeta& tensor) {
  return std::ranges::any_of(tensor.sizes, [](const SymInt& size) { return isNumber(size, 0); });
}

constexpr std::array<size_t, 4> kChannelsLastOrder = {0, 2, 3, 1};
constexpr std::array<size_t, 5> kChannelsLast3dOrder = {0, 2, 3, 4, 1};

std::span<const size_t> channelsLastOrder(size_t rank) {
  if (rank == kChannelsLastOrder.size()) return kChannelsLastOrder;
  return kChannelsLast3dOrder;
}

// is_channels_last_strides_2d and _3d of LibTorch: by strides alone, whether or not the tensor is dense.
bool looksChannelsLast(const TensorMeta& tensor) {
  const std::span<const size_t> order = channelsLastOrder(tensor.sizes.size());
  if (isNumber(tensor.strides[1], 0)) return false;
  SymInt least(0);
  for (size_t i = order.size(); i-- > 0;) {
    const size_t dim = order[i];
    if (isNumber(tensor.sizes[dim], 0)) return false;
    if (compareKnown(tensor.strides[dim], least) < 0) return false;
    if (dim == 0 && symEqual(least, tensor.strides[1])) return false;
    least = tensor.strides[dim];
    if (!isNumber(tensor.sizes[dim], 1)) least = symMul(least, tensor.sizes[dim]);
  }
  return true;
}

// Strides of an operand over the dimensions of the result, 0 where it is repeated.
Dims broadcastStrides(const TensorMeta& tensor, std::span<const SymInt> sizes) {
  Dims strides(sizes.size(), SymInt(0));
  const size_t lead = sizes.size() - tensor.sizes.size();
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    const bool isRepeated = isNumber(tensor.sizes[i], 1) && !isNumber(sizes[lead + i], 1);
    if (!isRepeated) strides[lead + i] = tensor.strides[i];
  }
  return strides;
}

// Whether dimension a lies inside dimension b (-1) or outside of it (1), for the first operand that tells; 0
// if none.
int compareDimensions(std::span<const Dims> operands, std::span<const SymInt> sizes, size_t a, size_t b) {
  for (const Dims& strides : operands) {
    if (isNumber(strides[a], 0) || isNumber(strides[b], 0)) continue;
    const int order = compareKnown(strides[a], strides[b]);
    if (order != 0) return order;
    if (compareKnown(sizes[a], sizes[b]) > 0) return 1;
  }
  return 0;
}

}  // namespace

SymInt elementCount(std::span<const SymInt> sizes) {
  SymInt count(1);
  for (const SymInt& size : sizes) count = symMul(count, size);
  return count;
}

Dims orderedStrides(std::span<const SymInt> sizes, std::span<const size_t> order) {
  Dims strides(sizes.size());
  SymInt stride(1);
  for (size_t i = order.size(); i-- > 0;) {
    const SymInt& size = sizes[order[i]];
    strides[order[i]] = stride;
    if (size.isSymbolic() || size.value() > 1) stride = symMul(stride, size);
  }
  return strides;
}

Dims contiguousStrides(std::span<const SymInt> sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return orderedStrides(sizes, order);
}

Dims formatStrides(const ShapeCall& call, std::span<const SymInt> sizes, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Contiguous:
      return contiguousStrides(sizes);
    case MemoryFormat::ChannelsLast:
    case MemoryFormat::ChannelsLast3d: {
      const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
      if (sizes.size() != rank) {
        call.fail("expected {} dimensions for {}, found sizes {}", rank, fxText(format), dimsText(sizes));
      }
      return orderedStrides(sizes, channelsLastOrder(rank));
    }
    case MemoryFormat::Preserve:
    case MemoryFormat::Unknown:
      break;
  }
  throw ShapeUnknown();
}

bool isContiguous(const TensorMeta& tensor) {
  return isEmptyTensor(tensor) || sameStrides(tensor, contiguousStrides(tensor.sizes));
}

bool hasFormat(const TensorMeta& tensor, MemoryFormat format) {
  if (format == MemoryFormat::Contiguous) return isContiguous(tensor);
  const size_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
  return tensor.sizes.size() == rank &&
         sameStrides(tensor, orderedStrides(tensor.sizes, channelsLastOrder(rank)));
}

bool isDense(const TensorMeta& tensor) {
  if (isContiguous(tensor)) return true;
  std::vector<size_t> order;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    if (!isNumber(tensor.sizes[i], 1)) order.push_back(i);
  }
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return compareKnown(tensor.strides[a], tensor.strides[b]) > 0; });
  return sameStrides(tensor, orderedStrides(tensor.sizes, order));
}

MemoryFormat suggestedFormat(const TensorMeta& tensor) {
  const size_t rank = tensor.sizes.size();
  if ((rank != 4 && rank != 5) || !looksChannelsLast(tensor)) return MemoryFormat::Contiguous;
  return rank == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

Dims broadcast(const ShapeCall& call, std::span<const Dims> shapes) {
  size_t rank = 0;
  for (const Dims& shape : shapes) rank = std::max(rank, shape.size());
  Dims common(rank, SymInt(1));
  for (const Dims& shape : shapes) {
    for (size_t i = 0; i < shape.size(); ++i) {
      SymInt& place = common[rank - shape.size() + i];
      const SymInt& size = shape[i];
      if (isNumber(size, 1) || symEqual(place, size)) continue;
      if (isNumber(place, 1)) {
        place = size;
      } else if (place.isSymbolic() && size.isSymbolic()) {
        throw ShapeUnknown();
      } else if (place.isSymbolic()) {
        place = size;  // the symbolic one is the same number, or 1
      } else if (!size.isSymbolic()) {
        std::string all;
        for (const Dims& other : shapes) all += (all.empty() ? "" : " and ") + dimsText(other);
        call.fail("expected shapes that broadcast, found {}", all);
      }
    }
  }
  return common;
}

Dims broadcast(const ShapeCall& call, TensorMetas tensors) {
  std::vector<Dims> shapes;
  shapes.reserve(tensors.size());
  for (const TensorMeta* tensor : tensors) shapes.push_back(tensor->sizes);
  return broadcast(call, shapes);
}

// TensorIterator's order of dimensions.
Dims elementwiseStrides(std::span<const SymInt> sizes, TensorMetas inputs) {
  const bool haveSameSizes = std::ranges::all_of(
      inputs, [&](const TensorMeta* input) { return std::ranges::equal(input->sizes, sizes, symEqual); });
  if (haveSameSizes && !inputs.empty()) {
    const auto allHave = [&](MemoryFormat format) {
      return std::ranges::all_of(inputs, [&](const TensorMeta* input) { return hasFormat(*input, format); });
    };
    if (allHave(MemoryFormat::Contiguous)) return contiguousStrides(sizes);
    if (sizes.size() == 4 && allHave(MemoryFormat::ChannelsLast))
      return orderedStrides(sizes, kChannelsLastOrder);
    const TensorMeta& first = *inputs.front();
    const bool haveSameStrides = std::ranges::all_of(inputs, [&](const TensorMeta* input) {
      return std::ranges::equal(input->strides, first.strides, symEqual);
    });
    if (haveSameStrides && isDense(first)) return first.strides;
  }
  std::vector<Dims> operands;
  operands.reserve(inputs.size());
  for (const TensorMeta* input : inputs) operands.push_back(broadcastStrides(*input, sizes));
  std::vector<size_t> innermostFirst(sizes.size());
  std::iota(innermostFirst.rbegin(), innermostFirst.rend(), size_t{0});
  for (size_t i = 1; i < innermostFirst.size(); ++i) {
    size_t at = i;
    for (size_t below = i; below-- > 0;) {
      const int order = compareDimensions(operands, sizes, innermostFirst[below], innermostFirst[at]);
      if (order < 0) break;
      if (order > 0) {
        std::swap(innermostFirst[below], innermostFirst[at]);
        at = below;
      }
    }
  }
  std::ranges::reverse(innermostFirst);
  return orderedStrides(sizes, innermostFirst);
}

Dims preservedStrides(const TensorMeta& tensor) {
  if (isDense(tensor)) return tensor.strides;
  const TensorMeta* const inputs[] = {&tensor};
  return elementwiseStrides(tensor.sizes, inputs);
}

TensorMeta contiguousLike(const TensorMeta& source, Dtype dtype, Dims sizes) {
  TensorMeta made;
  made.dtype = dtype;
  made.device = source.device;
  made.strides = contiguousStrides(sizes);
  made.sizes = std::move(sizes);
  return made;
}

TensorMeta formatted(const ShapeCall& call, const TensorMeta& source, Dtype dtype, Dims sizes,
                     MemoryFormat format) {
  TensorMeta made;
  made.dtype = dtype;
  made.device = source.device;
  made.strides = formatStrides(call, sizes, format);
  made.sizes = std::move(sizes);
  return made;
}

TensorMeta copied(const ShapeCall& call, const TensorMeta& source, Dtype dtype, MemoryFormat format) {
  if (format != MemoryFormat::Preserve) return formatted(call, source, dtype, source.sizes, format);
  TensorMeta made;
  made.dtype = dtype;
  made.device = source.device;
  made.strides = preservedStrides(source);
  made.sizes = source.sizes;
  return made;
}

ValueRef valuesOf(std::vector<TensorMeta> tensors, bool isList) {
  ValueMeta::Sequence values;
  values.isList = isList;
  for (TensorMeta& tensor : tensors) values.elements.push_back(valueOf(std::move(tensor)));
  return ValueMeta::of(std::move(values));
}

}  // namespace edgefx::detail

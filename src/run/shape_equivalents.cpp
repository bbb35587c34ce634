#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>

namespace edgefx::detail {
namespace {

// The dimensions of size 1 among those, last first. Each may be given once.
Ints squeezedDims(const at::Tensor& self, const Ints& dims) {
  Ints ordered;
  for (const int64_t dim : dims) ordered.push_back(c10::maybe_wrap_dim(dim, self.dim()));
  std::sort(ordered.begin(), ordered.end(), std::greater<>());
  if (const auto twice = std::adjacent_find(ordered.begin(), ordered.end()); twice != ordered.end())
    fail<UsageError>("dim {} appears multiple times in the list of dims", *twice);
  if (self.dim() == 0) return {};
  ordered.erase(
      std::remove_if(ordered.begin(), ordered.end(), [&](int64_t dim) { return self.size(dim) != 1; }),
      ordered.end());
  return ordered;
}

at::Tensor squeezeDims(const at::Tensor& self, const Ints& dims) {
  at::Tensor result = self.alias();
  for (const int64_t dim : squeezedDims(self, dims)) result = result.squeeze(dim);
  return result;
}

at::Tensor squeezeCopyDims(const at::Tensor& self, const Ints& dims) {
  return squeezeDims(self, dims).clone(at::MemoryFormat::Contiguous);
}

at::Tensor squeezeInPlaceDims(const at::Tensor& self, const Ints& dims) {
  for (const int64_t dim : squeezedDims(self, dims)) self.squeeze_(dim);
  return self;
}

// A tensor of that size whose dimensions lie in memory in the order of `layout`, outermost first.
at::Tensor emptyPermuted(const Ints& size, const Ints& layout, const c10::optional<at::ScalarType>& dtype,
                         const c10::optional<at::Layout>& tensorLayout,
                         const c10::optional<c10::Device>& device, const c10::optional<bool>& pinMemory) {
  if (layout.size() != size.size()) {
    fail<UsageError>(
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        "len(size) = {} is not equal to len(physical_layout) = {}",
        size.size(), layout.size());
  }
  const auto rank = static_cast<int64_t>(size.size());
  Ints physical(size.size()), inverse(size.size(), -1);
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t dim = layout[i];
    if (dim < 0 || dim >= rank)
      fail<UsageError>("Dimension out of range (expected to be between 0 and {}, but got {} at index {})",
                       rank - 1, dim, i);
    if (inverse[static_cast<size_t>(dim)] != -1) fail<UsageError>("Duplicate dim not allowed: {}", dim);
    inverse[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
    physical[i] = size[static_cast<size_t>(dim)];
  }
  return at::empty(physical, dtype, tensorLayout, device, pinMemory, c10::nullopt).permute(inverse);
}

Ints symSizes(const at::Tensor& self) {
  return self.sizes().vec();
}
Ints symStrides(const at::Tensor& self) {
  return self.strides().vec();
}
int64_t symSize(const at::Tensor& self, int64_t dim) {
  return self.size(dim);
}
int64_t symStride(const at::Tensor& self, int64_t dim) {
  return self.stride(dim);
}
int64_t symNumel(const at::Tensor& self) {
  return self.numel();
}
int64_t symStorageOffset(const at::Tensor& self) {
  return self.storage_offset();
}
bool symIsContiguous(const at::Tensor& self, at::MemoryFormat format) {
  return self.is_contiguous(format);
}

at::Tensor reshapeCopy(const at::Tensor& self, const Ints& size) {
  return self.reshape(size).clone(at::MemoryFormat::Contiguous);
}
at::Tensor lazyClone(const at::Tensor& self) {
  return self.clone();
}

}  // namespace

std::span<const EquivalentEntry> shapeEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten._lazy_clone.default", onStack<&lazyClone>},
      EquivalentEntry{"aten._reshape_copy.default", onStack<&reshapeCopy>},
      EquivalentEntry{"aten.empty_permuted.default", onStack<&emptyPermuted>},
      EquivalentEntry{"aten.squeeze.dims", onStack<&squeezeDims>},
      EquivalentEntry{"aten.squeeze_.dims", onStack<&squeezeInPlaceDims>},
      EquivalentEntry{"aten.squeeze_copy.dims", onStack<&squeezeCopyDims>},
      EquivalentEntry{"aten.sym_is_contiguous.default", onStack<&symIsContiguous>},
      EquivalentEntry{"aten.sym_numel.default", onStack<&symNumel>},
      EquivalentEntry{"aten.sym_size.default", onStack<&symSizes>},
      EquivalentEntry{"aten.sym_size.int", onStack<&symSize>},
      EquivalentEntry{"aten.sym_storage_offset.default", onStack<&symStorageOffset>},
      EquivalentEntry{"aten.sym_stride.default", onStack<&symStrides>},
      EquivalentEntry{"aten.sym_stride.int", onStack<&symStride>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

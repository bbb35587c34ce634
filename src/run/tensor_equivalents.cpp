#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/where.h>

#include <array>
#include <stdexcept>

namespace edgefx::detail {
namespace {

at::Scalar itemOf(const at::Tensor& self) {
  return self.item();
}

at::Scalar localScalar(const at::Tensor& self) {
  return at::_local_scalar_dense(self);
}

at::Tensor convertElementType(const at::Tensor& self, at::ScalarType dtype) {
  return self.to(dtype);
}

at::Tensor iota(int64_t length, int64_t start, int64_t step, at::ScalarType dtype, c10::Device device, bool) {
  return at::arange(length, at::TensorOptions().dtype(at::ScalarType::Long).device(device))
      .mul(step)
      .add(start)
      .to(dtype);
}

// The rest are like operators without "_unsafe", but need not check their indices.

at::Tensor unsafeIndex(const at::Tensor& self, const OptionalTensors& indices) {
  return self.index(indices);
}

at::Tensor unsafeIndexPut(const at::Tensor& self, const OptionalTensors& indices, const at::Tensor& values,
                          bool accumulates) {
  return self.index_put(indices, values, accumulates);
}

// Where the mask is false, indices may lie outside and the result is `fill`.
at::Tensor unsafeMaskedIndex(const at::Tensor& self, const at::Tensor& mask, const OptionalTensors& indices,
                             const at::Scalar& fill) {
  OptionalTensors inside;
  for (size_t i = 0; i < indices.size(); ++i) {
    OptionalTensor index = indices.get(i);
    if (index) {
      const int64_t size = self.size(static_cast<int64_t>(i));
      // Without elements there is nothing to index, so nothing that the mask could let through.
      if (size == 0) return at::full(mask.sizes(), fill, self.options());
      index = index->clamp(-size, size - 1);
    }
    inside.push_back(index);
  }
  return self.index(inside).masked_fill(mask.logical_not(), fill);
}

at::Tensor nonzeroStatic(const at::Tensor& self, int64_t size, int64_t fillValue) {
  if (size < 0) throw std::runtime_error("nonzero_static: 'size' must be an non-negative integer");
  const at::Tensor found = self.nonzero();
  if (found.size(0) >= size) return found.narrow(0, 0, size).clone();
  return at::cat({found, at::full({size - found.size(0), self.dim()}, fillValue, found.options())});
}

at::Tensor intMm(const at::Tensor& self, const at::Tensor& other) {
  if (self.scalar_type() != at::ScalarType::Char || other.scalar_type() != at::ScalarType::Char)
    throw std::runtime_error("_int_mm: expected two int8 matrices");
  return self.to(at::ScalarType::Int).mm(other.to(at::ScalarType::Int));
}

at::Tensor preluKernel(const at::Tensor& self, const at::Tensor& weight) {
  return at::where(self.gt(0), self, self.mul(weight));
}

// self * (weights * scales) transposed, a scale for each row of the weights.
at::Tensor weightInt8Mm(const at::Tensor& self, const at::Tensor& weights, const at::Tensor& scales) {
  const at::Tensor wide = self.to(at::ScalarType::Float);
  return wide.mm(weights.to(at::ScalarType::Float).t()).mul(scales).to(self.scalar_type());
}

}  // namespace

std::span<const EquivalentEntry> tensorEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten._int_mm.default", onStack<&intMm>},
      EquivalentEntry{"aten._local_scalar_dense.default", onStack<&localScalar>},
      EquivalentEntry{"aten._prelu_kernel.default", onStack<&preluKernel>},
      EquivalentEntry{"aten._unsafe_index.Tensor", onStack<&unsafeIndex>},
      EquivalentEntry{"aten._unsafe_index_put.default", onStack<&unsafeIndexPut>},
      EquivalentEntry{"aten._unsafe_masked_index.default", onStack<&unsafeMaskedIndex>},
      EquivalentEntry{"aten._weight_int8pack_mm.default", onStack<&weightInt8Mm>},
      EquivalentEntry{"aten.item.default", onStack<&itemOf>},
      EquivalentEntry{"aten.nonzero_static.default", onStack<&nonzeroStatic>},
      EquivalentEntry{"prims.convert_element_type.default", onStack<&convertElementType>},
      EquivalentEntry{"prims.iota.default", onStack<&iota>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

#include "run/equivalent_table.h"
#include "run/on_stack.h"
#include "run/quantized_groups.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/stack.h>

#include <array>
#include <stdexcept>

namespace edgefx::detail {

at::Tensor quantizedGroups(const at::Tensor& matrix, const at::Tensor& scales, int64_t groupSize) {
  if (matrix.dim() != 2) throw std::runtime_error("expected a matrix of groups");
  if (groupSize <= 1) throw std::runtime_error(fmt::format("group_size {}, expected more than 1", groupSize));
  const int64_t columns = matrix.size(1);
  if (groupSize > columns && scales.dim() > 0 && scales.size(-1) == 1) groupSize = columns;
  if (groupSize == 0 || columns % groupSize != 0)
    throw std::runtime_error(fmt::format("group_size {} does not divide {} columns", groupSize, columns));
  return matrix.reshape({-1, groupSize});
}

at::Tensor dequantizedGroups(const at::Tensor& matrix, const at::Tensor& scales,
                             const OptionalTensor& zeroPoints, int64_t groupSize) {
  at::Tensor groups = quantizedGroups(matrix, scales, groupSize);
  groups = zeroPoints ? groups.sub(zeroPoints->reshape({-1, 1})) : groups;
  return groups.mul(scales.reshape({-1, 1})).reshape(matrix.sizes());
}

namespace {

// `columns` is how many numbers a row of the weight holds.
int64_t embeddingGroupSize(const at::Tensor& weight, const at::Tensor& scales, int64_t columns) {
  if (weight.dim() != 2) {
    throw std::runtime_error(
        fmt::format("Expecting weight tensor to have dim()==2, but found {}", weight.dim()));
  }
  const int64_t groups = scales.dim() == 2 ? scales.size(1) : 1;
  if (groups < 1) throw std::runtime_error("expected scales for at least one group");
  return columns / groups;
}

at::Tensor embeddingByteAs(const at::Tensor& weight, const at::Tensor& scales,
                           const OptionalTensor& zeroPoints, int64_t, int64_t, const at::Tensor& indices,
                           const c10::optional<at::ScalarType>& dtype) {
  const int64_t groupSize = embeddingGroupSize(weight, scales, weight.dim() == 2 ? weight.size(1) : 0);
  const at::Tensor table =
      dequantizedGroups(weight, scales, zeroPoints, groupSize).to(dtype.value_or(scales.scalar_type()));
  return at::embedding(table, indices);
}

at::Tensor embeddingByte(const at::Tensor& weight, const at::Tensor& scales, const OptionalTensor& zeroPoints,
                         int64_t quantMin, int64_t quantMax, const at::Tensor& indices) {
  return embeddingByteAs(weight, scales, zeroPoints, quantMin, quantMax, indices, c10::nullopt);
}

// Two numbers a byte, the even one in the upper half, each with 8 added.
at::Tensor embedding4BitAs(const at::Tensor& weight, const at::Tensor& scales,
                           const OptionalTensor& zeroPoints, int64_t, int64_t, const at::Tensor& indices,
                           const c10::optional<at::ScalarType>& dtype) {
  const int64_t groupSize = embeddingGroupSize(weight, scales, weight.dim() == 2 ? 2 * weight.size(1) : 0);
  const at::Tensor pairs = at::stack({weight.div(16, "trunc"), weight.remainder(16)}, -1);
  const at::Tensor numbers = pairs.reshape({weight.size(0), -1}).to(at::ScalarType::Char).sub(8);
  const at::Tensor table =
      dequantizedGroups(numbers, scales, zeroPoints, groupSize).to(dtype.value_or(scales.scalar_type()));
  return at::embedding(table, indices);
}

at::Tensor embedding4Bit(const at::Tensor& weight, const at::Tensor& scales, const OptionalTensor& zeroPoints,
                         int64_t quantMin, int64_t quantMax, const at::Tensor& indices) {
  return embedding4BitAs(weight, scales, zeroPoints, quantMin, quantMax, indices, c10::nullopt);
}

}  // namespace

std::span<const EquivalentEntry> quantizedEmbeddingEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"quantized_decomposed.embedding_4bit.default", onStack<&embedding4Bit>},
      EquivalentEntry{"quantized_decomposed.embedding_4bit.dtype", onStack<&embedding4BitAs>},
      EquivalentEntry{"quantized_decomposed.embedding_byte.default", onStack<&embeddingByte>},
      EquivalentEntry{"quantized_decomposed.embedding_byte.dtype", onStack<&embeddingByteAs>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

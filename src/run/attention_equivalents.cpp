#include "run/equivalent_table.h"
#include "run/on_stack.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace edgefx::detail {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// A softmax that gives zeros, not nans, where every element is minus infinity.
at::Tensor safeSoftmax(const at::Tensor& self, int64_t dim, const c10::optional<at::ScalarType>& dtype) {
  const at::Tensor result = at::softmax(self, dim, dtype);
  const at::Tensor isMasked = self.eq(kMinusInfinity).all(dim, true);
  return at::where(isMasked, at::scalar_tensor(0.0, result.options()), result);
}

struct AttentionInputs {
  at::Tensor query, key, value;
  OptionalTensor mask;  // added to the scores
};

// The mask as numbers: 0 where a bool one is true, minus infinity elsewhere.
at::Tensor additiveMask(const at::Tensor& mask, const at::Tensor& query) {
  if (mask.scalar_type() != at::ScalarType::Bool) return mask.to(query.scalar_type());
  return at::where(mask, at::scalar_tensor(0.0, query.options()),
                   at::scalar_tensor(kMinusInfinity, query.options()));
}

// Each head of key and value serves as many heads of the query.
at::Tensor repeatHeads(const at::Tensor& heads, const at::Tensor& query) {
  const int64_t wanted = query.size(-3), there = heads.size(-3);
  if (wanted == there) return heads;
  if (there == 0 || wanted % there != 0)
    throw std::runtime_error("Number of heads in key and value must divide the number of heads in query");
  return heads.repeat_interleave(wanted / there, -3);
}

// In float for the half precision types, as newer releases compute it.
AttentionInputs attentionInputs(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                const OptionalTensor& mask, bool isCausal, bool sharesHeads) {
  if (mask && isCausal) {
    throw std::runtime_error(
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  }
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2)
    throw std::runtime_error("scaled_dot_product_attention: query, key and value need at least 2 dimensions");
  const bool isHalf =
      query.scalar_type() == at::ScalarType::Half || query.scalar_type() == at::ScalarType::BFloat16;
  auto wide = [&](const at::Tensor& tensor) { return isHalf ? tensor.to(at::ScalarType::Float) : tensor; };
  AttentionInputs inputs{wide(query), wide(key), wide(value), c10::nullopt};
  if (sharesHeads) {
    inputs.key = repeatHeads(inputs.key, query);
    inputs.value = repeatHeads(inputs.value, query);
  }
  if (isCausal) {
    const at::Tensor lower =
        at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::ScalarType::Bool)).tril();
    inputs.mask = additiveMask(lower, inputs.query);
  } else if (mask) {
    inputs.mask = additiveMask(*mask, inputs.query);
  }
  return inputs;
}

at::Tensor attentionScores(const AttentionInputs& inputs, const c10::optional<double>& scale) {
  const double factor = scale.value_or(1.0 / std::sqrt(static_cast<double>(inputs.query.size(-1))));
  at::Tensor scores = inputs.query.mul(factor).matmul(inputs.key.transpose(-2, -1));
  return inputs.mask ? scores.add(*inputs.mask) : scores;
}

// PyTorch's CPU kernel gives its result the strides of the query.
at::Tensor laidOutAs(const at::Tensor& query, const at::Tensor& result) {
  if (!result.sizes().equals(query.sizes())) return result;
  at::Tensor same = at::empty_like(query);
  if (same.strides().equals(result.strides())) return result;
  return same.copy_(result);
}

std::tuple<at::Tensor, at::Tensor> attentionMath(const at::Tensor& query, const at::Tensor& key,
                                                 const at::Tensor& value, const OptionalTensor& mask,
                                                 double dropout, bool isCausal,
                                                 const OptionalTensor& dropoutMask,
                                                 const c10::optional<double>& scale, bool sharesHeads) {
  const AttentionInputs inputs = attentionInputs(query, key, value, mask, isCausal, sharesHeads);
  at::Tensor weights = safeSoftmax(attentionScores(inputs, scale), -1, c10::nullopt);
  if (dropout > 0 && dropoutMask) {
    weights = weights.masked_fill(dropoutMask->logical_not(), 0.0);
    const at::Tensor scaledValue = inputs.value.mul(1.0 / (1.0 - dropout));
    return {weights.matmul(scaledValue).to(query.scalar_type()), weights.to(query.scalar_type())};
  }
  if (dropout > 0) weights = at::dropout(weights, dropout, true);
  return {weights.matmul(inputs.value).to(query.scalar_type()), weights.to(query.scalar_type())};
}

at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const OptionalTensor& mask, double dropout, bool isCausal,
                     const c10::optional<double>& scale, bool sharesHeads) {
  const auto [result, weights] =
      attentionMath(query, key, value, mask, dropout, isCausal, c10::nullopt, scale, sharesHeads);
  const bool takesKernel = query.dim() == 4 && dropout == 0 && query.size(-3) == key.size(-3);
  return takesKernel ? laidOutAs(query, result) : result;
}

std::tuple<at::Tensor, at::Tensor> flashAttentionForCpu(const at::Tensor& query, const at::Tensor& key,
                                                        const at::Tensor& value, double dropout,
                                                        bool isCausal, const OptionalTensor& mask,
                                                        const c10::optional<double>& scale) {
  if (dropout != 0) {
    throw std::runtime_error(
        "scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0");
  }
  if (query.dim() != 4 || key.dim() != 4 || value.dim() != 4)
    throw std::runtime_error("scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape");
  const AttentionInputs inputs = attentionInputs(query, key, value, mask, isCausal, false);
  const at::Tensor scores = attentionScores(inputs, scale);
  const at::Tensor result =
      safeSoftmax(scores, -1, c10::nullopt).matmul(inputs.value).to(query.scalar_type());
  return {laidOutAs(query, result), scores.logsumexp(-1)};
}

}  // namespace

std::span<const EquivalentEntry> attentionEquivalents() {
  static constexpr std::array kEntries = {
      EquivalentEntry{"aten._safe_softmax.default", onStack<&safeSoftmax>},
      EquivalentEntry{"aten._scaled_dot_product_attention_math.default", onStack<&attentionMath>, true},
      EquivalentEntry{"aten._scaled_dot_product_flash_attention_for_cpu.default",
                      onStack<&flashAttentionForCpu>},
      EquivalentEntry{"aten.scaled_dot_product_attention.default", onStack<&attention>},
  };
  return kEntries;
}

}  // namespace edgefx::detail

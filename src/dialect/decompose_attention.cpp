#include "dialect/decomposition.h"
#include "dialect/matrix_product.h"

#include <cmath>
#include <limits>

namespace edgefx::detail {
namespace {

// 0 where the mask holds and -inf elsewhere; other masks are added as they are.
Node* maskToAdd(Decomposition& c, Node* mask, const Node& query) {
  if (mask == nullptr || c.dtype(*mask) != Dtype::Bool) return mask;
  const TensorMeta& like = c.meta(query);
  const Arg device = Arg::device(text(like.device));
  Node& least = c.emit("scalar_tensor.default", {-std::numeric_limits<double>::infinity()},
                       {{"dtype", like.dtype}, {"device", device}});
  Node& zero = c.scalarLike(0.0, query);
  return &c.emit("where.self", {*mask, zero, least});
}

Node& causalMask(Decomposition& c, const Node& query, const Node& key) {
  const TensorMeta& tensor = c.meta(query);
  const Arg rows = c.arg(tensor.sizes[tensor.sizes.size() - 2]);
  const Arg columns = c.arg(c.size(key, c.rank(key) - 2));
  Node& ones =
      c.emit("ones.default", {{rows, columns}},
             {{"dtype", Dtype::Bool}, {"device", Arg::device(text(tensor.device))}, {"pin_memory", false}});
  return c.emit("tril.default", {ones});
}

// A key and value head for each head of the queries.
Node& withQueryHeads(Decomposition& c, Node& x, int64_t heads) {
  const int64_t own = c.known(c.size(x, c.rank(x) - 3));
  if (own == heads) return x;
  c.need(own > 0 && heads % own == 0, "the heads of the queries do not divide among those of the keys");
  return c.emit("repeat_interleave.self_int", {x, heads / own, -3});
}

// at::_scaled_dot_product_attention_math
Node& attentionOf(Decomposition& c, Node& query, Node* key, Node* value, Node* mask, bool isCausal,
                  bool isGrouped, double scale) {
  const double factor = std::sqrt(std::abs(scale));
  Node& scaledQuery = c.emit("mul.Scalar", {query, scale < 0 ? -factor : factor});
  if (isCausal) mask = maskToAdd(c, &causalMask(c, query, *key), query);
  if (isGrouped) {
    const int64_t heads = c.known(c.size(query, c.rank(query) - 3));
    key = &withQueryHeads(c, *key, heads);
    value = &withQueryHeads(c, *value, heads);
  }
  Node& scaledKey = c.emit("mul.Scalar", {c.emit("transpose.int", {*key, -2, -1}), factor});
  Node* weights = &matrixProduct(c, scaledQuery, scaledKey);
  if (mask != nullptr) weights = &c.emit("add.Tensor", {*weights, *mask});
  return matrixProduct(c, c.emit("_safe_softmax.default", {*weights, -1}), *value);
}

bool hasUnitLastStride(const TensorMeta& tensor) {
  return symEqual(tensor.strides.back(), SymInt(1));
}

// Whether LibTorch takes the fused kernel for the CPU, whose result is laid out in another way.
bool isFused(const Decomposition& c, const Node& query, const Node& key, const Node& value,
             const Node* mask) {
  const TensorMeta &q = c.meta(query), &k = c.meta(key), &v = c.meta(value);
  for (const TensorMeta* tensor : {&q, &k, &v}) {
    if (tensor->sizes.size() != 4 || !hasUnitLastStride(*tensor)) return false;
    for (const SymInt& size : tensor->sizes) {
      if (!size.isSymbolic() && size.value() == 0) return false;
    }
  }
  if (!symEqual(q.sizes[3], k.sizes[3]) || !symEqual(k.sizes[3], v.sizes[3])) return false;
  return mask == nullptr || c.rank(*mask) == 2 || c.rank(*mask) == 4;
}

Replacement attentionRule(Decomposition& c) {
  Node& query = c.in(0, "query");
  Node& key = c.in(1, "key");
  Node& value = c.in(2, "value");
  Node* mask = c.findIn(3, "attn_mask");
  c.need(c.number(4, "dropout_p", 0) == 0, "it drops out, which is random");
  const bool isCausal = c.boolean(5, "is_causal", false);
  const bool isGrouped = c.boolean(7, "enable_gqa", false) || c.boolean(kKeywordOnly, "enable_gqa", false);
  for (const Node* node : {&query, &key, &value}) {
    c.need(c.rank(*node) >= (isGrouped ? 3 : 2) && isFloatingPoint(c.dtype(*node)),
           "the rank or dtype does not fit");
  }
  c.need(!isCausal || mask == nullptr, "it is causal and has a mask");
  const double depth = static_cast<double>(c.known(c.size(query, c.rank(query) - 1)));
  const double scale = c.number(kKeywordOnly, "scale", 1 / std::sqrt(depth));
  c.need(scale != 0 && std::isfinite(scale), "the scale does not fit");

  const Dtype dtype = c.dtype(query);
  const bool takesFused = isFused(c, query, key, value, mask);
  mask = maskToAdd(c, mask, query);
  Node& made =
      attentionOf(c, c.widened(query), &c.widened(key), &c.widened(value), mask, isCausal, isGrouped, scale);
  Node& result = c.toDtype(made, dtype);
  if (!takesFused) return result;
  Node& turned = c.permute(result, {2, 0, 1, 3});
  Node& copy = c.emit("clone.default", {turned}, {{"memory_format", MemoryFormat::Contiguous}});
  return c.permute(copy, {1, 2, 0, 3});
}

constexpr NamedDecomposition kAttentionDecompositions[] = {
    {"scaled_dot_product_attention.default", attentionRule},
};

}  // namespace

std::span<const NamedDecomposition> attentionDecompositions() {
  return kAttentionDecompositions;
}

}  // namespace edgefx::detail

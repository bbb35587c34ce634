#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <limits>
#include <numeric>

// Normalization over batches, layers and groups.
namespace edgefx::detail {
namespace {

Arg orNone(Node* node) {
  return node == nullptr ? Arg(nullptr) : Arg(*node);
}

// batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
Replacement batchNormRule(Decomposition& c) {
  Node& x = c.in(0, "input");
  const Arg weight = orNone(c.findIn(1, "weight")), bias = orNone(c.findIn(2, "bias"));
  Node* const mean = c.findIn(3, "running_mean");
  Node* const variance = c.findIn(4, "running_var");
  const Arg momentum = c.at(6, "momentum"), eps = c.at(7, "eps");
  if (!c.boolean(5, "training", false)) {
    c.need(mean != nullptr && variance != nullptr, "it has no running statistics");
    return c.emitFirst("_native_batch_norm_legit_no_training.default",
                       {x, weight, bias, *mean, *variance, momentum, eps});
  }
  c.need(mean == nullptr && variance == nullptr,
         "it writes its running statistics, which is to be made functional");
  return c.emitFirst("_native_batch_norm_legit.no_stats", {x, weight, bias, true, momentum, eps});
}

// Channels of each sample are a batch of their own.
Replacement instanceNormRule(Decomposition& c) {
  Node& x = c.in(0, "input");
  c.need(c.boolean(5, "use_input_stats", true), "it uses its running statistics");
  c.need(c.find(3, "running_mean") == nullptr && c.find(4, "running_var") == nullptr,
         "it writes its running statistics, which is to be made functional");
  const Dims& sizes = c.meta(x).sizes;
  c.need(sizes.size() >= 2, "the rank does not fit");
  Dims flat{SymInt(1), symMul(sizes[0], sizes[1])};
  flat.insert(flat.end(), sizes.begin() + 2, sizes.end());
  const auto repeated = [&](size_t i, std::string_view key) {
    Node* const found = c.findIn(i, key);
    return found == nullptr ? Arg(nullptr) : Arg(c.emit("repeat.default", {*found, {c.arg(sizes[0])}}));
  };
  const Arg weight = repeated(1, "weight"), bias = repeated(2, "bias");
  Node& rows = c.reshape(x, flat);
  Node& made = c.emitFirst("_native_batch_norm_legit.no_stats",
                           {rows, weight, bias, true, c.at(6, "momentum"), c.at(7, "eps")});
  return c.view(made, sizes);
}

Replacement layerNormRule(Decomposition& c) {
  return c.emitFirst("native_layer_norm.default",
                     {c.in(0, "input"), c.at(1, "normalized_shape"), orNone(c.findIn(2, "weight")),
                      orNone(c.findIn(3, "bias")), c.argOr(4, "eps", 1e-5)});
}

Replacement groupNormRule(Decomposition& c) {
  Node& x = c.in(0, "input");
  const Dims& sizes = c.meta(x).sizes;
  c.need(sizes.size() >= 2, "the rank does not fit");
  Node& rows = c.contiguous(x, suggestedFormat(c.meta(x)));
  return c.emitFirst(
      "native_group_norm.default",
      {rows, orNone(c.findIn(2, "weight")), orNone(c.findIn(3, "bias")), c.arg(sizes[0]), c.arg(sizes[1]),
       c.arg(elementCount(std::span(sizes).subspan(2))), c.at(1, "num_groups"), c.argOr(4, "eps", 1e-5)});
}

double machineEpsilonOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::Float64:
      return std::numeric_limits<double>::epsilon();
    case Dtype::Float16:
      return 0x1p-10;
    case Dtype::BFloat16:
      return 0x1p-7;
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

Replacement rmsNormRule(Decomposition& c) {
  Node& x = c.in(0, "input");
  const Dtype dtype = c.dtype(x);
  const size_t rank = c.rank(x), count = c.at(1, "normalized_shape").items().size();
  c.need(count > 0 && count <= rank && isFloatingPoint(dtype), "the normalized shape or dtype does not fit");
  Node& wide = c.widened(x);
  const double eps = c.number(3, "eps", machineEpsilonOf(dtype));
  Arg::List dims;
  for (size_t i = rank - count; i < rank; ++i) dims.emplace_back(i);
  Node& squares = c.emit("pow.Tensor_Scalar", {wide, 2});
  Node& mean = c.emit("mean.dim", {squares, Arg::list(std::move(dims)), true});
  Node& factor = c.emit("rsqrt.default", {c.emit("add.Scalar", {mean, eps})});
  Node* result = &c.emit("mul.Tensor", {wide, factor});
  if (Node* const weight = c.findIn(2, "weight")) result = &c.emit("mul.Tensor", {*result, *weight});
  return c.toDtype(*result, dtype);
}

constexpr NamedDecomposition kNormDecompositions[] = {
    {"batch_norm.default", batchNormRule}, {"instance_norm.default", instanceNormRule},
    {"layer_norm.default", layerNormRule}, {"group_norm.default", groupNormRule},
    {"rms_norm.default", rmsNormRule},
};

}  // namespace

std::span<const NamedDecomposition> normDecompositions() {
  return kNormDecompositions;
}

}  // namespace edgefx::detail

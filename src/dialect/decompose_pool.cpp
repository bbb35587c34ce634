#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>
#include <cmath>

// Pooling, padding and upsampling.
namespace edgefx::detail {
namespace {

// The call's own arguments, but for the first.
Args withFirst(Decomposition& c, Node& first) {
  Args args{first};
  for (size_t i = 1; i < c.node().args().size(); ++i) args.emplace_back(c.node().arg(i));
  return args;
}

Kwargs ownKwargs(const Decomposition& c) {
  Kwargs kwargs;
  for (const auto& [key, value] : c.node().kwargs()) kwargs.emplace_back(key, value);
  return kwargs;
}

Replacement maxPoolRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const std::string op = std::string(c.op()) + "_with_indices.default";
  const ValueRef& result = c.node().valueRef();
  if (c.op() == "max_pool2d" || !result || result->tensor() == nullptr) {
    return c.emitFirst(op, withFirst(c, x), ownKwargs(c));
  }
  // Whose kernels say nothing of tensors without data.
  TensorMeta indices = *result->tensor();
  indices.dtype = Dtype::Int64;
  const ValueRef both =
      ValueMeta::of(ValueMeta::Sequence{{result, ValueMeta::of(std::move(indices))}, false});
  return c.emitFirst(op, withFirst(c, x), ownKwargs(c), both);
}

// The only dimension as the last of two.
Replacement maxPool1dRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const auto pair = [&](size_t i, std::string_view key, int64_t other, const Arg& otherwise) {
    const Argument* found = c.find(i, key);
    if (found != nullptr && found->isSequence()) {
      found = found->items().empty() ? nullptr : &found->items().front();
    }
    return Arg::list({other, found == nullptr ? otherwise : Arg(*found)});
  };
  const Argument& kernel = c.at(1, "kernel_size");
  c.need(!kernel.isSequence() || !kernel.items().empty(), "its kernel has no size");
  const Arg size = kernel.isSequence() ? Arg(kernel.items().front()) : Arg(kernel);
  const std::vector<Node*> items = c.emitItems(
      "max_pool2d_with_indices.default",
      {c.emit("unsqueeze.default", {x, -2}), pair(1, "kernel_size", 1, 1), pair(2, "stride", 1, size),
       pair(3, "padding", 0, 0), pair(4, "dilation", 1, 1), c.argOr(5, "ceil_mode", false)});
  Node& result = c.emit("squeeze.dim", {*items[0], -2});
  if (c.op() == "max_pool1d") return result;
  return Replacement({&result, &c.emit("squeeze.dim", {*items[1], -2})});
}

Replacement adaptiveAvgPoolRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t rank = c.op() == "adaptive_avg_pool2d" ? 2 : 3;
  const Dims sizes = c.sizes(1, "output_size");
  c.need(sizes.size() == rank, "the output size does not fit");
  const bool isOne =
      std::ranges::all_of(sizes, [](const SymInt& s) { return !s.isSymbolic() && s.value() == 1; });
  if (!isOne) return c.emit("_" + std::string(c.op()) + ".default", {x, c.at(1, "output_size")});
  Arg::List dims;
  for (size_t i = 1; i <= rank; ++i) dims.emplace_back(-static_cast<int64_t>(i));
  Node& mean = c.emit("mean.dim", {x, Arg::list(std::move(dims)), true});
  const TensorMeta& tensor = c.meta(x);
  if (rank != 2 || tensor.sizes.size() != 4 || suggestedFormat(tensor) != MemoryFormat::ChannelsLast)
    return mean;
  // The result has the operand's memory format, of which its sizes say nothing.
  const Arg batch = c.arg(tensor.sizes[0]), channels = c.arg(tensor.sizes[1]);
  return c.emit("as_strided.default", {mean, {batch, channels, 1, 1}, {channels, 1, channels, channels}});
}

Node& padded(Decomposition& c, Node& x, const Argument& pad, bool isReflected) {
  const size_t count = pad.items().size(), rank = c.rank(x);
  c.need(count == 2 || count == 4 || count == 6, "the padding does not fit");
  const size_t dims = count / 2;
  c.need(rank == dims + 1 || rank == dims + 2, "the rank does not fit the padding");
  if (isReflected || dims > 1) {
    return c.emit((isReflected ? "reflection_pad" : "replication_pad") + std::to_string(dims) + "d.default",
                  {x, pad});
  }
  // Core ATen has no replication_pad1d.
  Node& wide = c.emit("unsqueeze.default", {x, -2});
  Node& made = c.emit("replication_pad2d.default", {wide, {pad.items()[0], pad.items()[1], 0, 0}});
  return c.emit("squeeze.dim", {made, -2});
}

Replacement padRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Argument& pad = c.at(1, "pad");
  const Argument* const given = c.find(2, "mode");
  const std::string_view mode = given == nullptr ? "constant" : given->asString();
  if (mode == "constant") return c.emit("constant_pad_nd.default", {x, pad, c.argOr(3, "value", 0.0)});
  c.need(mode == "reflect" || mode == "replicate", "there is no rule for its mode");
  return padded(c, x, pad, mode == "reflect");
}

Replacement replicationPadRule(Decomposition& c) {
  return padded(c, c.in(0, "self"), c.at(1, "padding"), false);
}

// Forms with the sizes of the result.
Replacement upsampleRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const bool isBilinear = c.op() == "upsample_bilinear2d";
  const size_t scaleAt = isBilinear ? 3 : 2;
  const Dims sizes = c.sizes(1, "output_size");
  c.need(c.rank(x) == 4 && sizes.size() == 2, "the rank does not fit");
  Arg::List scales;
  for (size_t i = 0; i < 2; ++i) {
    const double scale = c.number(scaleAt + i, i == 0 ? "scales_h" : "scales_w", 0);
    if (scale == 0) continue;
    const double made = std::floor(static_cast<double>(c.known(c.size(x, i + 2))) * scale);
    c.need(made == static_cast<double>(c.known(sizes[i])), "its scales do not give its sizes");
    scales.emplace_back(scale);
  }
  c.need(scales.size() != 1, "it has one scale for two dimensions");
  const std::string op = std::string(c.op()) + ".vec";
  const Arg size = scales.empty() ? Arg(c.at(1, "output_size")) : Arg(nullptr);
  const Arg factors = scales.empty() ? Arg(nullptr) : Arg::list(scales);
  if (isBilinear) return c.emit(op, {x, size, c.boolean(2, "align_corners", false), factors});
  return c.emit(op, {x, size, factors});
}

constexpr NamedDecomposition kPoolDecompositions[] = {
    {"max_pool1d.default", maxPool1dRule},
    {"max_pool1d_with_indices.default", maxPool1dRule},
    {"max_pool2d.default", maxPoolRule},
    {"max_pool3d.default", maxPoolRule},
    {"adaptive_avg_pool2d.default", adaptiveAvgPoolRule},
    {"adaptive_avg_pool3d.default", adaptiveAvgPoolRule},
    {"pad.default", padRule},
    {"replication_pad1d.default", replicationPadRule},
    {"upsample_nearest2d.default", upsampleRule},
    {"upsample_bilinear2d.default", upsampleRule},
};

}  // namespace

std::span<const NamedDecomposition> poolDecompositions() {
  return kPoolDecompositions;
}

}  // namespace edgefx::detail

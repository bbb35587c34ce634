#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>
#include <numeric>

// New tensors of given sizes.
namespace edgefx::detail {
namespace {

struct Factory {
  Dtype dtype = Dtype::Float32;
  Arg device = Arg::device("cpu");
  Arg pinMemory = false;

  Kwargs kwargs() const {
    return {{"dtype", dtype}, {"layout", Layout::Strided}, {"device", device}, {"pin_memory", pinMemory}};
  }
};

void needStrided(const Decomposition& c) {
  const Argument* const layout = c.find(kKeywordOnly, "layout");
  c.need(
      layout == nullptr || (layout->kind() == ArgumentKind::Layout && layout->asLayout() == Layout::Strided),
      "its layout is not strided");
}

// What the call says of a new tensor; `like` says what it does not.
Factory factoryOf(const Decomposition& c, const TensorMeta* like) {
  needStrided(c);
  Factory factory;
  if (like != nullptr) factory.dtype = like->dtype;
  if (like != nullptr) factory.device = Arg::device(text(like->device));
  if (const std::optional<Dtype> dtype = c.dtype(kKeywordOnly, "dtype")) factory.dtype = *dtype;
  factory.device = c.argOr(kKeywordOnly, "device", factory.device);
  factory.pinMemory = c.argOr(kKeywordOnly, "pin_memory", factory.pinMemory);
  return factory;
}

Arg filling(Dtype dtype, int value) {
  return dtype == Dtype::Bool ? Arg(value != 0) : Arg(value);
}

Node& filledTensor(Decomposition& c, const Arg& size, const Factory& factory, int value) {
  return c.emit("full.default", {size, filling(factory.dtype, value)}, factory.kwargs());
}

Replacement zerosRule(Decomposition& c) {
  return filledTensor(c, c.at(0, "size"), factoryOf(c, nullptr), c.op() == "ones" ? 1 : 0);
}

Replacement newFilledRule(Decomposition& c) {
  const TensorMeta& like = c.tensor(0, "self");
  return filledTensor(c, c.at(1, "size"), factoryOf(c, &like), c.op() == "new_ones" ? 1 : 0);
}

Replacement newFullRule(Decomposition& c) {
  const TensorMeta& like = c.tensor(0, "self");
  return c.emit("full.default", {c.at(1, "size"), c.at(2, "fill_value")}, factoryOf(c, &like).kwargs());
}

Replacement newEmptyRule(Decomposition& c) {
  const TensorMeta& like = c.tensor(0, "self");
  return c.emit("empty.memory_format", {c.at(1, "size")}, factoryOf(c, &like).kwargs());
}

Replacement newEmptyStridedRule(Decomposition& c) {
  const TensorMeta& like = c.tensor(0, "self");
  return c.emit("empty_strided.default", {c.at(1, "size"), c.at(2, "stride")}, factoryOf(c, &like).kwargs());
}

// full_like with the options that the call has.
Node& filledLike(Decomposition& c, Node& x, int value) {
  needStrided(c);
  const Dtype dtype = c.dtype(kKeywordOnly, "dtype").value_or(c.dtype(x));
  Kwargs kwargs = c.passed({"dtype", "layout", "device"});
  kwargs.emplace_back("pin_memory", c.argOr(kKeywordOnly, "pin_memory", false));
  kwargs.emplace_back("memory_format", c.argOr(kKeywordOnly, "memory_format", MemoryFormat::Preserve));
  return c.emit("full_like.default", {x, filling(dtype, value)}, kwargs);
}

Replacement filledLikeRule(Decomposition& c) {
  return filledLike(c, c.in(0, "self"), c.op() == "ones_like" ? 1 : 0);
}

Replacement fillRule(Decomposition& c) {
  return c.emit("full_like.default", {c.in(0, "self"), c.at(1, "value")}, {{"pin_memory", false}});
}

Replacement emptyLikeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const TensorMeta& like = c.meta(x);
  const Factory factory = factoryOf(c, &like);
  const MemoryFormat format = c.memoryFormat(kKeywordOnly, "memory_format").value_or(MemoryFormat::Preserve);
  std::vector<size_t> order(like.sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (format == MemoryFormat::Preserve) {
    const Dims strides = preservedStrides(like);
    if (!std::ranges::equal(strides, contiguousStrides(like.sizes), symEqual)) {
      std::ranges::stable_sort(order,
                               [&](size_t a, size_t b) { return c.known(strides[a]) > c.known(strides[b]); });
    }
  } else if (format != MemoryFormat::Contiguous) {
    Kwargs kwargs = factory.kwargs();
    kwargs.emplace_back("memory_format", format);
    return c.emit("empty.memory_format", {c.args(like.sizes)}, kwargs);
  }
  const Arg::List physical(order.begin(), order.end());
  return c.emit("empty_permuted.default", {c.args(like.sizes), Arg::list(physical)}, factory.kwargs());
}

Replacement arangeRule(Decomposition& c) {
  needStrided(c);
  Kwargs kwargs = c.passed({"dtype"});
  kwargs.emplace_back("layout", Layout::Strided);
  kwargs.emplace_back("device", c.argOr(kKeywordOnly, "device", Arg::device("cpu")));
  kwargs.emplace_back("pin_memory", c.argOr(kKeywordOnly, "pin_memory", false));
  if (c.overload() == "start") {
    return c.emit("arange.start_step", {c.at(0, "start"), c.at(1, "end")}, kwargs);
  }
  return c.emit("arange.start_step", {0, c.at(0, "end")}, kwargs);
}

// Whole numbers from 0 on the device of `like`.
Node& counting(Decomposition& c, const Arg& end, const Arg& device) {
  return c.emit("arange.default", {end}, {{"device", device}, {"pin_memory", false}});
}

Replacement linspaceRule(Decomposition& c) {
  const Factory factory = factoryOf(c, nullptr);
  const int64_t steps = c.integer(2, "steps");
  const double start = c.number(0, "start", 0), end = c.number(1, "end", 0);
  c.need(factory.dtype == Dtype::Float32 || factory.dtype == Dtype::Float64,
         "its dtype is not float32 or float64");
  c.need(steps >= 0, "the number of steps is negative");
  if (steps < 2) return c.emit("full.default", {{steps}, start}, factory.kwargs());
  const double step = (end - start) / static_cast<double>(steps - 1);
  Node& index = counting(c, steps, factory.device);
  Node& isFirstHalf = c.emit("lt.Scalar", {index, static_cast<double>(steps) / 2});
  Node& up = c.emit("mul.Tensor", {c.toDtype(index, factory.dtype), step});
  Node& fromStart = c.emit("add.Tensor", {up, start});
  Node& back = c.emit("rsub.Scalar", {index, steps - 1});
  Node& down = c.emit("mul.Tensor", {c.toDtype(back, factory.dtype), step});
  Node& fromEnd = c.emit("rsub.Scalar", {down, end});
  return c.emit("where.self", {isFirstHalf, fromStart, fromEnd});
}

Replacement eyeRule(Decomposition& c) {
  const Factory factory = factoryOf(c, nullptr);
  const Arg rows = c.at(0, "n"), columns = c.argOr(1, "m", rows);
  Node& down = c.emit("unsqueeze.default", {counting(c, rows, factory.device), -1});
  Node& isOne = c.emit("eq.Tensor", {down, counting(c, columns, factory.device)});
  if (factory.dtype == Dtype::Bool) return isOne;
  Node& one = filledTensor(c, {1}, factory, 1);
  return c.emit("where.self", {isOne, one, filledTensor(c, {1}, factory, 0)});
}

// tril and triu.
Replacement triangleRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const TensorMeta& tensor = c.meta(x);
  const size_t rank = tensor.sizes.size();
  c.need(rank >= 2, "the rank does not fit");
  const Arg device = Arg::device(text(tensor.device));
  Node& columns = c.emit("unsqueeze.default", {counting(c, c.arg(tensor.sizes[rank - 1]), device), -2});
  Node& rows = c.emit("unsqueeze.default", {counting(c, c.arg(tensor.sizes[rank - 2]), device), -1});
  Node& distance = c.emit("sub.Tensor", {columns, rows});
  Node& mask = c.emit(c.op() == "tril" ? "le.Scalar" : "ge.Scalar", {distance, c.integer(1, "diagonal", 0)});
  if (tensor.dtype == Dtype::Bool) return c.emit("logical_and.default", {mask, x});
  return c.contiguous(
      c.emit("where.self", {mask, x, c.scalarLike(isFloatingPoint(tensor.dtype) ? Arg(0.0) : Arg(0), x)}));
}

Replacement oneHotRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const int64_t classes = c.integer(1, "num_classes", -1);
  c.need(classes > 0, "the number of classes depends on data");
  const Arg device = Arg::device(text(c.meta(x).device));
  Node& index = counting(c, classes, device);
  Node& wide = c.emit("unsqueeze.default", {x, -1});
  return c.toDtype(c.emit("eq.Tensor", {wide, index}), Dtype::Int64);
}

Replacement randomLikeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const TensorMeta& like = c.meta(x);
  const std::string_view op = c.op() == "rand_like" ? "rand.default" : "randn.default";
  return c.emit(op, {c.args(like.sizes)}, factoryOf(c, &like).kwargs());
}

constexpr NamedDecomposition kFactoryDecompositions[] = {
    {"zeros.default", zerosRule},
    {"ones.default", zerosRule},
    {"new_zeros.default", newFilledRule},
    {"new_ones.default", newFilledRule},
    {"new_full.default", newFullRule},
    {"new_empty.default", newEmptyRule},
    {"new_empty_strided.default", newEmptyStridedRule},
    {"zeros_like.default", filledLikeRule},
    {"zero.default", filledLikeRule},
    {"ones_like.default", filledLikeRule},
    {"fill.Scalar", fillRule},
    {"empty_like.default", emptyLikeRule},
    {"arange.default", arangeRule},
    {"arange.start", arangeRule},
    {"linspace.default", linspaceRule},
    {"eye.default", eyeRule},
    {"eye.m", eyeRule},
    {"tril.default", triangleRule},
    {"triu.default", triangleRule},
    {"one_hot.default", oneHotRule},
    {"rand_like.default", randomLikeRule},
    {"randn_like.default", randomLikeRule},
};

}  // namespace

std::span<const NamedDecomposition> factoryDecompositions() {
  return kFactoryDecompositions;
}

}  // namespace edgefx::detail

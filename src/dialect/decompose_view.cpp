#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>
#include <array>
#include <numeric>

// Views and parts of a tensor.
namespace edgefx::detail {
namespace {

Replacement viewRule(Decomposition& c) {
  return c.emit("view.default", {c.in(0, "self"), c.at(1, "size")});
}

Replacement reshapeRule(Decomposition& c) {
  const std::string_view key = c.op() == "reshape" ? "shape" : "size";
  return c.reshape(c.in(0, "self"), Arg(c.at(1, key)));
}

Replacement reshapeAsRule(Decomposition& c) {
  return c.reshape(c.in(0, "self"), c.meta(c.in(1, "other")).sizes);
}

Replacement viewAsRule(Decomposition& c) {
  return c.view(c.in(0, "self"), c.meta(c.in(1, "other")).sizes);
}

Replacement expandAsRule(Decomposition& c) {
  return c.expand(c.in(0, "self"), c.meta(c.in(1, "other")).sizes);
}

Replacement broadcastToRule(Decomposition& c) {
  return c.emit("expand.default", {c.in(0, "self"), c.at(1, "size")});
}

Replacement flattenRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Dims& sizes = c.meta(x).sizes;
  const size_t start = c.wrap(c.integer(1, "start_dim", 0), x);
  const size_t end = c.wrap(c.integer(2, "end_dim", -1), x);
  c.need(start <= end, "the dimensions are not in order");
  if (sizes.empty()) return c.view(x, {SymInt(1)});
  if (start == end) return x;
  Dims flat(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(start));
  flat.push_back(elementCount(std::span(sizes).subspan(start, end - start + 1)));
  flat.insert(flat.end(), sizes.begin() + static_cast<ptrdiff_t>(end) + 1, sizes.end());
  return c.reshape(x, flat);
}

Replacement unflattenRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Dims& sizes = c.meta(x).sizes;
  const size_t dim = c.wrap(c.integer(1, "dim"), x);
  const Argument& parts = c.at(2, "sizes");
  Arg::List all;
  for (size_t i = 0; i < dim; ++i) all.push_back(c.arg(sizes[i]));
  for (const Argument& part : parts.items()) all.emplace_back(part);
  for (size_t i = dim + 1; i < sizes.size(); ++i) all.push_back(c.arg(sizes[i]));
  return c.emit("view.default", {x, Arg::list(std::move(all))});
}

Replacement squeezeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Arg::List dims;
  if (c.overload() == "dim") {
    dims.emplace_back(c.integer(1, "dim"));
  } else {
    for (size_t i = 0; i < c.rank(x); ++i) dims.emplace_back(i);
  }
  return c.emit("squeeze.dims", {x, Arg::list(std::move(dims))});
}

Replacement transposeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const bool isAxes = c.op() == "swapaxes";
  return c.transpose(x, c.integer(1, isAxes ? "axis0" : "dim0"), c.integer(2, isAxes ? "axis1" : "dim1"));
}

Replacement matrixTransposeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(c.op() == "t" ? c.rank(x) <= 2 : c.rank(x) >= 2, "the rank does not fit");
  c.need(!isComplex(c.dtype(x)) || c.op() == "t" || c.op() == "mT", "complex tensors are to be conjugated");
  return c.rank(x) < 2 ? x : c.transpose(x, -2, -1);
}

Replacement reversedRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  if (c.rank(x) < 2) return x;
  std::vector<int64_t> order(c.rank(x));
  std::iota(order.rbegin(), order.rend(), int64_t{0});
  return c.permute(x, order);
}

Replacement movedimRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const std::vector<int64_t> from = c.integers(1, "source"), to = c.integers(2, "destination");
  c.need(from.size() == to.size(), "source and destination differ in number");
  const size_t rank = c.rank(x);
  if (rank == 0) return x;
  std::vector<int64_t> order(rank, -1);
  std::vector<bool> isMoved(rank, false);
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t source = c.wrap(from[i], x), place = c.wrap(to[i], x);
    c.need(!isMoved[source] && order[place] < 0, "a dimension is moved twice");
    isMoved[source] = true;
    order[place] = static_cast<int64_t>(source);
  }
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (order[i] >= 0) continue;
    while (isMoved[next]) ++next;
    order[i] = static_cast<int64_t>(next++);
  }
  return c.permute(x, order);
}

Replacement narrowRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const int64_t dim = c.integer(1, "dim");
  SymInt start = c.size(2, "start");
  const SymInt length = c.size(3, "length");
  const size_t place = c.wrap(dim, x);
  if (!start.isSymbolic() && start.value() < 0) start = symAdd(c.size(x, place), start);
  const Arg end = c.arg(symAdd(start, length));
  Node& part = c.emit("slice.Tensor", {x, dim, c.arg(start), end});
  return c.op() == "narrow_copy" ? c.emit("clone.default", {part}) : part;
}

Replacement identityRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  return x;
}

// Sizes of parts of `part` elements each, but for the last one.
Arg evenParts(Decomposition& c, int64_t total, int64_t part) {
  constexpr int64_t kMostParts = 100000;
  c.need(part > 0 && total / part < kMostParts, "the parts are too many");
  Arg::List sizes;
  for (int64_t rest = total; rest > 0; rest -= part) sizes.emplace_back(std::min(rest, part));
  if (sizes.empty()) sizes.emplace_back(0);
  return Arg::list(std::move(sizes));
}

Node& splitEvenly(Decomposition& c, Node& x, int64_t part, int64_t dim) {
  const int64_t total = c.known(c.size(x, c.wrap(dim, x)));
  return c.emit("split_with_sizes.default", {x, evenParts(c, total, part), dim});
}

Replacement splitRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  return splitEvenly(c, x, c.integer(1, "split_size"), c.integer(2, "dim", 0));
}

Replacement splitSizesRule(Decomposition& c) {
  const std::string_view key = c.op() == "split" ? "split_size" : "split_sizes";
  return c.emit("split_with_sizes.default", {c.in(0, "self"), c.at(1, key), c.integer(2, "dim", 0)});
}

Replacement chunkRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const int64_t count = c.integer(1, "chunks"), dim = c.integer(2, "dim", 0);
  c.need(count > 0, "there are no chunks");
  const int64_t total = c.known(c.size(x, c.wrap(dim, x)));
  if (total == 0) {
    c.need(count < 100000, "the parts are too many");
    const Arg::List none(static_cast<size_t>(count), Arg(0));
    return c.emit("split_with_sizes.default", {x, Arg::list(none), dim});
  }
  return splitEvenly(c, x, total / count + (total % count != 0), dim);
}

// Ends of slices, of dimension `dim`.
Replacement slices(Decomposition& c, Node& x, size_t dim, const std::vector<int64_t>& bounds) {
  std::vector<Node*> parts;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    parts.push_back(&c.emit("slice.Tensor", {x, dim, bounds[i], bounds[i + 1]}));
  }
  return Replacement(std::move(parts));
}

std::vector<int64_t> sectionBounds(Decomposition& c, int64_t total, int64_t sections) {
  c.need(sections > 0 && sections < 100000, "the number of sections does not fit");
  std::vector<int64_t> bounds{0};
  for (int64_t i = 0; i < sections; ++i) {
    bounds.push_back(bounds.back() + total / sections + (i < total % sections));
  }
  return bounds;
}

Replacement splitInto(Decomposition& c, Node& x, size_t dim, bool isSections) {
  const int64_t total = c.known(c.size(x, dim));
  if (isSections) return slices(c, x, dim, sectionBounds(c, total, c.integer(1, "sections")));
  std::vector<int64_t> bounds{0};
  for (const int64_t index : c.integers(1, "indices")) bounds.push_back(index);
  bounds.push_back(total);
  return slices(c, x, dim, bounds);
}

Replacement tensorSplitRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(c.rank(x) > 0, "a scalar has no parts");
  return splitInto(c, x, c.wrap(c.integer(2, "dim", 0), x), c.overload() == "sections");
}

Replacement alongSplitRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t rank = c.rank(x);
  const size_t dim = c.op() == "vsplit" ? 0 : c.op() == "dsplit" ? 2 : rank == 1 ? 0 : 1;
  c.need(dim < rank, "the rank does not fit");
  return splitInto(c, x, dim, c.overload() == "int");
}

Replacement unbindRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t dim = c.wrap(c.integer(1, "dim", 0), x);
  c.need(c.rank(x) > 0, "a scalar has no parts");
  const int64_t count = c.known(c.size(x, dim));
  if (count == 0) return Replacement(std::vector<Node*>());
  Replacement parts = slices(c, x, dim, sectionBounds(c, count, count));
  for (Node*& part : parts.nodes) part = &c.emit("squeeze.dims", {*part, {dim}});
  return parts;
}

Replacement rollRule(Decomposition& c) {
  Node* x = &c.in(0, "self");
  std::vector<int64_t> shifts = c.integers(1, "shifts"), dims = c.integers(2, "dims");
  const Dims sizes = c.meta(*x).sizes;
  c.need(!shifts.empty() && !sizes.empty(), "nothing is shifted");
  const bool isFlat = dims.empty();
  if (isFlat) {
    x = &c.reshape(*x, {elementCount(sizes)});
    dims = {0};
  }
  c.need(shifts.size() == dims.size(), "shifts and dimensions differ in number");
  for (size_t i = 0; i < shifts.size(); ++i) {
    const size_t dim = c.wrap(dims[i], *x);
    const int64_t count = c.known(c.size(*x, dim));
    if (count == 0) continue;
    const int64_t rest = shifts[i] % count;  // of the sign of the shift
    const int64_t start = rest > 0 ? count - rest : -rest;
    const TensorMeta& tensor = c.meta(*x);
    const Kwargs place{{"device", Arg::device(text(tensor.device))}, {"pin_memory", false}};
    Node& index = c.emit("arange.default", {count}, place);
    Node& sum = c.emit("add.Tensor", {index, start});
    Node& wrapped = c.emit("fmod.Scalar", {sum, count});
    x = &c.emit("index_select.default", {*x, dims[i], wrapped});
  }
  return isFlat ? c.view(*x, sizes) : *x;
}

Replacement atLeastRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Dims& sizes = c.meta(x).sizes;
  const size_t wanted = c.op() == "atleast_1d" ? 1 : 2;
  if (sizes.size() >= wanted) return x;
  Dims more(wanted - sizes.size(), SymInt(1));
  more.insert(more.end(), sizes.begin(), sizes.end());
  return c.view(x, more);
}

// Splits, reorders the last five dimensions, and joins again, in the memory format of the operand.
Replacement regroupPixels(Decomposition& c, Node& x, const Dims& split, const std::array<size_t, 5>& last,
                          const Dims& joined) {
  const size_t batch = split.size() - last.size();
  std::vector<int64_t> order(batch);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (const size_t dim : last) order.push_back(static_cast<int64_t>(batch + dim));
  const MemoryFormat format = suggestedFormat(c.meta(x));
  Node& made = c.reshape(c.permute(c.reshape(x, split), order), joined);
  return c.emit("clone.default", {made}, {{"memory_format", format}});
}

Replacement pixelShuffleRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const SymInt factor(c.integer(1, "upscale_factor"));
  const Dims& sizes = c.meta(x).sizes;
  c.need(sizes.size() >= 3 && factor.value() > 0, "the rank or the factor does not fit");
  const size_t batch = sizes.size() - 3;
  Dims split(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(batch)), joined = split;
  const SymInt channels = symFloorDiv(sizes[batch], symMul(factor, factor));
  for (const SymInt& size : {channels, factor, factor, sizes[batch + 1], sizes[batch + 2]})
    split.push_back(size);
  joined.push_back(channels);
  joined.push_back(symMul(sizes[batch + 1], factor));
  joined.push_back(symMul(sizes[batch + 2], factor));
  return regroupPixels(c, x, split, {0, 3, 1, 4, 2}, joined);
}

Replacement pixelUnshuffleRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const SymInt factor(c.integer(1, "downscale_factor"));
  const Dims& sizes = c.meta(x).sizes;
  c.need(sizes.size() >= 3 && factor.value() > 0, "the rank or the factor does not fit");
  const size_t batch = sizes.size() - 3;
  Dims split(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(batch)), joined = split;
  const SymInt height = symFloorDiv(sizes[batch + 1], factor), width = symFloorDiv(sizes[batch + 2], factor);
  for (const SymInt& size : {sizes[batch], height, factor, width, factor}) split.push_back(size);
  joined.push_back(symMul(sizes[batch], symMul(factor, factor)));
  joined.push_back(height);
  joined.push_back(width);
  return regroupPixels(c, x, split, {0, 2, 4, 1, 3}, joined);
}

Replacement channelShuffleRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const SymInt groups(c.integer(1, "groups"));
  const Dims& sizes = c.meta(x).sizes;
  c.need(sizes.size() >= 3 && groups.value() > 0, "the rank or the number of groups does not fit");
  Dims split{sizes[0], groups, symFloorDiv(sizes[1], groups)};
  split.insert(split.end(), sizes.begin() + 2, sizes.end());
  std::vector<int64_t> order(split.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[1], order[2]);
  return c.reshape(c.permute(c.reshape(x, split), order), sizes);
}

constexpr NamedDecomposition kViewDecompositions[] = {
    {"_unsafe_view.default", viewRule},
    {"reshape.default", reshapeRule},
    {"_reshape_alias.default", reshapeRule},
    {"reshape_as.default", reshapeAsRule},
    {"view_as.default", viewAsRule},
    {"expand_as.default", expandAsRule},
    {"broadcast_to.default", broadcastToRule},
    {"flatten.using_ints", flattenRule},
    {"unflatten.int", unflattenRule},
    {"squeeze.default", squeezeRule},
    {"squeeze.dim", squeezeRule},
    {"transpose.int", transposeRule},
    {"swapaxes.default", transposeRule},
    {"swapdims.default", transposeRule},
    {"t.default", matrixTransposeRule},
    {"mT.default", matrixTransposeRule},
    {"mH.default", matrixTransposeRule},
    {"adjoint.default", matrixTransposeRule},
    {"matrix_H.default", matrixTransposeRule},
    {"numpy_T.default", reversedRule},
    {"movedim.int", movedimRule},
    {"movedim.intlist", movedimRule},
    {"moveaxis.int", movedimRule},
    {"moveaxis.intlist", movedimRule},
    {"narrow.default", narrowRule},
    {"narrow_copy.default", narrowRule},
    {"detach.default", identityRule},
    {"lift.default", identityRule},
    {"lift_fresh.default", identityRule},
    {"positive.default", identityRule},
    {"split.Tensor", splitRule},
    {"unsafe_split.Tensor", splitRule},
    {"split.sizes", splitSizesRule},
    {"unsafe_split_with_sizes.default", splitSizesRule},
    {"chunk.default", chunkRule},
    {"unsafe_chunk.default", chunkRule},
    {"tensor_split.sections", tensorSplitRule},
    {"tensor_split.indices", tensorSplitRule},
    {"hsplit.int", alongSplitRule},
    {"hsplit.array", alongSplitRule},
    {"vsplit.int", alongSplitRule},
    {"vsplit.array", alongSplitRule},
    {"dsplit.int", alongSplitRule},
    {"dsplit.array", alongSplitRule},
    {"unbind.int", unbindRule},
    {"roll.default", rollRule},
    {"atleast_1d.default", atLeastRule},
    {"atleast_2d.default", atLeastRule},
    {"pixel_shuffle.default", pixelShuffleRule},
    {"pixel_unshuffle.default", pixelUnshuffleRule},
    {"channel_shuffle.default", channelShuffleRule},
    {"native_channel_shuffle.default", channelShuffleRule},
};

}  // namespace

std::span<const NamedDecomposition> viewDecompositions() {
  return kViewDecompositions;
}

}  // namespace edgefx::detail

#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <algorithm>

// Views of all elements of a tensor in another shape or order. The `_copy` forms give a contiguous tensor of
// the view's sizes.
namespace edgefx::detail {
namespace {

bool isOne(const SymInt& size) {
  return !size.isSymbolic() && size.value() == 1;
}

bool isZero(const SymInt& size) {
  return !size.isSymbolic() && size.value() == 0;
}

ValueRef viewResult(const ShapeCall& call, TensorMeta view) {
  view.requiresGrad = false;
  if (!call.op().ends_with("_copy")) return valueOf(std::move(view));
  return valueOf(contiguousLike(view, view.dtype, std::move(view.sizes)));
}

// With -1 replaced.
Dims resolvedSizes(const ShapeCall& call, const TensorMeta& self, Dims sizes) {
  const SymInt count = elementCount(self.sizes);
  std::optional<size_t> open;
  SymInt known(1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].isSymbolic() || sizes[i].value() >= 0) {
      known = symMul(known, sizes[i]);
    } else if (sizes[i].value() != -1 || open) {
      call.fail("expected sizes of which one may be -1, found {}", dimsText(sizes));
    } else {
      open = i;
    }
  }
  const auto misfit = [&] {
    call.fail("expected {} elements, for the input has sizes {}, found sizes {}", count.text(),
              dimsText(self.sizes), dimsText(sizes));
  };
  if (open) {
    if (isZero(known)) misfit();
    if (!known.isSymbolic() && !count.isSymbolic() && count.value() % known.value() != 0) misfit();
    sizes[*open] = symFloorDiv(count, known);
  } else if (!known.isSymbolic() && !count.isSymbolic() && known.value() != count.value()) {
    misfit();
  }
  return sizes;
}

// at::detail::computeStride: nothing if the elements do not lie so that a view could have these sizes.
std::optional<Dims> stridesOfView(const TensorMeta& self, const Dims& sizes) {
  const auto isSymbolic = [](const SymInt& size) { return size.isSymbolic(); };
  if (self.sizes.empty() || std::ranges::any_of(self.sizes, isZero) ||
      ((std::ranges::any_of(sizes, isSymbolic) || std::ranges::any_of(self.sizes, isSymbolic)) &&
       isContiguous(self))) {
    return contiguousStrides(sizes);
  }
  Dims strides(sizes.size());
  size_t next = sizes.size();  // dimensions from here on have their strides
  SymInt chunkStride = self.strides.back();
  SymInt count(1), viewCount(1);
  for (size_t i = self.sizes.size(); i-- > 0;) {
    count = symMul(count, self.sizes[i]);
    const bool ends =
        i == 0 || (!isOne(self.sizes[i - 1]) && !symEqual(self.strides[i - 1], symMul(count, chunkStride)));
    if (!ends) continue;
    while (next > 0 && (isOne(sizes[next - 1]) || !symEqual(viewCount, count))) {
      const std::optional<int> order = symCompare(viewCount, count);
      if (!order && !isOne(sizes[next - 1])) throw ShapeUnknown();
      if (order && *order > 0) break;
      --next;
      strides[next] = symMul(viewCount, chunkStride);
      viewCount = symMul(viewCount, sizes[next]);
    }
    if (!symEqual(viewCount, count)) {
      if (viewCount.isSymbolic() || count.isSymbolic()) throw ShapeUnknown();
      return std::nullopt;
    }
    if (i > 0) {
      chunkStride = self.strides[i - 1];
      count = viewCount = SymInt(1);
    }
  }
  if (next != 0) return std::nullopt;
  return strides;
}

TensorMeta reshaped(const ShapeCall& call, const TensorMeta& self, Dims sizes, bool mayCopy) {
  TensorMeta view = self;
  if (std::optional<Dims> strides = stridesOfView(self, sizes)) {
    view.strides = std::move(*strides);
    view.sizes = std::move(sizes);
    return view;
  }
  if (!mayCopy) {
    call.fail("expected sizes that fit the strides {} of sizes {}, found {}", dimsText(self.strides),
              dimsText(self.sizes), dimsText(sizes));
  }
  return contiguousLike(self, self.dtype, std::move(sizes));
}

ValueRef reshapeShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() == "dtype") throw ShapeUnknown();
  Dims sizes = resolvedSizes(call, self, call.sizes(1, "size"));
  const std::string_view op = call.op();
  if (op == "view_copy") return valueOf(contiguousLike(self, self.dtype, std::move(sizes)));
  return viewResult(call, reshaped(call, self, std::move(sizes), op != "view" && op != "_unsafe_view"));
}

ValueRef flattenShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() != "using_ints") throw ShapeUnknown();
  const size_t rank = self.sizes.size();
  const size_t start = call.dimension(call.integer(1, "start_dim", 0), rank);
  const size_t end = call.dimension(call.integer(2, "end_dim", -1), rank);
  if (start > end) call.fail("expected dimensions in order, found {} and {}", start, end);
  if (rank == 0) return viewResult(call, reshaped(call, self, {SymInt(1)}, true));
  if (start == end) return viewResult(call, self);
  Dims sizes(self.sizes.begin(), self.sizes.begin() + static_cast<ptrdiff_t>(start));
  sizes.push_back(elementCount(std::span(self.sizes).subspan(start, end - start + 1)));
  sizes.insert(sizes.end(), self.sizes.begin() + static_cast<ptrdiff_t>(end) + 1, self.sizes.end());
  return viewResult(call, reshaped(call, self, std::move(sizes), true));
}

TensorMeta permuted(const TensorMeta& self, const std::vector<size_t>& order) {
  TensorMeta view = self;
  for (size_t i = 0; i < order.size(); ++i) {
    view.sizes[i] = self.sizes[order[i]];
    view.strides[i] = self.strides[order[i]];
  }
  return view;
}

ValueRef permuteShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::vector<int64_t> dims = call.integers(1, "dims");
  if (dims.size() != self.sizes.size()) {
    call.fail("expected {} dimensions, found {}", self.sizes.size(), dims.size());
  }
  call.dimensions(dims, self.sizes.size());  // each once
  std::vector<size_t> order;
  for (const int64_t dim : dims) order.push_back(call.dimension(dim, self.sizes.size()));
  return viewResult(call, permuted(self, order));
}

TensorMeta transposed(const TensorMeta& self, size_t a, size_t b) {
  TensorMeta view = self;
  if (a == b) return view;
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

ValueRef transposeShape(const ShapeCall& call) {
  if (call.overload() == "Dimname") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  const size_t a = call.dimension(call.integer(1, "dim0"), self.sizes.size());
  const size_t b = call.dimension(call.integer(2, "dim1"), self.sizes.size());
  return viewResult(call, transposed(self, a, b));
}

ValueRef matrixTransposeShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.size() > 2) call.fail("expected at most 2 dimensions, found {}", self.sizes.size());
  return viewResult(call, self.sizes.size() < 2 ? self : transposed(self, 0, 1));
}

ValueRef moveDimShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::vector<int64_t> from = call.integers(1, "source"), to = call.integers(2, "destination");
  const size_t rank = self.sizes.size();
  if (from.size() != to.size()) call.fail("expected as many destinations as sources");
  const std::vector<bool> isMoved = from.empty() ? std::vector<bool>(rank) : call.dimensions(from, rank);
  const std::vector<bool> isTaken = to.empty() ? std::vector<bool>(rank) : call.dimensions(to, rank);
  if (rank == 0) return viewResult(call, self);
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < from.size(); ++i) order[call.dimension(to[i], rank)] = call.dimension(from[i], rank);
  size_t source = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (isTaken[i]) continue;
    while (isMoved[source]) ++source;
    order[i] = source++;
  }
  return viewResult(call, permuted(self, order));
}

ValueRef unsqueezeShape(const ShapeCall& call) {
  TensorMeta view = call.tensor(0, "self");
  const size_t rank = view.sizes.size();
  const size_t dim = call.dimension(call.integer(1, "dim"), rank + 1);
  const SymInt stride = dim < rank ? symMul(view.sizes[dim], view.strides[dim]) : SymInt(1);
  view.sizes.insert(view.sizes.begin() + static_cast<ptrdiff_t>(dim), SymInt(1));
  view.strides.insert(view.strides.begin() + static_cast<ptrdiff_t>(dim), stride);
  return viewResult(call, std::move(view));
}

ValueRef squeezeShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() == "dimname") throw ShapeUnknown();
  std::vector<bool> chosen(self.sizes.size(), true);
  if (call.overload() != "default") {
    const std::vector<int64_t> dims = call.integers(1, "dim");
    chosen = dims.empty() ? std::vector<bool>(self.sizes.size()) : call.dimensions(dims, self.sizes.size());
  }
  TensorMeta view = self;
  view.sizes.clear();
  view.strides.clear();
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (chosen[i] && isOne(self.sizes[i])) continue;
    // One that may be 0 or 1: whether it stays depends on data.
    if (chosen[i] && self.sizes[i].isSymbolic() && symCompare(self.sizes[i], SymInt(1)) != 1)
      throw ShapeUnknown();
    view.sizes.push_back(self.sizes[i]);
    view.strides.push_back(self.strides[i]);
  }
  return viewResult(call, std::move(view));
}

ValueRef expandShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  Dims sizes = call.op() == "expand_as" ? call.tensor(1, "other").sizes : call.sizes(1, "size");
  const size_t rank = self.sizes.size();
  const auto misfit = [&] {
    call.fail("expected sizes that {} expands to, found {}", dimsText(self.sizes), dimsText(sizes));
  };
  if (sizes.size() < rank) misfit();
  TensorMeta view = self;
  view.strides.assign(sizes.size(), SymInt(0));
  const size_t lead = sizes.size() - rank;
  for (size_t i = sizes.size(); i-- > 0;) {
    const bool isKept = !sizes[i].isSymbolic() && sizes[i].value() == -1;
    if (i < lead) {
      if (isKept) misfit();
      if (isOne(sizes[i])) {
        view.strides[i] = i + 1 < sizes.size() ? symMul(sizes[i + 1], view.strides[i + 1]) : SymInt(1);
      }
      continue;
    }
    const SymInt& old = self.sizes[i - lead];
    if (isKept) sizes[i] = old;
    if (symEqual(sizes[i], old)) {
      view.strides[i] = self.strides[i - lead];
    } else if (!isOne(old)) {
      if (!old.isSymbolic() && !sizes[i].isSymbolic()) misfit();
      if (old.isSymbolic() && symCompare(old, SymInt(1)) != 1) throw ShapeUnknown();
      view.strides[i] = self.strides[i - lead];  // not 1, so it must be the same number
    }
  }
  view.sizes = std::move(sizes);
  return viewResult(call, std::move(view));
}

// The same tensor.
ValueRef aliasShape(const ShapeCall& call) {
  return viewResult(call, call.tensor(0, "self"));
}

ValueRef asStridedShape(const ShapeCall& call) {
  TensorMeta view = call.tensor(0, "self");
  view.sizes = call.sizes(1, "size");
  view.strides = call.sizes(2, "stride");
  if (view.sizes.size() != view.strides.size()) {
    call.fail("expected as many strides as sizes, found {} and {}", dimsText(view.strides),
              dimsText(view.sizes));
  }
  view.storageOffset = call.size(3, "storage_offset", view.storageOffset);
  return viewResult(call, std::move(view));
}

ValueRef diagonalShape(const ShapeCall& call) {
  TensorMeta view = call.tensor(0, "self");
  if (call.overload() != "default") throw ShapeUnknown();
  const int64_t offset = call.integer(1, "offset", 0);
  const size_t a = call.dimension(call.integer(2, "dim1", 0), view.sizes.size());
  const size_t b = call.dimension(call.integer(3, "dim2", 1), view.sizes.size());
  if (a == b) call.fail("expected two dimensions, found {} twice", a);
  const SymInt rows = offset < 0 ? symSub(view.sizes[a], SymInt(-offset)) : view.sizes[a];
  const SymInt columns = offset > 0 ? symSub(view.sizes[b], SymInt(offset)) : view.sizes[b];
  const SymInt count = symMax(SymInt(0), symMin(rows, columns));
  const SymInt stride = symAdd(view.strides[a], view.strides[b]);
  const SymInt& along = offset < 0 ? view.strides[a] : view.strides[b];
  if (!isZero(count)) {
    view.storageOffset = symAdd(view.storageOffset, symMul(SymInt(offset < 0 ? -offset : offset), along));
  }
  for (const size_t dim : {std::max(a, b), std::min(a, b)}) {
    view.sizes.erase(view.sizes.begin() + static_cast<ptrdiff_t>(dim));
    view.strides.erase(view.strides.begin() + static_cast<ptrdiff_t>(dim));
  }
  view.sizes.push_back(count);
  view.strides.push_back(stride);
  return viewResult(call, std::move(view));
}

// Complex numbers as pairs, and back.
ValueRef viewAsRealShape(const ShapeCall& call) {
  TensorMeta view = call.tensor(0, "self");
  if (!isComplex(view.dtype)) call.fail("expected a complex tensor, found {}", fxText(view.dtype));
  view.dtype = realOf(view.dtype);
  for (SymInt& stride : view.strides) stride = symMul(stride, SymInt(2));
  view.storageOffset = symMul(view.storageOffset, SymInt(2));
  view.sizes.push_back(SymInt(2));
  view.strides.push_back(SymInt(1));
  return viewResult(call, std::move(view));
}

constexpr NamedShapeRule kViewRules[] = {
    {"aten.view", reshapeShape},
    {"aten.view_copy", reshapeShape},
    {"aten._unsafe_view", reshapeShape},
    {"aten.reshape", reshapeShape},
    {"aten.flatten", flattenShape},
    {"aten.permute", permuteShape},
    {"aten.permute_copy", permuteShape},
    {"aten.transpose", transposeShape},
    {"aten.transpose_copy", transposeShape},
    {"aten.swapaxes", transposeShape},
    {"aten.swapdims", transposeShape},
    {"aten.t", matrixTransposeShape},
    {"aten.t_copy", matrixTransposeShape},
    {"aten.numpy_T", matrixTransposeShape},
    {"aten.movedim", moveDimShape},
    {"aten.moveaxis", moveDimShape},
    {"aten.unsqueeze", unsqueezeShape},
    {"aten.unsqueeze_copy", unsqueezeShape},
    {"aten.squeeze", squeezeShape},
    {"aten.squeeze_copy", squeezeShape},
    {"aten.expand", expandShape},
    {"aten.expand_as", expandShape},
    {"aten.expand_copy", expandShape},
    {"aten.alias", aliasShape},
    {"aten.alias_copy", aliasShape},
    {"aten.detach", aliasShape},
    {"aten.detach_copy", aliasShape},
    {"aten._conj", aliasShape},
    {"aten.as_strided", asStridedShape},
    {"aten.as_strided_copy", asStridedShape},
    {"aten.diagonal", diagonalShape},
    {"aten.diagonal_copy", diagonalShape},
    {"aten.view_as_real", viewAsRealShape},
    {"aten.view_as_real_copy", viewAsRealShape},
};

}  // namespace

std::span<const NamedShapeRule> viewShapeRules() {
  return kViewRules;
}

}  // namespace edgefx::detail

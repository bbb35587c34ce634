#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <limits>

// Views of a part of a tensor: slices, single elements of a dimension, and lists of parts.
namespace edgefx::detail {
namespace {

// A list longer than this is a fault of the file, not a model.
constexpr int64_t kMostParts = int64_t{1} << 16;

bool givesCopies(const ShapeCall& call) {
  return call.op().ends_with("_copy");
}

ValueRef partResult(const ShapeCall& call, TensorMeta view) {
  view.requiresGrad = false;
  if (!givesCopies(call)) return valueOf(std::move(view));
  return valueOf(contiguousLike(view, view.dtype, std::move(view.sizes)));
}

// Elements from `start` on, `size` of them.
TensorMeta partOf(const TensorMeta& self, size_t dim, const SymInt& start, const SymInt& size) {
  TensorMeta view = self;
  view.storageOffset = symAdd(self.storageOffset, symMul(start, self.strides[dim]));
  view.sizes[dim] = size;
  return view;
}

// A position in a dimension as slices take it: from the end if negative, and held inside.
SymInt slicePosition(const SymInt& position, const SymInt& size) {
  if (!position.isSymbolic() && position.value() == std::numeric_limits<int64_t>::max()) return size;
  SymInt place = position;
  if (!symAtLeast(position, SymInt(0))) {
    // Of a position that may be below zero or not, nothing can be said.
    if (symCompare(position, SymInt(0)) != -1) throw ShapeUnknown();
    place = symMax(symAdd(position, size), SymInt(0));
  }
  return symMin(place, size);
}

ValueRef sliceShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  const size_t dim = call.dimension(call.integer(1, "dim", 0), self.sizes.size());
  const SymInt& size = self.sizes[dim];
  const SymInt step = call.size(4, "step", SymInt(1));
  if (!step.isSymbolic() && step.value() <= 0) call.fail("expected a positive step, found {}", step.value());
  const SymInt start = slicePosition(call.size(2, "start", SymInt(0)), size);
  const Argument* const stop = call.find(3, "end");
  const SymInt end = stop == nullptr ? size : slicePosition(ShapeCall::sizeOf(*stop), size);
  const bool isFromZero = !start.isSymbolic() && start.value() == 0;
  const SymInt held = isFromZero ? end : symMax(symSub(end, start), SymInt(0));
  TensorMeta view = partOf(self, dim, start, symFloorDiv(symAdd(held, symSub(step, SymInt(1))), step));
  view.strides[dim] = symMul(view.strides[dim], step);
  return partResult(call, std::move(view));
}

ValueRef narrowShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.overload() != "default") throw ShapeUnknown();
  const size_t dim = call.dimension(call.integer(1, "dim"), self.sizes.size());
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  SymInt start = call.size(2, "start");
  const SymInt length = call.size(3, "length");
  if (!start.isSymbolic() && start.value() < 0) start = symAdd(start, self.sizes[dim]);
  if (symCompare(symAdd(start, length), self.sizes[dim]) == 1) {
    call.fail("expected a part of dimension {} of sizes {}, found {} elements from {} on", dim,
              dimsText(self.sizes), length.text(), start.text());
  }
  return partResult(call, partOf(self, dim, start, length));
}

// The tensor at `index` of the dimension.
TensorMeta selected(const TensorMeta& self, size_t dim, const SymInt& index) {
  TensorMeta view = partOf(self, dim, index, SymInt(1));
  view.sizes.erase(view.sizes.begin() + static_cast<ptrdiff_t>(dim));
  view.strides.erase(view.strides.begin() + static_cast<ptrdiff_t>(dim));
  return view;
}

ValueRef selectShape(const ShapeCall& call) {
  if (call.overload() != "int") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  const size_t dim = call.dimension(call.integer(1, "dim"), self.sizes.size());
  SymInt index = call.size(2, "index");
  const SymInt& size = self.sizes[dim];
  if (!index.isSymbolic() && !size.isSymbolic() &&
      (index.value() < -size.value() || index.value() >= size.value())) {
    call.fail("expected an index into {} elements, found {}", size.value(), index.value());
  }
  if (!index.isSymbolic() && index.value() < 0) index = symAdd(index, size);
  return partResult(call, selected(self, dim, index));
}

ValueRef partsShape(const ShapeCall& call, const TensorMeta& self, size_t dim, const Dims& lengths) {
  std::vector<TensorMeta> parts;
  SymInt start(0);
  for (const SymInt& length : lengths) {
    TensorMeta part = partOf(self, dim, start, length);
    part.requiresGrad = false;
    if (givesCopies(call)) part = contiguousLike(part, part.dtype, part.sizes);
    parts.push_back(std::move(part));
    start = symAdd(start, length);
  }
  return valuesOf(std::move(parts), true);
}

// Parts of one length, a shorter one at the end.
Dims equalParts(const ShapeCall& call, const SymInt& total, const SymInt& length) {
  if (total.isSymbolic() || length.isSymbolic()) {
    const SymInt count = symFloorDiv(total, length);
    if (count.isSymbolic() || count.value() > kMostParts || !symEqual(symMul(count, length), total)) {
      throw ShapeUnknown();
    }
    return Dims(static_cast<size_t>(count.value()), length);
  }
  if (length.value() <= 0 && total.value() != 0)
    call.fail("expected parts of positive length, found {}", length.value());
  if (total.value() == 0) return {SymInt(0)};
  const int64_t count = (total.value() - 1) / length.value() + 1;
  if (count > kMostParts) throw ShapeUnknown();
  Dims lengths(static_cast<size_t>(count), length);
  lengths.back() = SymInt(total.value() - (count - 1) * length.value());
  return lengths;
}

ValueRef splitShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const size_t dim = call.dimension(call.integer(2, "dim", 0), self.sizes.size());
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  if (!call.at(1, "split_size").isSequence()) {
    return partsShape(call, self, dim, equalParts(call, self.sizes[dim], call.size(1, "split_size")));
  }
  const Dims lengths = call.sizes(1, "split_sizes");
  SymInt total(0);
  for (const SymInt& length : lengths) total = symAdd(total, length);
  if (!total.isSymbolic() && !self.sizes[dim].isSymbolic() && total.value() != self.sizes[dim].value()) {
    call.fail("expected lengths that come to {}, found {}", self.sizes[dim].value(), dimsText(lengths));
  }
  return partsShape(call, self, dim, lengths);
}

ValueRef chunkShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const size_t dim = call.dimension(call.integer(2, "dim", 0), self.sizes.size());
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  const int64_t chunks = call.integer(1, "chunks");
  if (chunks <= 0 || chunks > kMostParts) call.fail("expected a positive number of chunks, found {}", chunks);
  const SymInt& total = self.sizes[dim];
  const SymInt length = symFloorDiv(symAdd(total, SymInt(chunks - 1)), SymInt(chunks));
  if (!total.isSymbolic() && total.value() == 0) {
    return partsShape(call, self, dim, Dims(static_cast<size_t>(chunks), SymInt(0)));
  }
  return partsShape(call, self, dim, equalParts(call, total, length));
}

ValueRef unbindShape(const ShapeCall& call) {
  if (call.overload() == "Dimname") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  const size_t dim = call.dimension(call.integer(1, "dim", 0), self.sizes.size());
  const SymInt& count = self.sizes[dim];
  if (count.isSymbolic() || count.value() > kMostParts) throw ShapeUnknown();
  std::vector<TensorMeta> parts;
  for (int64_t i = 0; i < count.value(); ++i) {
    TensorMeta part = selected(self, dim, SymInt(i));
    part.requiresGrad = false;
    if (givesCopies(call)) part = contiguousLike(part, part.dtype, part.sizes);
    parts.push_back(std::move(part));
  }
  return valuesOf(std::move(parts), true);
}

constexpr NamedShapeRule kPartRules[] = {
    {"aten.slice", sliceShape},
    {"aten.slice_copy", sliceShape},
    {"aten.narrow", narrowShape},
    {"aten.narrow_copy", narrowShape},
    {"aten.select", selectShape},
    {"aten.select_copy", selectShape},
    {"aten.split", splitShape},
    {"aten.split_copy", splitShape},
    {"aten.split_with_sizes", splitShape},
    {"aten.split_with_sizes_copy", splitShape},
    {"aten.chunk", chunkShape},
    {"aten.unbind", unbindShape},
    {"aten.unbind_copy", unbindShape},
};

}  // namespace

std::span<const NamedShapeRule> partShapeRules() {
  return kPartRules;
}

}  // namespace edgefx::detail

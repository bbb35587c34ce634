#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <algorithm>

// Results put together from the elements of one or more tensors.
namespace edgefx::detail {
namespace {

// Empty tensors of one dimension take part in the type only.
bool isSkipped(const TensorMeta& tensor) {
  return tensor.sizes.size() == 1 && !tensor.sizes[0].isSymbolic() && tensor.sizes[0].value() == 0;
}

TensorMeta joined(const ShapeCall& call, std::span<const TensorMeta* const> all, int64_t dim) {
  if (all.empty()) call.fail("expected tensors, found an empty list");
  DtypePromotion promotion;
  std::vector<const TensorMeta*> tensors;
  for (const TensorMeta* tensor : all) {
    if (tensor == nullptr) throw ShapeUnknown();
    promotion.addTensor(*tensor);
    if (!isSkipped(*tensor)) tensors.push_back(tensor);
  }
  if (tensors.empty()) return contiguousLike(*all.front(), promotion.result(), {SymInt(0)});
  Dims sizes = tensors.front()->sizes;
  if (sizes.empty()) call.fail("expected tensors with dimensions, found one without");
  const size_t place = call.dimension(dim, sizes.size());
  SymInt total(0);
  MemoryFormat format = suggestedFormat(*all.front());
  for (const TensorMeta* tensor : all) {
    if (suggestedFormat(*tensor) != format) format = MemoryFormat::Contiguous;
  }
  for (const TensorMeta* tensor : tensors) {
    if (tensor->sizes.size() != sizes.size()) {
      call.fail("expected {} dimensions, found sizes {}", sizes.size(), dimsText(tensor->sizes));
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (i == place) continue;
      const std::optional<int> order = symCompare(tensor->sizes[i], sizes[i]);
      if (order && *order != 0 && !tensor->sizes[i].isSymbolic() && !sizes[i].isSymbolic()) {
        call.fail("expected sizes {} but for dimension {}, found {}", dimsText(sizes), place,
                  dimsText(tensor->sizes));
      }
      if (sizes[i].isSymbolic()) sizes[i] = tensor->sizes[i];  // they must be equal: prefer the number
    }
    total = symAdd(total, tensor->sizes[place]);
  }
  sizes[place] = total;
  return formatted(call, *tensors.front(), promotion.result(), std::move(sizes), format);
}

ValueRef catShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  return valueOf(joined(call, call.tensors(0, "tensors"), call.integer(1, "dim", 0)));
}

ValueRef stackShape(const ShapeCall& call) {
  const std::vector<const TensorMeta*> tensors = call.tensors(0, "tensors");
  if (tensors.empty()) call.fail("expected tensors, found an empty list");
  std::vector<TensorMeta> widened;
  for (const TensorMeta* tensor : tensors) {
    if (tensor == nullptr || !isContiguous(*tensor)) throw ShapeUnknown();  // the layout is LibTorch's choice
    const auto dim =
        static_cast<ptrdiff_t>(call.dimension(call.integer(1, "dim", 0), tensor->sizes.size() + 1));
    widened.push_back(*tensor);
    widened.back().sizes.insert(widened.back().sizes.begin() + dim, SymInt(1));
    widened.back().strides = contiguousStrides(widened.back().sizes);
  }
  std::vector<const TensorMeta*> parts;
  for (const TensorMeta& tensor : widened) parts.push_back(&tensor);
  return valueOf(joined(call, parts, call.integer(1, "dim", 0)));
}

ValueRef repeatShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  Dims sizes = call.sizes(1, "repeats");
  if (sizes.size() < self.sizes.size()) {
    if (call.op() == "repeat") {
      call.fail("expected at least {} repeats, found {}", self.sizes.size(), sizes.size());
    }
    sizes.insert(sizes.begin(), self.sizes.size() - sizes.size(), SymInt(1));
  }
  const size_t lead = sizes.size() - self.sizes.size();
  for (size_t i = 0; i < self.sizes.size(); ++i) sizes[lead + i] = symMul(sizes[lead + i], self.sizes[i]);
  return valueOf(contiguousLike(self, self.dtype, std::move(sizes)));
}

ValueRef repeatInterleaveShape(const ShapeCall& call) {
  if (call.overload() != "self_int") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  const SymInt repeats = call.size(1, "repeats");
  if (call.find(2, "dim") == nullptr) {
    return valueOf(contiguousLike(self, self.dtype, {symMul(elementCount(self.sizes), repeats)}));
  }
  if (self.sizes.empty()) throw ShapeUnknown();
  Dims sizes = self.sizes;
  SymInt& size = sizes[call.dimension(call.integer(2, "dim"), sizes.size())];
  size = symMul(size, repeats);
  return valueOf(contiguousLike(self, self.dtype, std::move(sizes)));
}

ValueRef flipShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::vector<int64_t> dims = call.integers(1, "dims");
  if (!dims.empty()) call.dimensions(dims, self.sizes.size());
  return valueOf(copied(call, self, self.dtype, MemoryFormat::Preserve));
}

ValueRef rollShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  for (const int64_t dim : call.integers(2, "dims")) call.dimension(dim, self.sizes.size());
  if (!isContiguous(self)) throw ShapeUnknown();
  return valueOf(contiguousLike(self, self.dtype, self.sizes));
}

ValueRef constantPadShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (call.op() == "pad" && call.find(2, "mode") != nullptr && call.at(2, "mode").isString() &&
      call.at(2, "mode").asString() != "constant") {
    throw ShapeUnknown();
  }
  const Dims pad = call.sizes(1, "pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.sizes.size()) {
    call.fail("expected two numbers for each of at most {} dimensions, found {}", self.sizes.size(),
              dimsText(pad));
  }
  Dims sizes = self.sizes;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& size = sizes[sizes.size() - 1 - i];
    size = symAdd(size, symAdd(pad[2 * i], pad[2 * i + 1]));
    if (!size.isSymbolic() && size.value() < 0) {
      call.fail("expected padding that leaves no dimension below 0, found {} for sizes {}", dimsText(pad),
                dimsText(self.sizes));
    }
  }
  return valueOf(formatted(call, self, self.dtype, std::move(sizes), suggestedFormat(self)));
}

constexpr NamedShapeRule kJoinRules[] = {
    {"aten.cat", catShape},
    {"aten.concat", catShape},
    {"aten.stack", stackShape},
    {"aten.repeat", repeatShape},
    {"aten.tile", repeatShape},
    {"aten.repeat_interleave", repeatInterleaveShape},
    {"aten.flip", flipShape},
    {"aten.roll", rollShape},
    {"aten.constant_pad_nd", constantPadShape},
    {"aten.pad", constantPadShape},
};

}  // namespace

std::span<const NamedShapeRule> joinShapeRules() {
  return kJoinRules;
}

}  // namespace edgefx::detail

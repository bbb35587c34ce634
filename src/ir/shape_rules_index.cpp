#include "ir/dtype_promotion.h"
#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

namespace edgefx::detail {
namespace {

ValueRef embeddingShape(const ShapeCall& call) {
  const TensorMeta& weight = call.tensor(0, "weight");
  const TensorMeta& indices = call.tensor(1, "indices");
  if (weight.sizes.size() != 2)
    call.fail("expected a weight of 2 dimensions, found sizes {}", dimsText(weight.sizes));
  Dims sizes = indices.sizes;
  sizes.push_back(weight.sizes[1]);
  return valueOf(contiguousLike(weight, weight.dtype, std::move(sizes)));
}

// The dimensions indexed become those that the indices broadcast to: in the place of the first, or in front
// if others stand between them. The layout follows the dimensions that are left.
ValueRef indexTensorShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const std::vector<const TensorMeta*> indices = call.tensors(1, "indices");
  if (indices.size() > self.sizes.size()) {
    call.fail("expected at most {} indices, found {}", self.sizes.size(), indices.size());
  }
  std::vector<Dims> shapes;
  std::vector<bool> isIndexed(self.sizes.size(), false);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    // How many elements a mask chooses depends on its data.
    if (indices[i]->dtype == Dtype::Bool || indices[i]->dtype == Dtype::UInt8) throw ShapeUnknown();
    if (!isIntegral(indices[i]->dtype))
      call.fail("expected whole numbers as indices, found {}", fxText(indices[i]->dtype));
    shapes.push_back(indices[i]->sizes);
    isIndexed[i] = true;
  }
  if (shapes.empty()) throw ShapeUnknown();
  size_t first = 0, last = 0, count = 0;
  for (size_t i = 0; i < isIndexed.size(); ++i) {
    if (!isIndexed[i]) continue;
    if (count++ == 0) first = i;
    last = i;
  }
  const size_t place = last - first + 1 == count ? first : 0;
  TensorMeta view = self;  // with 0 as the strides of what the indices give
  view.sizes.clear();
  view.strides.clear();
  const Dims common = broadcast(call, shapes);
  const auto insertIndices = [&] {
    view.sizes.insert(view.sizes.end(), common.begin(), common.end());
    view.strides.insert(view.strides.end(), common.size(), SymInt(0));
  };
  size_t kept = 0;
  for (size_t i = 0; i < self.sizes.size(); ++i) {
    if (isIndexed[i]) continue;
    if (kept++ == place) insertIndices();
    view.sizes.push_back(self.sizes[i]);
    view.strides.push_back(self.strides[i]);
  }
  if (kept <= place) insertIndices();
  const TensorMeta* const inputs[] = {&view};
  TensorMeta out = contiguousLike(self, self.dtype, view.sizes);
  out.strides = elementwiseStrides(out.sizes, inputs);
  return valueOf(std::move(out));
}

ValueRef indexSelectShape(const ShapeCall& call) {
  if (call.overload() == "dimname") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta& index = call.tensor(2, "index");
  const size_t dim = call.dimension(call.integer(1, "dim"), self.sizes.size());
  if (index.sizes.size() > 1)
    call.fail("expected an index of at most 1 dimension, found {}", dimsText(index.sizes));
  Dims sizes = self.sizes;
  if (!sizes.empty()) sizes[dim] = index.sizes.empty() ? SymInt(1) : index.sizes[0];
  return valueOf(contiguousLike(self, self.dtype, std::move(sizes)));
}

ValueRef gatherShape(const ShapeCall& call) {
  if (call.overload() == "dimname") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta& index = call.tensor(2, "index");
  call.dimension(call.integer(1, "dim"), self.sizes.size());
  return valueOf(contiguousLike(self, self.dtype, index.sizes));
}

// A copy with some elements written.
ValueRef writtenCopyShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(copied(call, self, self.dtype, MemoryFormat::Preserve));
}

ValueRef writtenAlongShape(const ShapeCall& call) {
  if (call.overload().find("imname") != std::string_view::npos) throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  call.dimension(call.integer(1, "dim"), self.sizes.size());
  return valueOf(contiguousLike(self, self.dtype, self.sizes));
}

ValueRef triangleShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.size() < 2) call.fail("expected 2 or more dimensions, found sizes {}", dimsText(self.sizes));
  return valueOf(contiguousLike(self, self.dtype, self.sizes));
}

constexpr NamedShapeRule kIndexRules[] = {
    {"aten.embedding", embeddingShape},
    {"aten.index", indexTensorShape},
    {"aten.index_select", indexSelectShape},
    {"aten.gather", gatherShape},
    {"aten.index_put", writtenCopyShape},
    {"aten.select_scatter", writtenCopyShape},
    {"aten.slice_scatter", writtenCopyShape},
    {"aten.scatter", writtenAlongShape},
    {"aten.scatter_add", writtenAlongShape},
    {"aten.scatter_reduce", writtenAlongShape},
    {"aten.index_copy", writtenAlongShape},
    {"aten.index_add", writtenAlongShape},
    {"aten.index_fill", writtenAlongShape},
    {"aten.tril", triangleShape},
    {"aten.triu", triangleShape},
};

}  // namespace

std::span<const NamedShapeRule> indexShapeRules() {
  return kIndexRules;
}

}  // namespace edgefx::detail

#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

// Symbolic sizes may be equal.
bool mayBeEqual(const SymInt& a, const SymInt& b) {
  return a.isSymbolic() || b.isSymbolic() || a.value() == b.value();
}

void checkRank(const ShapeCall& call, const TensorMeta& tensor, size_t rank) {
  if (tensor.sizes.size() != rank) {
    call.fail("expected a tensor of {} dimensions, found sizes {}", rank, dimsText(tensor.sizes));
  }
}

void checkInner(const ShapeCall& call, const TensorMeta& a, const TensorMeta& b, size_t left, size_t right) {
  if (!mayBeEqual(a.sizes[left], b.sizes[right])) {
    call.fail("expected matrices that can be multiplied, found sizes {} and {}", dimsText(a.sizes),
              dimsText(b.sizes));
  }
}

void checkDtypes(const ShapeCall& call, const TensorMeta& a, const TensorMeta& b) {
  if (a.dtype != b.dtype) {
    call.fail("expected tensors of one type, found {} and {}", fxText(a.dtype), fxText(b.dtype));
  }
}

Dims mmSizes(const ShapeCall& call, const TensorMeta& a, const TensorMeta& b) {
  checkRank(call, a, 2);
  checkRank(call, b, 2);
  checkDtypes(call, a, b);
  checkInner(call, a, b, 1, 0);
  return {a.sizes[0], b.sizes[1]};
}

ValueRef mmShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(contiguousLike(self, self.dtype, mmSizes(call, self, call.tensor(1, "mat2"))));
}

ValueRef addmmShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  Dims sizes = mmSizes(call, call.tensor(1, "mat1"), call.tensor(2, "mat2"));
  const Dims shapes[] = {self.sizes, sizes};
  const Dims common = broadcast(call, shapes);
  for (size_t i = 0; i < common.size(); ++i) {
    if (common.size() != 2 || !mayBeEqual(common[i], sizes[i])) {
      call.fail("expected an addend that broadcasts to {}, found sizes {}", dimsText(sizes),
                dimsText(self.sizes));
    }
  }
  return valueOf(contiguousLike(call.tensor(1, "mat1"), self.dtype, std::move(sizes)));
}

Dims bmmSizes(const ShapeCall& call, const TensorMeta& a, const TensorMeta& b) {
  checkRank(call, a, 3);
  checkRank(call, b, 3);
  checkDtypes(call, a, b);
  checkInner(call, a, b, 2, 1);
  if (!mayBeEqual(a.sizes[0], b.sizes[0])) {
    call.fail("expected as many matrices, found sizes {} and {}", dimsText(a.sizes), dimsText(b.sizes));
  }
  return {a.sizes[0].isSymbolic() ? b.sizes[0] : a.sizes[0], a.sizes[1], b.sizes[2]};
}

ValueRef bmmShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  return valueOf(contiguousLike(self, self.dtype, bmmSizes(call, self, call.tensor(1, "mat2"))));
}

ValueRef baddbmmShape(const ShapeCall& call) {
  if (call.overload() != "default") throw ShapeUnknown();
  const TensorMeta& first = call.tensor(1, "batch1");
  return valueOf(contiguousLike(first, first.dtype, bmmSizes(call, first, call.tensor(2, "batch2"))));
}

ValueRef mvShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta& vec = call.tensor(1, "vec");
  checkRank(call, self, 2);
  checkRank(call, vec, 1);
  checkInner(call, self, vec, 1, 0);
  return valueOf(contiguousLike(self, self.dtype, {self.sizes[0]}));
}

ValueRef dotShape(const ShapeCall& call) {
  const TensorMeta& self = call.tensor(0, "self");
  const TensorMeta& other = call.tensor(1, "tensor");
  checkRank(call, self, 1);
  checkRank(call, other, 1);
  checkInner(call, self, other, 0, 0);
  return valueOf(contiguousLike(self, self.dtype, {}));
}

ValueRef matmulShape(const ShapeCall& call) {
  const TensorMeta& a = call.tensor(0, "self");
  const TensorMeta& b = call.tensor(1, "other");
  const size_t left = a.sizes.size(), right = b.sizes.size();
  if (left == 0 || right == 0) call.fail("expected tensors with dimensions, found one without");
  checkDtypes(call, a, b);
  checkInner(call, a, b, left - 1, right == 1 ? 0 : right - 2);
  // LibTorch may multiply these the other way round and turn the result.
  if (left <= 2 && right >= 3) throw ShapeUnknown();
  const auto leading = [](const TensorMeta& tensor) {
    const size_t count = tensor.sizes.size() > 2 ? tensor.sizes.size() - 2 : 0;
    return Dims(tensor.sizes.begin(), tensor.sizes.begin() + static_cast<ptrdiff_t>(count));
  };
  const Dims shapes[] = {leading(a), leading(b)};
  Dims sizes = broadcast(call, shapes);
  if (left > 1) sizes.push_back(a.sizes[left - 2]);
  if (right > 1) sizes.push_back(b.sizes[right - 1]);
  return valueOf(contiguousLike(a, a.dtype, std::move(sizes)));
}

ValueRef linearShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  const TensorMeta& weight = call.tensor(1, "weight");
  if (input.sizes.empty()) call.fail("expected an input with dimensions, found none");
  if (weight.sizes.empty() || weight.sizes.size() > 2) {
    call.fail("expected a weight of 1 or 2 dimensions, found sizes {}", dimsText(weight.sizes));
  }
  checkInner(call, input, weight, input.sizes.size() - 1, weight.sizes.size() - 1);
  checkDtypes(call, input, weight);
  Dims sizes(input.sizes.begin(), input.sizes.end() - 1);
  if (weight.sizes.size() == 2) sizes.push_back(weight.sizes[0]);
  const TensorMeta* const bias = call.findTensor(2, "bias");
  if (bias != nullptr && bias->sizes.size() == 1 && weight.sizes.size() == 2 &&
      !mayBeEqual(bias->sizes[0], weight.sizes[0])) {
    call.fail("expected a bias of size {}, found sizes {}", weight.sizes[0].text(), dimsText(bias->sizes));
  }
  return valueOf(contiguousLike(input, input.dtype, std::move(sizes)));
}

// The fused kernel of the CPU lays its result out as the query, the composed one as a new tensor. Which of
// them runs is LibTorch's choice.
ValueRef attentionShape(const ShapeCall& call) {
  const TensorMeta& query = call.tensor(0, "query");
  const TensorMeta& key = call.tensor(1, "key");
  const TensorMeta& value = call.tensor(2, "value");
  for (const TensorMeta* input : {&query, &key, &value}) {
    if (input->sizes.size() < 2) {
      call.fail("expected tensors of 2 or more dimensions, found sizes {}", dimsText(input->sizes));
    }
  }
  if (!mayBeEqual(query.sizes.back(), key.sizes.back())) {
    call.fail("expected queries and keys of one length, found sizes {} and {}", dimsText(query.sizes),
              dimsText(key.sizes));
  }
  if (query.sizes.size() != 4 || !symEqual(query.sizes.back(), value.sizes.back())) throw ShapeUnknown();
  const Argument* const dropout = call.find(4, "dropout_p");
  const bool isPlain =
      dropout == nullptr || (dropout->kind() == ArgumentKind::Float && dropout->asFloat() == 0);
  if (!isContiguous(query) && !isPlain) throw ShapeUnknown();
  return valueOf(copied(call, query, query.dtype, MemoryFormat::Preserve));
}

constexpr NamedShapeRule kMatrixRules[] = {
    {"aten.mm", mmShape},
    {"aten.addmm", addmmShape},
    {"aten.bmm", bmmShape},
    {"aten.baddbmm", baddbmmShape},
    {"aten.mv", mvShape},
    {"aten.dot", dotShape},
    {"aten.matmul", matmulShape},
    {"aten.linear", linearShape},
    {"aten.scaled_dot_product_attention", attentionShape},
};

}  // namespace

std::span<const NamedShapeRule> matrixShapeRules() {
  return kMatrixRules;
}

}  // namespace edgefx::detail

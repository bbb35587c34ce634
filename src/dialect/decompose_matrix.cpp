#include "dialect/matrix_product.h"
#include "ir/shape_layout.h"

#include <algorithm>

// Products of matrices and vectors.
namespace edgefx::detail {
namespace {

bool needsGradient(const Node& node) {
  return node.isPlaceholder() && Decomposition::meta(node).requiresGrad;
}

// Whether batches of the tensor lie one after the other, so that they fold into rows.
bool foldsToRows(const TensorMeta& tensor) {
  for (size_t i = 0; i + 2 < tensor.sizes.size(); ++i) {
    if (!symEqual(tensor.strides[i], symMul(tensor.strides[i + 1], tensor.sizes[i + 1]))) return false;
  }
  return true;
}

// at::native::should_fold: a matrix product of all rows at once, in place of one for each batch.
bool shouldFold(const Node& a, const Node& b) {
  const size_t rankA = Decomposition::rank(a), rankB = Decomposition::rank(b);
  const bool isFirstLarger = rankA >= rankB;
  const Node& larger = isFirstLarger ? a : b;
  if (std::max(rankA, rankB) < 3 || std::min(rankA, rankB) > 2) return false;
  if (needsGradient(isFirstLarger ? b : a)) return true;
  if (rankA == 2) return false;
  const TensorMeta& tensor = Decomposition::meta(larger);
  const bool isEmpty = std::ranges::any_of(
      tensor.sizes, [](const SymInt& size) { return !size.isSymbolic() && size.value() == 0; });
  return isEmpty || foldsToRows(tensor);
}

Node& foldedProduct(Decomposition& c, Node& a, Node& b) {
  const bool isTransposed = c.rank(b) > c.rank(a);
  Node& larger = isTransposed ? c.transpose(b, -2, -1) : a;
  Node& smaller = !isTransposed ? b : c.rank(a) == 2 ? c.transpose(a, 0, 1) : a;
  Dims sizes = c.meta(larger).sizes;
  const SymInt depth = sizes.back();
  sizes.pop_back();
  const SymInt rows = elementCount(sizes);
  const bool isMatrix = c.rank(smaller) == 2;
  if (isMatrix) sizes.push_back(c.size(smaller, 1));
  Node& folded = c.reshape(larger, Dims{rows, depth});
  Node& product = c.emit(isMatrix ? "mm.default" : "mv.default", {folded, smaller});
  Node& result = c.view(product, sizes);
  return isTransposed && isMatrix ? c.contiguous(c.transpose(result, -2, -1)) : result;
}

Node& batchedProduct(Decomposition& c, Node& a, Node& b) {
  const Dims& sizesA = c.meta(a).sizes;
  const Dims& sizesB = c.meta(b).sizes;
  const bool isVectorA = sizesA.size() == 1, isVectorB = sizesB.size() == 1;
  const auto batchOf = [](const Dims& sizes) {
    return sizes.size() < 3 ? Dims() : Dims(sizes.begin(), sizes.end() - 2);
  };
  const Dims batchA = batchOf(sizesA), batchB = batchOf(sizesB);
  if (sizesA.size() == 3 && sizesB.size() == 3 && !symEqual(batchA[0], batchB[0])) {
    if (symEqual(batchA[0], SymInt(1))) return matrixProduct(c, c.emit("squeeze.dims", {a, {0}}), b);
    if (symEqual(batchB[0], SymInt(1))) return matrixProduct(c, a, c.emit("squeeze.dims", {b, {0}}));
  }
  const std::vector<Dims> batches{batchA, batchB};
  Dims sizes = broadcast(c, batches);
  const SymInt count = elementCount(sizes);
  const SymInt rows = isVectorA ? SymInt(1) : sizesA[sizesA.size() - 2];
  const SymInt columns = isVectorB ? SymInt(1) : sizesB.back();
  const SymInt depthA = sizesA.back(), depthB = isVectorB ? sizesB[0] : sizesB[sizesB.size() - 2];

  Dims wide = sizes;
  wide.insert(wide.end(), {rows, depthA});
  Node& left = c.reshape(c.expand(a, wide), Dims{count, rows, depthA});
  wide = sizes;
  wide.push_back(depthB);
  if (!isVectorB) wide.push_back(columns);
  Node& expanded = c.expand(b, wide);
  Node* right = nullptr;
  if (isVectorB) {
    right = &c.emit("unsqueeze.default", {c.reshape(expanded, Dims{count, depthB}), 2});
  } else {
    right = &c.reshape(expanded, Dims{count, depthB, columns});
  }
  if (!isVectorA) sizes.push_back(rows);
  if (!isVectorB) sizes.push_back(columns);
  Node* product = &c.emit("bmm.default", {left, *right});
  if (isVectorB) product = &c.emit("squeeze.dim", {*product, -1});
  return c.view(*product, sizes);
}

Node& scaled(Decomposition& c, Node& x, std::string_view key) {
  const Argument* const factor = c.find(kKeywordOnly, key);
  const bool isOne = factor == nullptr || (factor->isInt() && factor->asInt() == 1) ||
                     (factor->kind() == ArgumentKind::Float && factor->asFloat() == 1);
  return isOne ? x : c.emit("mul.Tensor", {x, *factor});
}

// beta * self + alpha * product; `self` counts for nothing if beta is 0, be it NaN.
Node& addedTo(Decomposition& c, Node& self, Node& product) {
  Node& result = scaled(c, product, "alpha");
  if (c.number(kKeywordOnly, "beta", 1) == 0) return result;
  return c.emit("add.Tensor", {scaled(c, self, "beta"), result});
}

Replacement matmulRule(Decomposition& c) {
  return matrixProduct(c, c.in(0, "self"), c.in(1, "other"));
}

Replacement linearRule(Decomposition& c) {
  return linearProduct(c, c.in(0, "input"), c.in(1, "weight"), c.findIn(2, "bias"));
}

Replacement mvRule(Decomposition& c) {
  Node& product = c.emit("mul.Tensor", {c.in(0, "self"), c.in(1, "vec")});
  return c.emit("sum.dim_IntList", {product, {1}});
}

Replacement dotRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(!isComplex(c.dtype(x)) || c.op() == "dot", "complex tensors are to be conjugated");
  const std::string_view key = c.op() == "dot" ? "tensor" : "other";
  return c.emit("sum.dim_IntList", {c.emit("mul.Tensor", {x, c.in(1, key)}), Arg::list({})});
}

Replacement innerRule(Decomposition& c) {
  Node& a = c.in(0, "self");
  Node& b = c.in(1, "other");
  if (c.rank(a) == 0 || c.rank(b) == 0) return c.emit("mul.Tensor", {a, b});
  c.need(c.rank(b) <= 2, "the rank of the second operand is above 2");
  return matrixProduct(c, a, c.rank(b) == 2 ? c.transpose(b, 0, 1) : b);
}

Replacement outerRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& column = c.view(x, {c.size(x, 0), SymInt(1)});
  return c.emit("mul.Tensor", {column, c.in(1, "vec2")});
}

Replacement addmvRule(Decomposition& c) {
  return addedTo(c, c.in(0, "self"), c.emit("mv.default", {c.in(1, "mat"), c.in(2, "vec")}));
}

Replacement addrRule(Decomposition& c) {
  return addedTo(c, c.in(0, "self"), c.emit("outer.default", {c.in(1, "vec1"), c.in(2, "vec2")}));
}

Replacement baddbmmRule(Decomposition& c) {
  return addedTo(c, c.in(0, "self"), c.emit("bmm.default", {c.in(1, "batch1"), c.in(2, "batch2")}));
}

Replacement addbmmRule(Decomposition& c) {
  Node& product = c.emit("bmm.default", {c.in(1, "batch1"), c.in(2, "batch2")});
  return addedTo(c, c.in(0, "self"), c.emit("sum.dim_IntList", {product, {0}}));
}

Replacement bilinearRule(Decomposition& c) {
  Node& a = c.in(0, "input1");
  Node& b = c.in(1, "input2");
  Node& weight = c.in(2, "weight");
  Node* const bias = c.findIn(3, "bias");
  c.need(c.rank(weight) == 3 && c.rank(a) >= 1, "the ranks do not fit");
  const SymInt outputs = c.size(weight, 0), left = c.size(weight, 1), right = c.size(weight, 2);
  Dims sizes = c.meta(a).sizes;
  sizes.pop_back();
  const SymInt rows = elementCount(sizes);
  Node& turned = c.reshape(c.permute(weight, {1, 0, 2}), Dims{left, symMul(outputs, right)});
  Node& half = c.emit("mm.default", {c.reshape(a, Dims{rows, left}), turned});
  Node& column = c.reshape(b, Dims{rows, right, SymInt(1)});
  Node& product = c.emit("bmm.default", {c.view(half, {rows, outputs, right}), column});
  sizes.push_back(outputs);
  Node& result = c.view(product, sizes);
  return bias == nullptr ? result : c.emit("add.Tensor", {result, *bias});
}

constexpr NamedDecomposition kMatrixDecompositions[] = {
    {"matmul.default", matmulRule}, {"linalg_matmul.default", matmulRule},
    {"linear.default", linearRule}, {"mv.default", mvRule},
    {"dot.default", dotRule},       {"vdot.default", dotRule},
    {"inner.default", innerRule},   {"outer.default", outerRule},
    {"ger.default", outerRule},     {"addmv.default", addmvRule},
    {"addr.default", addrRule},     {"baddbmm.default", baddbmmRule},
    {"addbmm.default", addbmmRule}, {"bilinear.default", bilinearRule},
};

}  // namespace

Node& matrixProduct(Decomposition& c, Node& a, Node& b) {
  const size_t rankA = c.rank(a), rankB = c.rank(b);
  c.need(rankA > 0 && rankB > 0, "scalars have no matrix product");
  if (rankA == 1 && rankB == 1) return c.emit("dot.default", {a, b});
  if (rankA == 2 && rankB == 1) return c.emit("mv.default", {a, b});
  if (rankA == 1 && rankB == 2) {
    Node& row = c.emit("unsqueeze.default", {a, 0});
    return c.emit("squeeze.dim", {c.emit("mm.default", {row, b}), 0});
  }
  if (rankA == 2 && rankB == 2) return c.emit("mm.default", {a, b});
  return shouldFold(a, b) ? foldedProduct(c, a, b) : batchedProduct(c, a, b);
}

Node& linearProduct(Decomposition& c, Node& x, Node& weight, Node* bias) {
  const Dims& sizes = c.meta(x).sizes;
  c.need(c.rank(weight) <= 2, "the rank of the weight is above 2");
  const bool isMatrix = c.rank(weight) == 2;
  if (bias != nullptr && isMatrix && sizes.size() == 2) {
    return c.emit("addmm.default", {*bias, x, c.emit("t.default", {weight})});
  }
  if (bias != nullptr && isMatrix && sizes.size() > 2 && c.rank(*bias) == 1) {
    const std::span<const SymInt> batch = std::span(sizes).first(sizes.size() - 1);
    Node& rows = c.reshape(x, Dims{elementCount(batch), sizes.back()});
    Node& sum = c.emit("addmm.default", {*bias, rows, c.emit("t.default", {weight})});
    Dims wide(batch.begin(), batch.end());
    wide.push_back(c.size(sum, 1));
    return c.view(sum, wide);
  }
  Node& product = matrixProduct(c, x, c.emit("t.default", {weight}));
  return bias == nullptr ? product : c.emit("add.Tensor", {product, *bias});
}

std::span<const NamedDecomposition> matrixDecompositions() {
  return kMatrixDecompositions;
}

}  // namespace edgefx::detail

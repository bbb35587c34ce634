#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

// Elements chosen by indices and masks.
namespace edgefx::detail {
namespace {

// None for each dimension before `dim`, then the index.
Arg indexAlong(size_t dim, Node& index) {
  Arg::List indices(dim, Arg(nullptr));
  indices.emplace_back(index);
  return Arg::list(std::move(indices));
}

// The index with a dimension, for scalars of one element.
Node& indexVector(Decomposition& c, Node& index) {
  return c.rank(index) == 0 ? c.emit("unsqueeze.default", {index, 0}) : index;
}

Replacement indexCopyRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t dim = c.wrap(c.integer(1, "dim"), x);
  c.need(c.rank(x) > 0, "its operand is a scalar");
  return c.emit("index_put.default",
                {x, indexAlong(dim, indexVector(c, c.in(2, "index"))), c.in(3, "source")});
}

Replacement indexAddRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t dim = c.wrap(c.integer(1, "dim"), x);
  c.need(c.rank(x) > 0, "its operand is a scalar");
  Node* source = &c.in(3, "source");
  if (const Argument* alpha = c.find(kKeywordOnly, "alpha");
      alpha != nullptr && c.number(kKeywordOnly, "alpha", 1) != 1) {
    source = &c.emit("mul.Tensor", {*source, *alpha});
  }
  return c.emit("index_put.default", {x, indexAlong(dim, indexVector(c, c.in(2, "index"))), *source, true});
}

Replacement indexFillRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t dim = c.wrap(c.integer(1, "dim"), x);
  c.need(c.rank(x) > 0, "its operand is a scalar");
  Node& value = c.overload() == "int_Scalar" ? c.scalarLike(Arg(c.at(3, "value")), x)
                                             : c.toDtype(c.in(3, "value"), c.dtype(x));
  return c.emit("index_put.default", {x, indexAlong(dim, indexVector(c, c.in(2, "index"))), value});
}

// Where the mask that counts along the dimension has the index.
Replacement selectScatterRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Dims& sizes = c.meta(x).sizes;
  const size_t dim = c.wrap(c.integer(2, "dim"), x);
  int64_t index = c.integer(3, "index");
  c.need(!sizes.empty(), "its operand is a scalar");
  if (index < 0) index += c.known(sizes[dim]);
  c.need(index >= 0 && (sizes[dim].isSymbolic() || index < sizes[dim].value()), "its index is out of range");
  Dims column(sizes.size(), SymInt(1));
  column[dim] = SymInt(-1);
  Node& count = c.emit("arange.default", {c.arg(sizes[dim])},
                       {{"device", Arg::device(text(c.meta(x).device))}, {"pin_memory", false}});
  Node& mask = c.emit("eq.Scalar", {c.view(count, column), index});
  Node& wide = c.expand(c.emit("unsqueeze.default", {c.in(1, "src"), dim}), sizes);
  return c.emit("where.self", {mask, wide, x});
}

Replacement takeRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& flat = c.reshape(x, Dims{elementCount(c.meta(x).sizes)});
  return c.emit("index.Tensor", {flat, {c.in(1, "index")}});
}

Replacement takeAlongDimRule(Decomposition& c) {
  Node* x = &c.in(0, "self");
  Node* indices = &c.in(1, "indices");
  if (c.find(2, "dim") == nullptr) {
    x = &c.reshape(*x, Dims{elementCount(c.meta(*x).sizes)});
    indices = &c.reshape(*indices, Dims{elementCount(c.meta(*indices).sizes)});
    return c.emit("gather.default", {*x, 0, *indices});
  }
  const size_t dim = c.wrap(c.integer(2, "dim"), *x);
  Dims sizes = c.meta(*x).sizes, places = c.meta(*indices).sizes;
  c.need(sizes.size() == places.size() && dim < sizes.size(), "the ranks do not fit");
  const SymInt chosen = places[dim], total = sizes[dim];
  places[dim] = SymInt(1);
  sizes[dim] = SymInt(1);
  const std::vector<Dims> shapes{sizes, places};
  Dims wide = broadcast(c, shapes);
  wide[dim] = chosen;
  indices = &c.expand(*indices, wide);
  wide[dim] = total;
  return c.emit("gather.default", {c.expand(*x, wide), dim, *indices});
}

Replacement maskedSelectRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& mask = c.in(1, "mask");
  c.need(c.dtype(mask) == Dtype::Bool, "its mask is not of bools");
  const std::vector<Dims> shapes{c.meta(x).sizes, c.meta(mask).sizes};
  const Dims sizes = broadcast(c, shapes);
  Node& wideMask = c.expand(mask, sizes);
  return c.emit("index.Tensor", {c.expand(x, sizes), {wideMask}});
}

Replacement argwhereRule(Decomposition& c) {
  return c.emit("nonzero.default", {c.in(0, "self")});
}

constexpr NamedDecomposition kIndexDecompositions[] = {
    {"index_copy.default", indexCopyRule},
    {"index_add.default", indexAddRule},
    {"index_fill.int_Scalar", indexFillRule},
    {"index_fill.int_Tensor", indexFillRule},
    {"select_scatter.default", selectScatterRule},
    {"take.default", takeRule},
    {"take_along_dim.default", takeAlongDimRule},
    {"masked_select.default", maskedSelectRule},
    {"argwhere.default", argwhereRule},
};

}  // namespace

std::span<const NamedDecomposition> indexDecompositions() {
  return kIndexDecompositions;
}

}  // namespace edgefx::detail

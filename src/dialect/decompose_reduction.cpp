#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgefx::detail {
namespace {

Arg noDims() {
  return Arg::list({});
}

Replacement sumRule(Decomposition& c) {
  return c.emit("sum.dim_IntList", {c.in(0, "self"), noDims()}, c.passed({"dtype"}));
}

// max and min of all elements
Replacement extremeRule(Decomposition& c) {
  return c.emit(c.op() == "max" ? "amax.default" : "amin.default", {c.in(0, "self"), noDims()});
}

Replacement aminmaxRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const bool keeps = c.boolean(kKeywordOnly, "keepdim", false);
  const Argument* const dim = c.find(kKeywordOnly, "dim");
  const Arg dims = dim == nullptr ? noDims() : Arg::list({*dim});
  Args args{x, dims};
  if (keeps) args.emplace_back(true);
  Node& least = c.emit("amin.default", args);
  return Replacement({&least, &c.emit("amax.default", args)});
}

// all: not any not
Replacement allRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Args args{c.emit("logical_not.default", {x})};
  for (size_t i = 1; i < c.node().args().size(); ++i) args.emplace_back(c.node().arg(i));
  Kwargs kwargs = c.passed({"dim", "keepdim"});
  Node& any = c.emit("any." + std::string(c.overload()), args, kwargs);
  Node& result = c.emit("logical_not.default", {any});
  return c.dtype(x) == Dtype::UInt8 ? c.toDtype(result, Dtype::UInt8) : result;
}

struct Spread {
  Arg dims, correction;
  bool keeps = false;
};

// Of std, var and the like, in all their forms.
Spread spreadOf(const Decomposition& c) {
  Spread made;
  if (c.overload() == "default") {
    made.correction = c.boolean(1, "unbiased", true) ? 1 : 0;
    return made;
  }
  made.dims = c.argOr(1, "dim", nullptr);
  if (c.overload() == "dim") {
    made.correction = c.boolean(2, "unbiased", true) ? 1 : 0;
    made.keeps = c.boolean(3, "keepdim", false);
  } else {
    c.need(c.overload() == "correction", "its dimensions are names");
    made.correction = c.argOr(kKeywordOnly, "correction", 1);
    made.keeps = c.boolean(kKeywordOnly, "keepdim", false);
  }
  return made;
}

Node& varianceOverDims(Decomposition& c, Node& x, const Spread& of) {
  Kwargs kwargs{{"correction", of.correction}};
  if (of.keeps) kwargs.emplace_back("keepdim", true);
  return c.emit("var.correction", {x, of.dims}, kwargs);
}

Node& meanOverDims(Decomposition& c, Node& x, const Spread& of) {
  return of.keeps ? c.emit("mean.dim", {x, of.dims, true}) : c.emit("mean.dim", {x, of.dims});
}

Replacement varianceRule(Decomposition& c) {
  return varianceOverDims(c, c.in(0, "self"), spreadOf(c));
}

Replacement deviationRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& root = c.emit("sqrt.default", {varianceOverDims(c, c.widened(x), spreadOf(c))});
  return c.toDtype(root, c.dtype(x));
}

Replacement varianceMeanRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const Spread of = spreadOf(c);
  Node* first = nullptr;
  if (c.op() == "std_mean") {
    Node& root = c.emit("sqrt.default", {varianceOverDims(c, c.widened(x), of)});
    first = &c.toDtype(root, c.dtype(x));
  } else {
    first = &varianceOverDims(c, x, of);
  }
  return Replacement({first, &meanOverDims(c, x, of)});
}

// The norm of vectors: all dimensions if `dims` is None or empty.
Node& vectorNorm(Decomposition& c, Node& input, double order, const Arg& orderArg, const Arg& dims,
                 bool keeps, std::optional<Dtype> dtype) {
  c.need(!isComplex(c.dtype(input)), "its operand is complex");
  c.need(isFloatingPoint(c.dtype(input)), "its operand is no floating point tensor");
  const Dtype result = dtype.value_or(c.dtype(input));
  Node& x = c.widened(dtype ? c.toDtype(input, *dtype) : input);
  const auto reduced = [&](std::string_view op, Node& of) -> Node& {
    return keeps ? c.emit(op, {of, dims, true}) : c.emit(op, {of, dims});
  };
  Node* made = nullptr;
  if (order == 0) {
    made = &reduced("sum.dim_IntList", c.toDtype(c.emit("ne.Scalar", {x, 0}), c.dtype(x)));
  } else if (std::isinf(order)) {
    made = &reduced(order > 0 ? "amax.default" : "amin.default", c.emit("abs.default", {x}));
  } else if (order == 1) {
    made = &reduced("sum.dim_IntList", c.emit("abs.default", {x}));
  } else {
    const bool isEven = std::fmod(order, 2) == 0;
    Node& base = isEven ? x : c.emit("abs.default", {x});
    Node& sum = reduced("sum.dim_IntList", c.emit("pow.Tensor_Scalar", {base, orderArg}));
    made = &c.emit("pow.Tensor_Scalar", {sum, 1 / order});
  }
  return c.toDtype(*made, result);
}

Arg dimsOrAll(const Decomposition& c, size_t i) {
  const Argument* const dims = c.find(i, "dim");
  if (dims == nullptr) return noDims();
  return dims->isSequence() ? Arg(*dims) : Arg::list({*dims});
}

Replacement vectorNormRule(Decomposition& c) {
  return vectorNorm(c, c.in(0, "self"), c.number(1, "ord", 2), c.argOr(1, "ord", 2), dimsOrAll(c, 2),
                    c.boolean(3, "keepdim", false), c.dtype(kKeywordOnly, "dtype"));
}

Replacement normRule(Decomposition& c) {
  const bool hasDims = c.overload().starts_with("ScalarOpt_dim");
  const std::optional<Dtype> dtype = c.dtype(kKeywordOnly, "dtype");
  return vectorNorm(c, c.in(0, "self"), c.number(1, "p", 2), c.argOr(1, "p", 2),
                    hasDims ? dimsOrAll(c, 2) : noDims(), hasDims && c.boolean(3, "keepdim", false), dtype);
}

Replacement frobeniusNormRule(Decomposition& c) {
  return vectorNorm(c, c.in(0, "self"), 2, 2, dimsOrAll(c, 1), c.boolean(2, "keepdim", false), std::nullopt);
}

Replacement logsumexpRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(isFloatingPoint(c.dtype(x)), "its operand is no floating point tensor");
  const Argument& dims = c.at(1, "dim");
  const bool keeps = c.boolean(2, "keepdim", false);
  const Arg list = dims.isSequence() ? Arg(dims) : Arg::list({dims});
  if (c.rank(x) > 0) {
    const std::vector<bool> isReduced = c.dimensions(c.integers(1, "dim"), c.rank(x));
    for (size_t i = 0; i < isReduced.size(); ++i) {
      c.need(!isReduced[i] || c.size(x, i) != SymInt(0), "it reduces a dimension without elements");
    }
  }
  Node& most = c.emit("amax.default", {x, list, true});
  Node& isInfinite =
      c.emit("eq.Scalar", {c.emit("abs.default", {most}), std::numeric_limits<double>::infinity()});
  Node& base = c.emit("where.self", {isInfinite, c.scalarLike(0.0, most), most});
  Node& small = c.emit("exp.default", {c.emit("sub.Tensor", {x, base})});
  Node& sum =
      keeps ? c.emit("sum.dim_IntList", {small, list, true}) : c.emit("sum.dim_IntList", {small, list});
  Node* shift = &base;
  if (!keeps && c.rank(x) > 0) {
    Arg::List all;
    const std::vector<bool> isReduced = c.dimensions(c.integers(1, "dim"), c.rank(x));
    for (size_t i = 0; i < isReduced.size(); ++i) {
      if (isReduced[i]) all.emplace_back(i);
    }
    shift = &c.emit("squeeze.dims", {base, Arg::list(std::move(all))});
  }
  return c.emit("add.Tensor", {c.emit("log.default", {sum}), *shift});
}

Replacement countNonzeroRule(Decomposition& c) {
  Node& isOther = c.emit("ne.Scalar", {c.in(0, "self"), 0});
  return c.emit("sum.dim_IntList", {isOther, dimsOrAll(c, 1)});
}

Replacement nansumRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(isFloatingPoint(c.dtype(x)), "its operand is no floating point tensor");
  Node& known = c.emit("where.self", {c.emit("isnan.default", {x}), c.scalarLike(0.0, x), x});
  return c.emit("sum.dim_IntList", {known, dimsOrAll(c, 1), c.boolean(2, "keepdim", false)},
                c.passed({"dtype"}));
}

Replacement argsortRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  c.need(c.overload() == "default", "it is to be stable");
  const std::vector<Node*> items =
      c.emitItems("sort.default", {x, c.integer(1, "dim", -1), c.boolean(2, "descending", false)});
  return *items[1];
}

Replacement msortRule(Decomposition& c) {
  return c.emitFirst("sort.default", {c.in(0, "self"), 0});
}

Replacement traceRule(Decomposition& c) {
  return c.emit("sum.dim_IntList", {c.emit("diagonal.default", {c.in(0, "self")}), noDims()});
}

Replacement cosineSimilarityRule(Decomposition& c) {
  Node& a = c.in(0, "x1");
  Node& b = c.in(1, "x2");
  const int64_t dim = c.integer(2, "dim", 1);
  const double eps = c.number(3, "eps", 1e-8);
  c.need(isFloatingPoint(c.dtype(a)) && c.dtype(a) == c.dtype(b), "its operands are of several dtypes");
  const std::vector<Dims> shapes{c.meta(a).sizes, c.meta(b).sizes};
  const Dims sizes = broadcast(c, shapes);
  const auto unit = [&](Node& x) -> Node& {
    Node& length = c.emit("linalg_vector_norm.default", {x, 2, {dim}, true});
    return c.emit("div.Tensor", {x, c.emit("clamp.default", {length, eps})});
  };
  Node& wideA = c.expand(a, sizes);
  Node& wideB = c.expand(b, sizes);
  Node& unitA = unit(wideA);
  return c.emit("sum.dim_IntList", {c.emit("mul.Tensor", {unitA, unit(wideB)}), {dim}});
}

Replacement pairwiseDistanceRule(Decomposition& c) {
  Node& a = c.in(0, "x1");
  Node& b = c.in(1, "x2");
  const double order = c.number(2, "p", 2), eps = c.number(3, "eps", 1e-6);
  Node& way = c.emit("add.Tensor", {c.emit("sub.Tensor", {a, b}), eps});
  return vectorNorm(c, way, order, c.argOr(2, "p", 2.0), {-1}, c.boolean(4, "keepdim", false), std::nullopt);
}

constexpr NamedDecomposition kReductionDecompositions[] = {
    {"sum.default", sumRule},
    {"max.default", extremeRule},
    {"min.default", extremeRule},
    {"aminmax.default", aminmaxRule},
    {"all.default", allRule},
    {"all.dim", allRule},
    {"all.dims", allRule},
    {"var.default", varianceRule},
    {"std.default", deviationRule},
    {"std.dim", deviationRule},
    {"std.correction", deviationRule},
    {"var_mean.default", varianceMeanRule},
    {"var_mean.dim", varianceMeanRule},
    {"var_mean.correction", varianceMeanRule},
    {"std_mean.default", varianceMeanRule},
    {"std_mean.dim", varianceMeanRule},
    {"std_mean.correction", varianceMeanRule},
    {"linalg_vector_norm.default", vectorNormRule},
    {"norm.Scalar", normRule},
    {"norm.ScalarOpt_dtype", normRule},
    {"norm.ScalarOpt_dim", normRule},
    {"norm.ScalarOpt_dim_dtype", normRule},
    {"frobenius_norm.dim", frobeniusNormRule},
    {"logsumexp.default", logsumexpRule},
    {"count_nonzero.default", countNonzeroRule},
    {"count_nonzero.dim_IntList", countNonzeroRule},
    {"nansum.default", nansumRule},
    {"argsort.default", argsortRule},
    {"msort.default", msortRule},
    {"trace.default", traceRule},
    {"cosine_similarity.default", cosineSimilarityRule},
    {"pairwise_distance.default", pairwiseDistanceRule},
};

}  // namespace

std::span<const NamedDecomposition> reductionDecompositions() {
  return kReductionDecompositions;
}

}  // namespace edgefx::detail

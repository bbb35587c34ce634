#include "dialect/decomposition.h"

#include <limits>

// Activation functions. Python's decompositions calculate 16-bit floats in float32.
namespace edgefx::detail {
namespace {

// The rule's formula over the operand as float32, and back.
template <typename Formula>
Node& inOpmath(Decomposition& c, Formula&& formula) {
  Node& x = c.in(0, "self");
  return c.toDtype(formula(c.widened(x)), c.dtype(x));
}

Replacement siluRule(Decomposition& c) {
  return inOpmath(c, [&](Node& x) -> Node& {
    return c.emit("mul.Tensor", {x, c.emit("sigmoid.default", {x})});
  });
}

Node& clampedToSix(Decomposition& c, Node& x) {
  Node& positive = c.emit("clamp.default", {c.emit("add.Tensor", {x, 3}), 0});
  return c.emit("clamp.default", {positive, nullptr, 6});
}

Replacement hardswishRule(Decomposition& c) {
  return inOpmath(c, [&](Node& x) -> Node& {
    return c.emit("div.Tensor", {c.emit("mul.Tensor", {x, clampedToSix(c, x)}), 6});
  });
}

Replacement hardsigmoidRule(Decomposition& c) {
  return inOpmath(c, [&](Node& x) -> Node& { return c.emit("div.Tensor", {clampedToSix(c, x), 6}); });
}

Node& softplusOf(Decomposition& c, Node& x, double beta, double threshold) {
  Node& scaled = beta == 1 ? x : c.emit("mul.Tensor", {x, beta});
  Node* soft = &c.emit("log1p.default", {c.emit("exp.default", {scaled})});
  if (beta != 1) soft = &c.emit("div.Tensor", {*soft, beta});
  Node& isLarge = c.emit("gt.Scalar", {scaled, threshold});
  return c.emit("where.self", {isLarge, x, *soft});
}

Replacement softplusRule(Decomposition& c) {
  const double beta = c.number(1, "beta", 1), threshold = c.number(2, "threshold", 20);
  c.need(beta != 0, "beta is 0");
  return inOpmath(c, [&](Node& x) -> Node& { return softplusOf(c, x, beta, threshold); });
}

Replacement mishRule(Decomposition& c) {
  return inOpmath(c, [&](Node& x) -> Node& {
    return c.emit("mul.Tensor", {x, c.emit("tanh.default", {softplusOf(c, x, 1, 20)})});
  });
}

Replacement relu6Rule(Decomposition& c) {
  return c.emit("hardtanh.default", {c.in(0, "self"), 0.0, 6.0});
}

Replacement seluRule(Decomposition& c) {
  return c.emit("elu.default", {c.in(0, "self"), 1.6732632423543772, 1.0507009873554805});
}

Replacement celuRule(Decomposition& c) {
  const double alpha = c.number(1, "alpha", 1);
  c.need(alpha != 0, "alpha is 0");
  return c.emit("elu.default", {c.in(0, "self"), alpha, 1.0, 1.0 / alpha});
}

// The weight of each channel, if there is more than one.
Replacement preluRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node* weight = &c.in(1, "weight");
  const size_t rank = c.rank(x);
  if (c.op() == "prelu" && c.rank(*weight) != rank) {
    c.need(c.rank(*weight) <= 1, "the rank of the weight does not fit");
    Dims sizes(rank, SymInt(1));
    if (rank > 0 && c.rank(*weight) == 1) sizes[rank > 1 ? 1 : 0] = c.size(*weight, 0);
    weight = &c.reshape(*weight, sizes);
  }
  Node& isPositive = c.emit("gt.Scalar", {x, 0});
  return c.emit("where.self", {isPositive, x, c.emit("mul.Tensor", {*weight, x})});
}

Replacement gluRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t dim = c.wrap(c.integer(1, "dim", -1), x);
  const int64_t total = c.known(c.size(x, dim)), half = total / 2;
  c.need(total % 2 == 0, "the dimension is not even");
  return inOpmath(c, [&](Node& wide) -> Node& {
    Node& first = c.emit("slice.Tensor", {wide, dim, 0, half});
    Node& second = c.emit("slice.Tensor", {wide, dim, half, total});
    return c.emit("mul.Tensor", {first, c.emit("sigmoid.default", {second})});
  });
}

Replacement thresholdRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  // The kernel compares in the dtype of the tensor.
  c.need(isFloatingPoint(c.dtype(x)) || c.at(1, "threshold").isInt(),
         "its threshold is no number of its dtype");
  Node& isBelow = c.emit("le.Scalar", {x, c.at(1, "threshold")});
  return c.emit("where.self", {isBelow, c.scalarLike(Arg(c.at(2, "value")), x), x});
}

Replacement logSigmoidRule(Decomposition& c) {
  return inOpmath(c, [&](Node& x) -> Node& {
    Node& least = c.emit("clamp.default", {x, nullptr, 0});
    Node& small = c.emit("exp.default", {c.emit("neg.default", {c.emit("abs.default", {x})})});
    return c.emit("sub.Tensor", {least, c.emit("log1p.default", {small})});
  });
}

Replacement hardshrinkRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const double bound = c.number(1, "lambd", 0.5);
  Node& isSmall = c.emit("le.Scalar", {c.emit("abs.default", {x}), bound});
  return c.emit("where.self", {isSmall, c.scalarLike(0.0, x), x});
}

Replacement softshrinkRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const double bound = c.number(1, "lambd", 0.5);
  Node& isLarge = c.emit("gt.Scalar", {c.emit("abs.default", {x}), bound});
  Node& step = c.emit("mul.Tensor", {c.emit("sign.default", {x}), bound});
  return c.emit("where.self", {isLarge, c.emit("sub.Tensor", {x, step}), c.emit("mul.Tensor", {x, 0})});
}

// Softmax and its logarithm, in another dtype if one is given.
Replacement softmaxRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const size_t place = c.op().starts_with("special") && c.find(2, "dtype") == nullptr ? kKeywordOnly : 2;
  const std::optional<Dtype> dtype = c.dtype(place, "dtype");
  const bool isLog = c.op().ends_with("log_softmax");
  Node& wide = dtype ? c.toDtype(x, *dtype) : x;
  return c.emit(isLog ? "_log_softmax.default" : "_softmax.default", {wide, c.integer(1, "dim"), false});
}

// Rows that are wholly masked are zero.
Replacement safeSoftmaxRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  const int64_t dim = c.integer(1, "dim");
  const std::optional<Dtype> dtype = c.dtype(2, "dtype");
  Args args{x, dim};
  if (dtype) args.emplace_back(*dtype);
  Node& result = c.emit("softmax.int", args);
  Node& isMasked = c.emit("eq.Scalar", {x, -std::numeric_limits<double>::infinity()});
  Node& isMaskedRow = c.emit("all.dim", {isMasked, dim, true});
  return c.emit("where.self", {isMaskedRow, c.emit("zeros_like.default", {result}), result});
}

// In evaluation: nothing.
Replacement dropoutRule(Decomposition& c) {
  Node& x = c.in(0, "input");
  const double share = c.number(1, "p", 0.5);
  if (!c.boolean(2, "train", true) || share == 0) return x;
  c.need(c.op() == "dropout", "there is no rule for training");
  return c.emitFirst("native_dropout.default", {x, share, true});
}

constexpr NamedDecomposition kActivationDecompositions[] = {
    {"silu.default", siluRule},
    {"hardswish.default", hardswishRule},
    {"hardsigmoid.default", hardsigmoidRule},
    {"softplus.default", softplusRule},
    {"mish.default", mishRule},
    {"relu6.default", relu6Rule},
    {"selu.default", seluRule},
    {"celu.default", celuRule},
    {"prelu.default", preluRule},
    {"_prelu_kernel.default", preluRule},
    {"glu.default", gluRule},
    {"threshold.default", thresholdRule},
    {"log_sigmoid.default", logSigmoidRule},
    {"hardshrink.default", hardshrinkRule},
    {"softshrink.default", softshrinkRule},
    {"softmax.int", softmaxRule},
    {"log_softmax.int", softmaxRule},
    {"special_softmax.default", softmaxRule},
    {"special_log_softmax.default", softmaxRule},
    {"_safe_softmax.default", safeSoftmaxRule},
    {"dropout.default", dropoutRule},
    {"feature_dropout.default", dropoutRule},
    {"alpha_dropout.default", dropoutRule},
    {"feature_alpha_dropout.default", dropoutRule},
};

}  // namespace

std::span<const NamedDecomposition> activationDecompositions() {
  return kActivationDecompositions;
}

}  // namespace edgefx::detail

#include "dialect/decomposition.h"
#include "ir/shape_layout.h"

namespace edgefx::detail {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2 };

Node& sumOfAll(Decomposition& c, Node& x) {
  return c.emit("sum.dim_IntList", {x, Arg::list({})});
}

Node& reducedLoss(Decomposition& c, Node& loss, int64_t reduction) {
  c.need(reduction >= kNone && reduction <= kSum, "there is no such reduction");
  if (reduction == kNone) return loss;
  return reduction == kMean ? c.emit("mean.default", {loss}) : sumOfAll(c, loss);
}

// The rule's formula of the difference of the two operands.
template <typename Formula>
Replacement differenceLoss(Decomposition& c, Formula&& formula) {
  Node& difference = c.emit("sub.Tensor", {c.in(0, "self"), c.in(1, "target")});
  return reducedLoss(c, formula(difference), c.integer(2, "reduction", kMean));
}

Replacement mseRule(Decomposition& c) {
  return differenceLoss(c, [&](Node& x) -> Node& { return c.emit("pow.Tensor_Scalar", {x, 2}); });
}

Replacement l1Rule(Decomposition& c) {
  return differenceLoss(c, [&](Node& x) -> Node& { return c.emit("abs.default", {x}); });
}

Replacement smoothL1Rule(Decomposition& c) {
  const double beta = c.number(3, "beta", 1);
  return differenceLoss(c, [&](Node& x) -> Node& {
    Node& size = c.emit("abs.default", {x});
    if (beta == 0) return size;
    Node& isSmall = c.emit("lt.Scalar", {size, beta});
    Node& half = c.emit("mul.Tensor", {c.emit("pow.Tensor_Scalar", {size, 2}), 0.5});
    Node& far = c.emit("sub.Tensor", {size, 0.5 * beta});
    return c.emit("where.self", {isSmall, c.emit("div.Tensor", {half, beta}), far});
  });
}

Replacement huberRule(Decomposition& c) {
  const double delta = c.number(3, "delta", 1);
  return differenceLoss(c, [&](Node& x) -> Node& {
    Node& size = c.emit("abs.default", {x});
    Node& isSmall = c.emit("le.Scalar", {size, delta});
    Node& near = c.emit("mul.Tensor", {c.emit("mul.Tensor", {size, 0.5}), size});
    Node& far = c.emit("mul.Tensor", {c.emit("sub.Tensor", {size, 0.5 * delta}), delta});
    return c.emit("where.self", {isSmall, near, far});
  });
}

Node& weighted(Decomposition& c, Node& loss, size_t i) {
  Node* const weight = c.findIn(i, "weight");
  return weight == nullptr ? loss : c.emit("mul.Tensor", {loss, *weight});
}

// Logarithms are cut off at -100.
Replacement crossEntropyOfShareRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& target = c.in(1, "target");
  const auto cut = [&](Node& logarithm) -> Node& { return c.emit("clamp.default", {logarithm, -100}); };
  Node& other = c.emit("sub.Tensor", {target, 1});
  Node& second = c.emit("mul.Tensor", {other, cut(c.emit("log1p.default", {c.emit("neg.default", {x})}))});
  Node& first = c.emit("mul.Tensor", {target, cut(c.emit("log.default", {x}))});
  Node& loss = weighted(c, c.emit("sub.Tensor", {second, first}), 2);
  return reducedLoss(c, loss, c.integer(3, "reduction", kMean));
}

Replacement crossEntropyOfLogitsRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& target = c.in(1, "target");
  Node& log = c.emit("log_sigmoid.default", {x});
  Node* factor = &log;
  if (Node* const positive = c.findIn(3, "pos_weight")) {
    Node& more = c.emit("mul.Tensor", {c.emit("sub.Tensor", {*positive, 1}), target});
    factor = &c.emit("mul.Tensor", {c.emit("add.Tensor", {more, 1}), log});
  }
  Node& other = c.emit("mul.Tensor", {c.emit("rsub.Scalar", {target, 1}), x});
  Node& loss = weighted(c, c.emit("sub.Tensor", {other, *factor}), 2);
  return reducedLoss(c, loss, c.integer(4, "reduction", kMean));
}

struct ClassLoss {
  Node* loss;
  Node* total;  // of the weights; null without reduction
};

// Minus the value at each target class; targets that are ignored count for nothing.
ClassLoss classLoss(Decomposition& c, Node& input, Node& target, Node* weight, int64_t reduction,
                    const Arg& ignored) {
  const size_t rank = c.rank(input);
  c.need(rank >= 1 && c.rank(target) + 1 == rank && reduction >= kNone && reduction <= kSum,
         "the ranks do not fit");
  const size_t dim = rank < 2 ? 0 : 1;
  Node* x = &input;
  Node* wide = nullptr;
  if (weight != nullptr) {
    Dims sizes(rank, SymInt(1));
    sizes[dim] = c.size(*weight, 0);
    wide = rank > 1 ? &c.view(*weight, sizes) : weight;
    x = &c.emit("mul.Tensor", {input, *wide});
  }
  const auto zeroOf = [&](Node& like) -> Node& {
    return c.scalarLike(isFloatingPoint(c.dtype(like)) ? Arg(0.0) : Arg(0), like);
  };
  Node& counts = c.emit("ne.Scalar", {target, ignored});
  Node& safe = c.emit("unsqueeze.default", {c.emit("where.self", {counts, target, zeroOf(target)}), dim});
  const auto chosen = [&](Node& from) -> Node& {
    return c.emit("squeeze.dim", {c.emit("gather.default", {from, dim, safe}), dim});
  };
  Node& lost = c.emit("neg.default", {chosen(*x)});
  Node& loss = c.emit("where.self", {counts, lost, zeroOf(lost)});
  if (reduction == kNone && rank > 1) return {&loss, nullptr};
  Node* total = nullptr;
  if (wide != nullptr) {
    Node& weights = chosen(c.expand(*wide, c.meta(input).sizes));
    total = &sumOfAll(c, c.emit("where.self", {counts, weights, zeroOf(weights)}));
  } else {
    total = &c.toDtype(sumOfAll(c, counts), c.dtype(input));
  }
  if (reduction == kNone) return {&loss, total};
  Node& sum = sumOfAll(c, loss);
  return {reduction == kSum ? &sum : &c.emit("div.Tensor", {sum, *total}), total};
}

Replacement nllRule(Decomposition& c) {
  const ClassLoss made = classLoss(c, c.in(0, "self"), c.in(1, "target"), c.findIn(2, "weight"),
                                   c.integer(3, "reduction", kMean), c.argOr(4, "ignore_index", -100));
  if (!c.op().ends_with("_forward")) return *made.loss;
  return Replacement({made.loss, made.total});
}

Replacement crossEntropyRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& target = c.in(1, "target");
  Node* const weight = c.findIn(2, "weight");
  const int64_t reduction = c.integer(3, "reduction", kMean);
  c.need(c.number(5, "label_smoothing", 0) == 0, "it smooths labels");
  const size_t rank = c.rank(x), dim = rank < 2 ? 0 : 1;
  Node& log = c.emit("log_softmax.int", {x, dim});
  if (!isFloatingPoint(c.dtype(target))) {
    return *classLoss(c, log, target, weight, reduction, c.argOr(4, "ignore_index", -100)).loss;
  }
  c.need(weight == nullptr && rank >= 1, "its targets are shares, with weights");
  Node& product = c.emit("mul.Tensor", {log, target});
  if (reduction == kNone) {
    return c.emit("neg.default", {c.emit("sum.dim_IntList", {product, {dim}})});
  }
  Node& sum = c.emit("neg.default", {sumOfAll(c, product)});
  if (reduction == kSum) return sum;
  Dims samples = c.meta(x).sizes;
  samples.erase(samples.begin() + static_cast<ptrdiff_t>(dim));
  return c.emit("div.Tensor", {sum, c.arg(elementCount(samples))});
}

Replacement klDivRule(Decomposition& c) {
  Node& x = c.in(0, "self");
  Node& target = c.in(1, "target");
  Node* loss = nullptr;
  if (c.boolean(kKeywordOnly, "log_target", false)) {
    loss = &c.emit("mul.Tensor", {c.emit("exp.default", {target}), c.emit("sub.Tensor", {target, x})});
  } else {
    Node& entropy = c.emit("xlogy.Tensor", {target, target});
    loss = &c.emit("sub.Tensor", {entropy, c.emit("mul.Tensor", {target, x})});
  }
  return reducedLoss(c, *loss, c.integer(2, "reduction", kMean));
}

Replacement softMarginRule(Decomposition& c) {
  Node& product = c.emit("mul.Tensor", {c.emit("neg.default", {c.in(0, "self")}), c.in(1, "target")});
  Node& loss = c.emit("log1p.default", {c.emit("exp.default", {product})});
  return reducedLoss(c, loss, c.integer(2, "reduction", kMean));
}

constexpr NamedDecomposition kLossDecompositions[] = {
    {"mse_loss.default", mseRule},
    {"l1_loss.default", l1Rule},
    {"smooth_l1_loss.default", smoothL1Rule},
    {"huber_loss.default", huberRule},
    {"binary_cross_entropy.default", crossEntropyOfShareRule},
    {"binary_cross_entropy_with_logits.default", crossEntropyOfLogitsRule},
    {"nll_loss.default", nllRule},
    {"nll_loss2d.default", nllRule},
    {"nll_loss_nd.default", nllRule},
    {"nll_loss_forward.default", nllRule},
    {"nll_loss2d_forward.default", nllRule},
    {"cross_entropy_loss.default", crossEntropyRule},
    {"kl_div.default", klDivRule},
    {"soft_margin_loss.default", softMarginRule},
};

}  // namespace

std::span<const NamedDecomposition> lossDecompositions() {
  return kLossDecompositions;
}

}  // namespace edgefx::detail

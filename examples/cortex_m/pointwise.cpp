#include <edgefx/ir/node_queries.h>

#include "lowering.h"

#include <algorithm>

// Layers without weights: sums, products, pools, activations of their own, views.
namespace cortex_m {
namespace {

using namespace edgefx;
using patterns::any;
using patterns::op;
using patterns::rest;

Arg listOf(Factor factor) {
  return {factor.value, factor.shift};
}

bool haveOneShape(const Node& a, const Node& b) {
  const TensorMeta *left = tensorMetaOf(a), *right = tensorMetaOf(b);
  return left != nullptr && right != nullptr && left->sizes == right->sizes;
}

// What the rules of this file read of a match.
struct Island {
  Island(const Match& match, const Lowering& lowering, const Node& computing)
      : compute(computing), y(*int8Of(match.root())), output(outputOf(match.find("act"), y)) {
    lowering.checkScale(compute, y);
    for (const char* name : {"a_dq", "b_dq", "x_dq"}) {
      if (const Node* dequantize = match.find(name)) lowering.checkScale(compute, *int8Of(*dequantize));
    }
  }
  void append(Args& args) const {
    for (const int32_t number : {output->zero, output->min, output->max}) args.emplace_back(number);
  }

  const Node& compute;
  Quantization y;
  std::optional<Output> output;
};

constexpr const char* kNoBounds = "the bounds of its activation are no plain numbers";
constexpr const char* kTwoShapes = "its operands are not of one shape";

RuleResult lowerAdd(const Match& match, Lowering& lowering) {
  const Island island(match, lowering, match["compute"]);
  if (!island.output) return lowering.decline(island.compute, kNoBounds);
  if (!haveOneShape(match["a"], match["b"])) return lowering.decline(island.compute, kTwoShapes);
  const Quantization a = *int8Of(match["a_dq"]), b = *int8Of(match["b_dq"]);
  // Both operands get the scale of twice the larger one, so that their sum fits as well.
  const double common = 2 * std::max(a.scale, b.scale);
  const auto factor = [&](double real) { return listOf(lowering.factor(island.compute, real)); };
  Args args{match["a"],
            match["b"],
            a.zero,
            factor(a.scale / common),
            b.zero,
            factor(b.scale / common),
            factor(common / (island.y.scale * (1 << kAddBits)))};
  island.append(args);
  return lowering.finish(match.root(), lowering.rewriter().call(lowering.own("add"), args), island.compute);
}

RuleResult lowerMul(const Match& match, Lowering& lowering) {
  const Island island(match, lowering, match["compute"]);
  if (!island.output) return lowering.decline(island.compute, kNoBounds);
  if (!haveOneShape(match["a"], match["b"])) return lowering.decline(island.compute, kTwoShapes);
  const Quantization a = *int8Of(match["a_dq"]), b = *int8Of(match["b_dq"]);
  Args args{match["a"], match["b"], a.zero, b.zero,
            listOf(lowering.factor(island.compute, a.scale * b.scale / island.y.scale))};
  island.append(args);
  return lowering.finish(match.root(), lowering.rewriter().call(lowering.own("mul"), args), island.compute);
}

struct Pool {
  Pair kernel{1, 1}, stride{1, 1}, padding{0, 0};
  int64_t divisor = 1;
  bool keepdim = true;
  std::string fault;
};

Pool faulty(std::string why) {
  Pool pool;
  pool.fault = std::move(why);
  return pool;
}

Pool meanOf(const Node& mean, const Pair& image) {
  if (!mean.kwargs().empty() || mean.args().size() < 2) return faulty("it has another result dtype");
  const auto dims = mean.arg(1).items();
  const auto at = [&](size_t i) { return dims[i].isInt() ? (dims[i].asInt() + 4) % 4 : int64_t{0}; };
  if (dims.size() != 2 || std::minmax({at(0), at(1)}) != std::pair<int64_t, int64_t>(2, 3))
    return faulty("it is no mean over height and width");
  const auto keepdim = booleanOf(mean.findArg(2), false);
  if (!keepdim) return faulty("its keepdim is no plain truth value");
  Pool pool;
  pool.kernel = image;
  pool.keepdim = *keepdim;
  return pool;
}

Pool adaptivePool(const Node& node, const Pair& image) {
  const auto size = pairOf(node.findArg(1), {0, 0});
  Pool pool;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (!size || (*size)[axis] < 1 || image[axis] % (*size)[axis] != 0)
      return faulty("its windows are not all of one size");
    pool.kernel[axis] = pool.stride[axis] = image[axis] / (*size)[axis];
  }
  return pool;
}

Pool averagePool(const Node& node) {
  Pool pool;
  const auto kernel = pairOf(node.findArg(1), {0, 0});
  const auto stride = pairOf(node.findArg(2), kernel.value_or(Pair{1, 1}));
  const auto padding = pairOf(node.findArg(3), {0, 0});
  const auto ceils = booleanOf(node.findArg(4), false), countsPadding = booleanOf(node.findArg(5), true);
  const auto divisor = integerOf(node.findArg(6), 0);
  if (!kernel || !stride || !padding || !ceils || !countsPadding || !divisor || !node.kwargs().empty())
    return faulty("its window is not given in plain numbers");
  if (*ceils) return faulty("it rounds the size of its result up");
  if (!*countsPadding && *padding != Pair{0, 0} && *divisor == 0)
    return faulty("its windows at the border divide by less than those inside");
  if ((*kernel)[0] < 1 || (*kernel)[1] < 1 || *divisor < 0) return faulty("its window is empty");
  pool.kernel = *kernel, pool.stride = *stride, pool.padding = *padding;
  pool.divisor = *divisor;
  return pool;
}

Pool poolOf(const Node& node, const TensorMeta* x) {
  if (x == nullptr || x->sizes.size() != 4 || x->sizes[2].isSymbolic() || x->sizes[3].isSymbolic())
    return faulty("it is no pool of images of known height and width");
  const Pair image{x->sizes[2].value(), x->sizes[3].value()};
  const bool isAverage = node.callsOperator("aten.avg_pool2d.default");
  const bool isMean = node.callsOperator("aten.mean.dim");
  Pool pool = isMean ? meanOf(node, image) : isAverage ? averagePool(node) : adaptivePool(node, image);
  if (!isAverage || pool.divisor == 0) pool.divisor = pool.kernel[0] * pool.kernel[1];
  if (pool.fault.empty() && pool.divisor < 1) return faulty("it is a pool of nothing");
  return pool;
}

RuleResult lowerPool(const Match& match, Lowering& lowering) {
  const Island island(match, lowering, match["compute"]);
  if (!island.output) return lowering.decline(island.compute, kNoBounds);
  const Pool pool = poolOf(island.compute, tensorMetaOf(match["x"]));
  if (!pool.fault.empty()) return lowering.decline(island.compute, pool.fault);
  const Quantization x = *int8Of(match["x_dq"]);
  const auto list = [](const Pair& pair) { return Arg{pair[0], pair[1]}; };
  if (pool.kernel[0] * pool.kernel[1] > (int64_t{1} << 23))
    lowering.refuse(island.compute, "the sums of a window may not fit 32 bits");
  const double factor = x.scale / (island.y.scale * static_cast<double>(pool.divisor));
  Args args{match["x"],
            list(pool.kernel),
            list(pool.stride),
            list(pool.padding),
            pool.keepdim,
            x.zero,
            listOf(lowering.factor(island.compute, factor))};
  island.append(args);
  Node& made = lowering.rewriter().call(lowering.own("avg_pool2d"), args);
  return lowering.finish(match.root(), made, island.compute);
}

// dequantize and quantize with nothing but a clamp in between, or with nothing at all.
RuleResult lowerRequantize(const Match& match, Lowering& lowering) {
  const Node* activation = match.find("act");
  const Island island(match, lowering, activation == nullptr ? match.root() : *activation);
  if (!island.output) return lowering.decline(island.compute, kNoBounds);
  const Quantization x = *int8Of(match["x_dq"]);
  Node& from = match["x"];
  if (Node* dropout = match.find("dropout")) lowering.mayErase(*dropout);
  const bool isWhole = island.y.min == -128 && island.y.max == 127;
  if (activation == nullptr && x == island.y && isWhole && from.isCall())
    return lowering.rewriter().replace(match.root(), from);
  Args args{from, x.zero, listOf(lowering.factor(island.compute, x.scale / island.y.scale))};
  island.append(args);
  Node& made = lowering.rewriter().call(lowering.own("requantize"), args);
  return lowering.finish(match.root(), made, island.compute);
}

// The clamp of an activation that was quantized on its own becomes that of the operator before it, if both
// speak of the same integers.
RuleResult foldClamp(const Match& match, Lowering& lowering) {
  Node& made = match["made"];
  const Quantization y = *int8Of(match.root());
  const std::optional<Output> output = outputOf(&match["act"], y);
  if (!output || *int8Of(match["made_dq"]) != y) return lowering.decline(match["act"], "its scales differ");
  const size_t count = made.args().size();
  const int64_t min = std::max<int64_t>(made.arg(count - 2).asInt(), output->min);
  const int64_t max = std::min<int64_t>(made.arg(count - 1).asInt(), output->max);
  if (min > max) return lowering.decline(match["act"], "it leaves nothing of the operator before it");
  made.setArg(count - 2, min);
  made.setArg(count - 1, max);
  return lowering.extend(match.root(), made);
}

// A view of integers is the view itself.
RuleResult lowerView(const Match& match, Lowering& lowering) {
  const Node& view = match["compute"];
  if (*int8Of(match["x_dq"]) != *int8Of(match.root()))
    return lowering.decline(view, "it goes from one scale to another");
  if (match.has("act") || !view.kwargs().empty()) return lowering.decline(view, "it is not a plain view");
  Args args{match["x"]};
  for (const Argument& argument : view.args().subspan(1)) args.emplace_back(argument);
  return lowering.finish(match.root(), lowering.rewriter().call(view.target(), args), view);
}

bool isNoDropout(const Node& node) {
  return booleanOf(node.findArg(2), true) == false;
}

bool changesNoSize(const Node& strided) {
  const TensorMeta* before = tensorMetaOf(strided.arg(0).findNode());
  TensorMeta after = tensorMetaOf(strided) == nullptr ? TensorMeta() : *tensorMetaOf(strided);
  if (before == nullptr || before->sizes != after.sizes) return false;
  // Strides of single elements say nothing.
  for (size_t i = 0; i < after.sizes.size(); ++i) {
    if (after.strides[i] != before->strides[i] && after.sizes[i] != SymInt(1)) return false;
  }
  return after.storageOffset == before->storageOffset;
}

}  // namespace

void addPointwiseRules(RuleSet& rules, Lowering& lowering) {
  using Lower = RuleResult (*)(const Match&, Lowering&);
  const auto action = [&lowering](Lower lower) {
    return [&lowering, lower](const Match& match, ProgramRewriter&) { return lower(match, lowering); };
  };
  const auto isInt8 = [](const Node& node) { return int8Of(node).has_value(); };
  const auto quantized = [&](const Pattern& value) {
    return op(kQuantize, value, rest("y_rest")).where(isInt8, "it is not int8");
  };
  const Pattern x = island::operand("x"), a = island::operand("a"), b = island::operand("b");
  const auto active = [](const Pattern& value) {
    return op(island::kActivations, {value, rest("act_rest")}).as("act").singleUse();
  };

  const Pattern made =
      op({"q8.conv2d.default", "q8.depthwise_conv2d.default", "q8.linear.default", "q8.add.default",
          "q8.mul.default", "q8.avg_pool2d.default", "q8.requantize.default"},
         {rest("made_rest")});
  const Pattern requantized =
      op(kDequantize, made.as("made").singleUse(), rest("made_dq_rest")).as("made_dq");
  rules.add("fold-clamp", quantized(active(requantized.where(isInt8, "it is not int8"))), action(foldClamp));

  island::add(rules, "add", op("aten.add.Tensor", a, b).as("compute"), action(lowerAdd));
  island::add(rules, "mul", op("aten.mul.Tensor", a, b).as("compute"), action(lowerMul));
  const Pattern pool = op({"aten.avg_pool2d.default", "aten.adaptive_avg_pool2d.default",
                           "aten._adaptive_avg_pool2d.default", "aten.mean.dim"},
                          {x, rest("pool_rest")})
                           .as("compute");
  island::add(rules, "pool", pool, action(lowerPool));
  // What decomposing makes of an adaptive pool of channels-last images.
  const Pattern strided = op({"aten.as_strided.default", "aten.as_strided_copy.default"},
                             {pool.singleUse(), rest("strided_rest")})
                              .where(changesNoSize, "it is more than a change of strides of single elements");
  island::add(rules, "pool-strided", strided, action(lowerPool));

  const Pattern view =
      op({"aten.view.default", "aten.view_copy.default", "aten.flatten.using_ints", "aten.reshape.default"},
         {x, rest("view_rest")});
  rules.add("view", quantized(view.as("compute").singleUse()), action(lowerView));
  const Pattern dropout = op("aten.dropout.default", x, rest("dropout_rest"))
                              .as("dropout")
                              .singleUse()
                              .where(isNoDropout, "it drops something");
  rules.add("requantize", quantized(x), action(lowerRequantize));
  rules.add("requantize-clamp", quantized(active(x)), action(lowerRequantize));
  rules.add("requantize-dropout", quantized(dropout), action(lowerRequantize));
}

}  // namespace cortex_m

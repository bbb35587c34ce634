#include <edgefx/ir/node_queries.h>
#include <edgefx/support/error.h>

#include "rules.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

namespace onednn {

using namespace edgefx;
using patterns::any;
using patterns::constant;
using patterns::equals;
using patterns::op;
using patterns::optional;
using patterns::rest;

std::optional<Sizes> sizesOf(const Node& node) {
  const TensorMeta* tensor = tensorMetaOf(node);
  if (tensor == nullptr) return std::nullopt;
  Sizes sizes;
  for (const SymInt& size : tensor->sizes) {
    if (size.isSymbolic()) return std::nullopt;
    sizes.push_back(size.value());
  }
  return sizes;
}

std::optional<Sizes> numbersOf(const Argument& list) {
  Sizes numbers;
  for (const Argument& item : list.items()) {
    if (!item.isInt()) return std::nullopt;
    numbers.push_back(item.asInt());
  }
  return numbers;
}

Arg listOf(const Sizes& numbers) {
  return Arg::list(Arg::List(numbers.begin(), numbers.end()));
}

const PackedWeights::Input& PackedWeights::input(ProgramRewriter& rewriter, const Node& weight,
                                                 const std::string& shape, const Pack& pack) {
  const auto [found, isNew] = inputs_.try_emplace(std::string(weight.name()) + ' ' + shape);
  if (isNew) {
    PackedWeight made = pack(rewriter.tensor(weight));
    Node& node = rewriter.addConstant(std::string(weight.name()) + "_packed", std::move(made.bytes));
    found->second = {&node, std::move(made.layout)};
  }
  return found->second;
}

namespace {

[[noreturn]] void cannotLower(const Node& node, const std::string& reason) {
  throw LoweringError(nodeFault(
      node, "there is no kernel for this call of '" + std::string(node.target().name()) + "': " + reason));
}

std::string keyOf(const Sizes& sizes) {
  std::string text;
  for (const int64_t size : sizes) text += std::to_string(size) + ',';
  return text;
}

// Reads a claimed convolution: its shape, or an error that names it.
ConvolutionShape shapeOf(const Match& match) {
  const Node& root = match.root();
  const std::optional<Sizes> input = sizesOf(match["x"]), weight = sizesOf(match["weight"]);
  if (!input || !weight) cannotLower(root, "sizes are not known");
  if (input->size() != 4 || weight->size() != 4)
    cannotLower(root, "expected two spatial dimensions, found " + std::to_string(weight->size() - 2));
  if (match.arg("how", 3).asBool()) cannotLower(root, "it is transposed");
  const std::optional<Sizes> stride = numbersOf(match.arg("how", 0)),
                             padding = numbersOf(match.arg("how", 1)),
                             dilation = numbersOf(match.arg("how", 2));
  if (!stride || !padding || !dilation) cannotLower(root, "stride, padding or dilation are not known");
  const auto twice = [](Sizes sizes) {
    if (sizes.size() == 1) sizes.push_back(sizes.front());
    return sizes;
  };
  if (twice(*stride).size() != 2 || twice(*padding).size() != 2 || twice(*dilation).size() != 2)
    cannotLower(root, "expected stride, padding and dilation for two dimensions");
  if (std::ranges::any_of(*stride, [](int64_t step) { return step <= 0; }) ||
      match.arg("how", 5).asInt() <= 0)
    cannotLower(root, "expected strides and groups above 0");
  return {*input, *weight, twice(*stride), twice(*padding), twice(*dilation), match.arg("how", 5).asInt()};
}

void addConvolution(RuleSet& rules, PackedWeights& packed) {
  const Pattern convolution =
      op("aten.convolution.default", any("x"), constant("weight"), optional("bias"), rest("how"));
  rules.add("convolution", convolution.dtype(Dtype::Float32),
            [&packed](const Match& match, ProgramRewriter& rewriter) {
              const ConvolutionShape shape = shapeOf(match);
              const std::string key = keyOf(shape.input) + keyOf(shape.stride) + keyOf(shape.padding) +
                                      keyOf(shape.dilation) + std::to_string(shape.groups);
              const PackedWeights::Input& weight =
                  packed.input(rewriter, match["weight"], key,
                               [&](const at::Tensor& tensor) { return packConvolution(tensor, shape); });
              return rewriter.replace(
                  match.root(), rewriter.call(operatorIn(rewriter.program(), "onednn.convolution.default"),
                                              {match["x"], weight.node, match.argOr("bias", nullptr), nullptr,
                                               listOf(shape.weight), weight.layout, listOf(shape.stride),
                                               listOf(shape.padding), listOf(shape.dilation), shape.groups,
                                               "none", false}));
            });
}

RuleResult lowerLinear(const Match& match, ProgramRewriter& rewriter, PackedWeights& packed) {
  const std::optional<Sizes> input = sizesOf(match["x"]), weight = sizesOf(match["weight"]);
  if (!input || !weight || input->empty()) return match.decline("sizes are not known");
  if (weight->size() != 2) return match.decline("the weight is no matrix");
  if (const Node* bias = match.find("bias"); bias != nullptr && sizesOf(*bias) != Sizes{weight->front()})
    return match.decline("the bias is no vector of the results' length");
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < input->size(); ++i) rows *= (*input)[i];
  const PackedWeights::Input& held =
      packed.input(rewriter, match["weight"], std::to_string(rows),
                   [rows](const at::Tensor& tensor) { return packLinear(tensor, rows); });
  return rewriter.replace(match.root(), rewriter.call(operatorIn(rewriter.program(), "onednn.linear.default"),
                                                      {match["x"], held.node, match.argOr("bias", nullptr),
                                                       nullptr, listOf(*weight), held.layout, "none"}));
}

void addLinear(RuleSet& rules, PackedWeights& packed) {
  const Pattern transposed = op({"aten.permute.default", "aten.permute_copy.default", "aten.t.default"},
                                {constant("weight"), equals(Arg::list({1, 0}))});
  const auto add = [&](std::string_view name, const Pattern& pattern) {
    rules.add(name, pattern.dtype(Dtype::Float32), [&packed](const Match& match, ProgramRewriter& rewriter) {
      return lowerLinear(match, rewriter, packed);
    });
  };
  add("addmm", op("aten.addmm.default", any("bias"), any("x"), transposed));
  add("mm", op("aten.mm.default", any("x"), transposed));
  add("linear", op("aten.linear.default", any("x"), constant("weight"), optional("bias")));
}

void addProducts(RuleSet& rules) {
  const auto lower = [](const Match& match, ProgramRewriter& rewriter) {
    const std::optional<Sizes> columns = sizesOf(match["b"]);
    if (const Node* bias = match.find("bias");
        bias != nullptr && (!columns || sizesOf(*bias) != Sizes{columns->back()}))
      return match.decline("the bias is no vector of the results' length");
    return rewriter.replace(match.root(),
                            rewriter.call(operatorIn(rewriter.program(), "onednn.matmul.default"),
                                          {match["a"], match["b"], match.argOr("bias", nullptr), "none"}));
  };
  const Pattern plain = op({"aten.mm.default", "aten.bmm.default"}, {any("a"), any("b")});
  rules.add("product", plain.dtype(Dtype::Float32), lower);
  const Pattern biased = op("aten.addmm.default", any("bias"), any("a"), any("b"));
  rules.add("product-with-bias", biased.dtype(Dtype::Float32), lower);
}

}  // namespace

void addFoldingRules(RuleSet& rules) {
  const Pattern convolution =
      op("aten.convolution.default", any("x"), constant("weight"), optional(constant("bias")), rest("how"));
  const Pattern norm =
      op("aten._native_batch_norm_legit_no_training.default",
         convolution.dtype(Dtype::Float32).singleUse().as("convolution"), optional(constant("gamma")),
         optional(constant("beta")), constant("mean"), constant("variance"), rest("numbers"));
  const Pattern result = op("operator.getitem", norm.singleUse(), equals(0));
  rules.add("fold-batch-norm", result, [](const Match& match, ProgramRewriter& rewriter) {
    if (match.arg("how", 3).asBool()) return match.decline("the convolution is transposed");
    const at::Tensor weight = rewriter.tensor(match["weight"]).detach();
    const at::Tensor mean = rewriter.tensor(match["mean"]);
    const auto stored = [&](std::string_view name) {
      return match.has(name) ? rewriter.tensor(match[name]).detach() : at::zeros_like(mean);
    };
    at::Tensor scale = (rewriter.tensor(match["variance"]) + match.arg("numbers", 1).asFloat()).rsqrt();
    if (match.has("gamma")) scale = scale * stored("gamma");
    Sizes perResult(static_cast<size_t>(weight.dim()), 1);
    perResult[0] = -1;

    const std::string name(match["weight"].name());
    Node& folded = rewriter.addConstant(name + "_folded", weight * scale.view(perResult));
    Node& bias = rewriter.addConstant(name + "_bias", stored("beta") + (stored("bias") - mean) * scale);
    Args args{match["x"], folded, bias};
    for (size_t i = 0; i < match.numArgs("how"); ++i) args.emplace_back(match.arg("how", i));
    return rewriter.replace(match.root(), rewriter.call(match["convolution"].target(), args),
                            {&match["convolution"]});
  });
}

void addOperatorRules(RuleSet& rules, PackedWeights& packed) {
  addConvolution(rules, packed);
  addLinear(rules, packed);
  addProducts(rules);
}

}  // namespace onednn

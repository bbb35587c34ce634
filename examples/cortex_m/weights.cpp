#include <edgefx/ir/node_queries.h>

#include "lowering.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <memory>

// Layers with weights: convolutions, depthwise convolutions, linear layers.
namespace cortex_m {
namespace {

using namespace edgefx;
using patterns::constant;
using patterns::equals;
using patterns::op;
using patterns::rest;

// A layer's stored tensors as int8 kernels read them, but for the order of the weight.
struct Weights {
  at::Tensor bias;     // int32 [O]
  at::Tensor factors;  // int32 [2, 1] or [2, O]
};

// The quantization of a weight: one scale, or one for each output channel, which is dimension 0.
struct WeightScales {
  std::vector<double> scales;
  std::string fault;  // why it cannot be read, empty if it could
  bool isCentered = true;
};

WeightScales scalesOf(const Node& dequantize, const Lowering& lowering) {
  WeightScales found;
  if (const std::optional<Quantization> whole = int8Of(dequantize)) {
    found.scales = {whole->scale};
    found.isCentered = whole->zero == 0;
    return found;
  }
  if (!dequantize.callsOperator(kDequantizeChannels) || dequantize.args().size() != 7) {
    found.fault = "its weight is not dequantized from int8";
    return found;
  }
  const at::Tensor* scales = lowering.stored(dequantize.arg(1).findNode());
  const at::Tensor* zeros = lowering.stored(dequantize.arg(2).findNode());
  if (scales == nullptr || scales->dim() != 1 || (zeros == nullptr && !dequantize.arg(2).isNone())) {
    found.fault = "the scales and zero points of its weight are no constants";
  } else if (integerOf(dequantize.findArg(3), 0) != 0) {
    found.fault = "its weight has scales along another dimension than that of the output channels";
  } else {
    const at::Tensor wide = scales->to(at::kDouble).contiguous();
    found.scales.assign(wide.data_ptr<double>(), wide.data_ptr<double>() + wide.numel());
    found.isCentered = zeros == nullptr || zeros->eq(0).all().item().toBool();
  }
  return found;
}

class LayerRule {
 public:
  LayerRule(const Match& match, Lowering& lowering)
      : match_(match),
        lowering_(lowering),
        compute_(match["compute"]),
        x_(*int8Of(match["x_dq"])),
        y_(*int8Of(match.root())),
        weight_(*lowering.stored(&match["weight"])) {}

  RuleResult convolution() {
    if (std::string fault = readWindow(); !fault.empty())
      return lowering_.decline(compute_, std::move(fault));
    if (isTransposed_) return lowering_.decline(compute_, "the library has no transposed convolution");
    const int64_t inputs = weight_.size(1) * groups_;
    const bool isDepthwise = groups_ > 1 && weight_.size(1) == 1;
    if (weight_.size(0) % groups_ != 0 || !isImageOf(inputs)) {
      return lowering_.decline(compute_, "its weight does not fit its input");
    }
    const std::string form = isDepthwise ? "ihwo" : "ohwi";
    at::Tensor packed =
        weight_.permute(isDepthwise ? at::IntArrayRef{1, 2, 3, 0} : at::IntArrayRef{0, 2, 3, 1});
    Args more{list(stride_), list(padding_), list(dilation_)};
    if (!isDepthwise) more.emplace_back(groups_);
    return make(isDepthwise ? "depthwise_conv2d" : "conv2d", form, packed.contiguous(), more);
  }

  RuleResult linear() {
    if (weight_.dim() != 2) return lowering_.decline(compute_, "its weight is no matrix");
    return make("linear", "packed", weight_.contiguous(), {});
  }

 private:
  static Arg list(const Pair& pair) { return {pair[0], pair[1]}; }

  bool isImageOf(int64_t channels) const {
    const TensorMeta* x = tensorMetaOf(match_["x"]);
    return x != nullptr && x->sizes.size() == 4 && x->sizes[1] == SymInt(channels);
  }

  bool isBias(const at::Tensor* bias) const {
    return bias != nullptr && bias->scalar_type() == at::kFloat && bias->dim() == 1 &&
           bias->size(0) == weight_.size(0);
  }

  // Why it is no convolution of an image, empty if it is one.
  std::string readWindow() {
    if (weight_.dim() != 4) return "it is no convolution of images";
    if (!compute_.kwargs().empty()) return "it has keyword arguments";
    const bool isGeneral = compute_.callsOperator("aten.convolution.default");
    const auto stride = pairOf(compute_.findArg(3), {1, 1}), padding = pairOf(compute_.findArg(4), {0, 0}),
               dilation = pairOf(compute_.findArg(5), {1, 1});
    const auto groups = integerOf(compute_.findArg(isGeneral ? 8 : 6), 1);
    const auto isTransposed = isGeneral ? booleanOf(compute_.findArg(6), false) : std::optional(false);
    if (!stride || !padding || !dilation || !groups || !isTransposed || *groups < 1)
      return "its stride, padding, dilation or groups are no plain numbers";
    stride_ = *stride, padding_ = *padding, dilation_ = *dilation;
    groups_ = *groups, isTransposed_ = *isTransposed;
    return {};
  }

  RuleResult make(const char* name, const std::string& form, at::Tensor packed, const Args& more) {
    if (weight_.scalar_type() != at::kChar)
      return lowering_.decline(compute_, "its weight is not stored as int8");
    const Node* bias = match_.find("bias");
    if (bias != nullptr && !isBias(lowering_.stored(bias)))
      return lowering_.decline(compute_, "its bias is no float32 for each channel");
    const WeightScales scales = scalesOf(match_["weight_dq"], lowering_);
    if (!scales.fault.empty()) return lowering_.decline(compute_, scales.fault);
    if (!scales.isCentered)
      lowering_.refuse(compute_, "expected weights with zero point 0, found another one");
    if (scales.scales.size() != 1 && scales.scales.size() != static_cast<size_t>(weight_.size(0)))
      lowering_.refuse(compute_, "there are " + std::to_string(scales.scales.size()) + " scales for " +
                                     std::to_string(weight_.size(0)) + " channels");
    lowering_.checkScale(compute_, x_);
    lowering_.checkScale(compute_, y_);
    const std::optional<Output> output = outputOf(match_.find("act"), y_);
    if (!output) return lowering_.decline(compute_, "the bounds of its activation are no plain numbers");

    const Weights weights = quantized(bias, scales.scales);
    Args args{match_["x"], nullptr, nullptr, nullptr};
    args.insert(args.end(), more.begin(), more.end());
    for (const int32_t number : {x_.zero, output->zero, output->min, output->max}) args.emplace_back(number);
    Node& made = lowering_.rewriter().call(lowering_.own(name), args);
    const Node& weight = match_["weight"];
    lowering_.giveConstant(made, 1, weight, form, std::move(packed));
    lowering_.giveConstant(made, 2, weight, "bias", weights.bias);
    lowering_.giveConstant(made, 3, weight, "factors", weights.factors);
    dropOld();
    return lowering_.finish(match_.root(), made, compute_);
  }

  void dropOld() {
    for (const Node& input : match_["weight_dq"].inputs()) lowering_.mayDrop(&input);
    lowering_.mayDrop(match_.find("bias"));
  }

  Weights quantized(const Node* bias, const std::vector<double>& scales) const {
    const int64_t channels = weight_.size(0), inner = channels == 0 ? 0 : weight_.numel() / channels;
    Weights weights{at::zeros({channels}, at::kInt),
                    at::empty({2, static_cast<int64_t>(scales.size())}, at::kInt)};
    int32_t* factors = weights.factors.data_ptr<int32_t>();
    for (size_t i = 0; i < scales.size(); ++i) {
      lowering_.checkScale(compute_, {.scale = scales[i]});
      const Factor factor = lowering_.factor(compute_, x_.scale * scales[i] / y_.scale);
      factors[i] = factor.value;
      factors[scales.size() + i] = factor.shift;
    }
    const at::Tensor real = bias == nullptr ? at::Tensor() : lowering_.stored(bias)->contiguous();
    const at::Tensor taps = weight_.contiguous();
    // How far an input is from its zero point at most.
    const int64_t reach = std::max(127 - x_.zero, x_.zero + 128);
    for (int64_t channel = 0; channel < channels; ++channel) {
      const double scale = x_.scale * scales[scales.size() == 1 ? 0 : static_cast<size_t>(channel)];
      const double whole = bias == nullptr ? 0.0 : std::nearbyint(real.data_ptr<float>()[channel] / scale);
      int64_t sum = 0;
      const int8_t* row = taps.data_ptr<int8_t>() + channel * inner;
      for (int64_t i = 0; i < inner; ++i) sum += std::abs(row[i]);
      if (!(std::abs(whole) + static_cast<double>(sum * reach) <= std::numeric_limits<int32_t>::max()))
        lowering_.refuse(compute_, "the sums of channel " + std::to_string(channel) + " may not fit 32 bits");
      weights.bias.data_ptr<int32_t>()[channel] = static_cast<int32_t>(whole);
    }
    return weights;
  }

  const Match& match_;
  Lowering& lowering_;
  const Node& compute_;
  const Quantization x_, y_;
  const at::Tensor& weight_;
  Pair stride_{1, 1}, padding_{0, 0}, dilation_{1, 1};
  int64_t groups_ = 1;
  bool isTransposed_ = false;
};

}  // namespace

void addLayerRules(RuleSet& rules, Lowering& lowering) {
  const auto add = [&](const char* name, const Pattern& compute, auto&& lower) {
    island::add(rules, name, compute.as("compute"), [&lowering, lower](const Match& match, ProgramRewriter&) {
      if (lowering.stored(&match["weight"]) == nullptr)
        return lowering.decline(match["compute"], "the program writes its weight, or has no tensor for it");
      return lower(LayerRule(match, lowering));
    });
  };
  const Pattern x = island::operand("x"), bias = patterns::optional(constant("bias"));
  const Pattern weight =
      op({kDequantize, kDequantizeChannels}, {constant("weight"), rest("weight_rest")}).as("weight_dq");
  const Pattern transposed =
      op({"aten.permute.default", "aten.permute_copy.default"}, {weight, equals(Arg::list({1, 0}))});
  const Pattern flipped = op({"aten.t.default", "aten.t_copy.default"}, {weight});
  const auto convolution = [](LayerRule rule) { return rule.convolution(); };
  const auto linear = [](LayerRule rule) { return rule.linear(); };

  add("convolution", op({"aten.conv2d.default", "aten.convolution.default"}, {x, weight, bias, rest("more")}),
      convolution);
  add("linear", op("aten.linear.default", x, weight, bias), linear);
  add("addmm", op("aten.addmm.default", constant("bias"), x, transposed), linear);
  add("addmm-t", op("aten.addmm.default", constant("bias"), x, flipped), linear);
  add("mm", op("aten.mm.default", x, transposed), linear);
  add("mm-t", op("aten.mm.default", x, flipped), linear);
}

}  // namespace cortex_m

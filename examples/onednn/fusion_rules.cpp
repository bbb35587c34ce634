#include <edgefx/ir/node_queries.h>

#include "rules.h"

namespace onednn {

using namespace edgefx;
using patterns::any;
using patterns::op;
using patterns::rest;

namespace {

size_t activationPlace(const Node& call) {
  if (call.callsOperator("onednn.convolution.default")) return kConvolutionActivation;
  return call.callsOperator("onednn.linear.default") ? kLinearActivation : kMatmulActivation;
}

// A call that nothing else reads and that has no activation yet.
Pattern producer(std::initializer_list<std::string_view> operators) {
  return op(operators, {rest("operands")})
      .singleUse()
      .where([](const Node& call) { return call.arg(activationPlace(call)).asString() == "none"; },
             "it has an activation")
      .as("producer");
}

// The same call with some arguments changed, in the place of what it now does, too.
RuleResult replaceBy(const Match& match, ProgramRewriter& rewriter,
                     const std::vector<std::pair<size_t, Arg>>& changed) {
  const Node& producer = match["producer"];
  Args args(producer.args().begin(), producer.args().end());
  for (const auto& [place, value] : changed) args[place] = value;
  Node& fused = rewriter.call(producer.target(), args);
  return rewriter.replace(match.root(), fused, {&producer});
}

void addActivations(RuleSet& rules) {
  const std::initializer_list<std::string_view> producers{"onednn.convolution.default",
                                                          "onednn.linear.default", "onednn.matmul.default"};
  using Named = std::pair<const char*, const char*>;
  for (const auto& [name, activation] :
       {Named("aten.relu.default", "relu"), Named("aten.tanh.default", "tanh")}) {
    rules.add(activation, op(std::string_view(name), producer(producers)),
              [activation = activation](const Match& match, ProgramRewriter& rewriter) {
                return replaceBy(match, rewriter, {{activationPlace(match["producer"]), activation}});
              });
  }
  const auto isTanh = [](const Node& gelu) {
    const Argument* approximate = gelu.findKwarg("approximate");
    return approximate != nullptr && approximate->asString() == "tanh";
  };
  rules.add("gelu", op("aten.gelu.default", producer(producers), rest("approximate")),
            [isTanh](const Match& match, ProgramRewriter& rewriter) {
              return replaceBy(
                  match, rewriter,
                  {{activationPlace(match["producer"]), isTanh(match.root()) ? "gelu_tanh" : "gelu"}});
            });
}

void addAddition(RuleSet& rules) {
  const Pattern sum =
      op("aten.add.Tensor",
         producer({"onednn.convolution.default", "onednn.linear.default"})
             .where([](const Node& call) { return call.arg(kOther).isNone(); }, "it adds something already"),
         any("other").dtype(Dtype::Float32));
  rules.add("add", sum.commutative(), [](const Match& match, ProgramRewriter& rewriter) {
    const TensorMeta* result = tensorMetaOf(match["producer"]);
    const TensorMeta* other = tensorMetaOf(match["other"]);
    if (result == nullptr || result->sizes != other->sizes)
      return match.decline("what is added is of another shape");
    return replaceBy(match, rewriter, {{kOther, match["other"]}});
  });
}

// view -> linear -> view: the kernel takes any number of dimensions.
void addViews(RuleSet& rules) {
  const std::initializer_list<std::string_view> views{"aten.view.default", "aten.view_copy.default"};
  const Pattern linear = op("onednn.linear.default", op(views, {any("x"), rest("inner")}), rest("operands"));
  rules.add("views", op(views, {linear.singleUse().as("producer"), rest("outer")}),
            [](const Match& match, ProgramRewriter& rewriter) {
              const TensorMeta *x = tensorMetaOf(match["x"]), *result = tensorMetaOf(match.root()),
                               *flat = tensorMetaOf(match["producer"]);
              if (x == nullptr || result == nullptr || flat == nullptr || x->sizes.empty())
                return match.decline("shapes are not known");
              std::vector<SymInt> expected = x->sizes;
              expected.back() = flat->sizes.back();
              const Argument& weight = match["producer"].arg(4);
              if (result->sizes != expected || x->sizes.back() != SymInt(weight.items()[1].asInt()))
                return match.decline("they change more than leading dimensions");
              if (!match["producer"].arg(kOther).isNone())
                return match.decline("what is added has the flat shape");
              return replaceBy(match, rewriter, {{0, match["x"]}});
            });
}

}  // namespace

void addFusionRules(RuleSet& rules) {
  addViews(rules);
  addAddition(rules);
  addActivations(rules);
}

}  // namespace onednn

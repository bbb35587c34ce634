#include <edgefx/rewrite/rules.h>

#include "layout.h"

#include <algorithm>
#include <set>
#include <vector>

namespace nhwc {

using namespace edgefx;
using patterns::any;
using patterns::equals;
using patterns::op;
using patterns::rest;

namespace {

// An operator that does the same to each element, wherever it lies.
Pattern elementwise() {
  return op({"aten.abs.default", "aten.add.Tensor", "aten.clamp.default", "aten.div.Tensor",
             "aten.elu.default", "aten.gelu.default", "aten.hardsigmoid.default", "aten.hardswish.default",
             "aten.hardtanh.default", "aten.leaky_relu.default", "aten.mul.Tensor", "aten.neg.default",
             "aten.relu.default", "aten.sigmoid.default", "aten.sub.Tensor", "aten.tanh.default"},
            {any("first"), rest("others")});
}

Pattern copyOf(const Pattern& value) {
  return op({kLayoutCopies[0], kLayoutCopies[1], kLayoutCopies[2], kLayoutCopies[3]}, {value, rest("how")});
}

// A value that leaves a region: its permute, and perhaps a copy that gives it channels-last strides.
Pattern leaving(const Pattern& value) {
  return op(kPermute, value, equals(toNchw()));
}

struct Exit {
  Node* value = nullptr;  // channels last, null if the operand leaves no region
  Node* copy = nullptr;   // null if there is none
};

Exit exitOf(Node* operand) {
  Exit exit;
  if (operand != nullptr && isLayoutCopy(*operand) && isChannelsLast(*tensorMetaOf(*operand))) {
    exit.copy = operand;
    operand = operand->arg(0).findNode();
  }
  if (operand == nullptr || !operand->callsOperator(kPermute)) return {};
  const Argument& order = operand->arg(1);
  const int64_t wanted[] = {0, 3, 1, 2};
  const bool leaves = order.items().size() == 4 &&
                      std::ranges::equal(order.items(), wanted, [](const Argument& item, int64_t dimension) {
                        return item.isInt() && item.asInt() == dimension;
                      });
  if (leaves) exit.value = operand->arg(0).findNode();
  return exit;
}

// relu(exit(x)) -> exit(relu(x)), add(exit(x), exit(y)) -> exit(add(x, y)).
RuleResult moveBelow(const Match& match, ProgramRewriter& rewriter) {
  Node& root = match.root();
  Args args;
  const Node* copy = nullptr;
  for (const Argument& argument : root.args()) {
    if (!argument.isNode()) {
      args.emplace_back(argument);
      continue;
    }
    const Exit exit = exitOf(argument.findNode());
    if (exit.value == nullptr) return match.decline("an operand is not channels last");
    if (exit.copy != nullptr) copy = exit.copy;
    args.emplace_back(exit.value);
  }
  Kwargs kwargs;
  for (const auto [key, value] : root.kwargs()) {
    if (value.isNode()) return match.decline("an operand has a name");
    kwargs.emplace_back(key, value);
  }
  Node& moved = rewriter.call(root.target(), args, kwargs);
  Node* result = &rewriter.call(operatorIn(rewriter.program(), kPermute), {moved, toNchw()});
  if (copy != nullptr && tensorMetaOf(root) != nullptr && isChannelsLast(*tensorMetaOf(root))) {
    Kwargs how;
    for (const auto [key, value] : copy->kwargs()) how.emplace_back(key, value);
    result = &rewriter.call(copy->target(), {*result}, how);
  }
  return rewriter.replace(root, *result);
}

// mean(exit(x), [2, 3]) is a mean of x; with one pixel left, its order tells nothing any more.
RuleResult moveMean(const Match& match, ProgramRewriter& rewriter) {
  Node& mean = match.root();
  if (match.numArgs("how") == 0 || !mean.kwargs().empty())
    return match.decline("it casts, or reduces everything");
  std::set<int64_t> dims;
  for (const Argument& item : match.arg("how", 0).items()) {
    if (!item.isInt()) return match.decline("its dimensions are not known yet");
    dims.insert(item.asInt() < 0 ? item.asInt() + 4 : item.asInt());
  }
  if (dims != std::set<int64_t>{2, 3}) return match.decline("it is none over height and width");
  const Argument* const keeps = match.findArg("how", 1);
  const bool keepsDims = keeps != nullptr && keeps->asBool();
  Node& moved = rewriter.call(mean.target(), {match["x"], Arg::list({1, 2}), keepsDims});
  if (!keepsDims) return rewriter.replace(mean, moved);
  return rewriter.replace(mean, rewriter.call(operatorIn(rewriter.program(), kPermute), {moved, toNchw()}));
}

RuleResult viewPixel(const Match& match, ProgramRewriter& rewriter) {
  const TensorMeta* const x = tensorMetaOf(match["x"]);
  if (x == nullptr || x->sizes[1] != SymInt(1) || x->sizes[2] != SymInt(1))
    return match.decline("its elements would come in another order");
  return rewriter.replace(match.root(),
                          rewriter.call(match.root().target(), {match["x"], match.arg("shape", 0)}));
}

void addRules(RuleSet& rules) {
  const Pattern layoutCopy =
      copyOf(any("source")).where(isLayoutCopy, "it changes more than the order of memory");
  // Back where it came from.
  rules.add("permute-of-permute", op(kPermute, leaving(any("x")), equals(toNhwc())),
            [](const Match& match, ProgramRewriter& rewriter) {
              return rewriter.replace(match.root(), match["x"]);
            });
  // The order of memory does not matter to a permute that copies.
  rules.add("permute-of-copy", op(kPermute, layoutCopy, equals(toNhwc())),
            [](const Match& match, ProgramRewriter& rewriter) {
              return rewriter.replace(match.root(),
                                      rewriter.call(match.root().target(), {match["source"], toNhwc()}));
            });
  // What leaves a region is contiguous already, or becomes so again.
  rules.add("contiguous-copy", copyOf(any("value")), [](const Match& match, ProgramRewriter& rewriter) {
    const Exit exit = exitOf(&match["value"]);
    if (exit.value == nullptr) return match.decline("what it copies leaves no region");
    if (!isLayoutCopy(match.root()) || !isContiguous(*tensorMetaOf(match.root())))
      return match.decline("its result is another");
    return rewriter.replace(match.root(), exit.copy == nullptr ? match["value"] : exit.copy->arg(0).asNode());
  });
  rules.add("elementwise", elementwise(), moveBelow);
  rules.add("mean", op("aten.mean.dim", leaving(any("x")), rest("how")), moveMean);
  rules.add("view-of-pixel",
            op({"aten.view_copy.default", "aten.view.default"}, {leaving(any("x")), rest("shape")}),
            viewPixel);
}

}  // namespace

bool cancelPermutes(ExportedProgram& program) {
  RuleSet rules;
  addRules(rules);
  ShapeRules shapes;
  addOwnShapeRules(shapes);
  ProgramRewriter rewriter(program, &shapes);
  return rules.run(rewriter) > 0;
}

}  // namespace nhwc

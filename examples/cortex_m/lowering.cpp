#include "lowering.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include <algorithm>
#include <set>
#include <utility>

namespace cortex_m {

using namespace edgefx;
using patterns::any;
using patterns::op;
using patterns::rest;

namespace {

bool isOwn(const Node& node) {
  return node.isCall() && node.target().ns() == "q8";
}

// What a call gives anew, so that nobody else can see it being written.
constexpr const char* kFresh[] = {kDequantize,           "aten.conv2d.default", "aten.convolution.default",
                                  "aten.linear.default", "aten.addmm.default",  "aten.mm.default",
                                  "aten.add.Tensor",     "aten.mul.Tensor",     "aten.mean.dim"};

// relu_(x) is relu(x) if x is a fresh value that nobody else reads.
void addInPlaceRule(RuleSet& rules) {
  const Pattern fresh = any("self").singleUse().where(
      [](const Node& node) {
        return std::ranges::any_of(kFresh, [&](const char* name) { return node.callsOperator(name); });
      },
      "others may see it being written");
  const Pattern writes = op({"aten.relu_.default", "aten.hardtanh_.default", "aten.relu6_.default",
                             "aten.clamp_.default", "aten.add_.Tensor", "aten.mul_.Tensor"},
                            {fresh, rest("more")});
  rules.add("in-place", writes, [](const Match& match, ProgramRewriter& rewriter) {
    const Target target = match.root().target();
    const std::string op(target.op().substr(0, target.op().size() - 1));
    rewriter.retarget(match.root(), Target("aten." + op + "." + std::string(target.overload())));
    return RuleResult::changed();
  });
}

bool isWrittenInPlace(const Node& placeholder) {
  return std::ranges::any_of(placeholder.users(), [](const Node& user) {
    const OperatorInfo* info = user.isCall() ? findOperator(user.target()) : nullptr;
    return info != nullptr && info->isMutable;
  });
}

std::string shapesOf(const Node& node) {
  std::string text;
  for (const Node& input : node.inputs()) {
    if (!text.empty()) text += ", ";
    text += input.value() == nullptr ? std::string("?") : input.value()->text();
  }
  return text;
}

}  // namespace

namespace island {

const std::initializer_list<std::string_view> kActivations = {"aten.relu.default", "aten.relu6.default",
                                                              "aten.hardtanh.default", "aten.clamp.default"};

Pattern operand(const std::string& name) {
  return op(kDequantize, any(name), rest(name + "_rest"))
      .as(name + "_dq")
      .where([](const Node& node) { return int8Of(node).has_value(); }, "it is not int8");
}

void add(RuleSet& rules, const std::string& name, const Pattern& compute, const RuleSet::Action& action) {
  const auto quantized = [](const Pattern& value) {
    return op(kQuantize, value, rest("y_rest"))
        .where([](const Node& node) { return int8Of(node).has_value(); }, "it is not int8");
  };
  const Pattern single = compute.singleUse();
  rules.add(name, quantized(single), action);
  rules.add(name + "-clamp", quantized(op(kActivations, {single, rest("act_rest")}).as("act").singleUse()),
            action);
}

}  // namespace island

Lowering::Lowering(ExportedProgram& program) : program_(program), rewriter_(program, &shapes_) {
  addShapes(shapes_);
  const SignatureIndex index(program.signature);
  std::set<std::string_view> written;
  for (const OutputSpec& output : program.signature.outputs) {
    if (output.target) written.insert(*output.target);
  }
  for (const Node* node : program.graph().placeholders()) {
    const InputSpec* spec = index.findInput(node->name());
    const StoredTensor* tensor = spec == nullptr ? nullptr : program.findStored(*spec);
    if (tensor == nullptr || !tensor->isTensor() || written.contains(*spec->target)) continue;
    if (!isWrittenInPlace(*node)) stored_[*node] = &tensor->tensor();
  }
}

Report Lowering::run() {
  RuleSet rules;
  addInPlaceRule(rules);
  addLayerRules(rules, *this);
  addPointwiseRules(rules, *this);
  rules.run(rewriter_);
  for (Node* node : idle_) {
    if (!node->isErased() && node->numUsers() == 0) node->graph().erase(*node);
  }
  if (!idle_.empty()) rewriter_.eraseDeadNodes();
  addConstants();
  settleLayouts();
  rewriter_.eraseDeadInputs({InputKind::Parameter, InputKind::Buffer, InputKind::ConstantTensor},
                            [&](const Node& placeholder) { return mayDrop_[placeholder] != 0; });
  Report report;
  for (const Made& made : made_) {
    if (made.node->isErased()) continue;
    report.layers.push_back(
        {std::string(made.node->name()), std::string(made.node->target().name()), made.replaced});
  }
  report.leftovers = leftovers();
  return report;
}

Target Lowering::own(std::string_view op) const {
  return operatorIn(program_, "q8." + std::string(op) + ".default");
}

RuleResult Lowering::decline(const Node& compute, std::string reason) {
  reasons_[&compute] = reason;
  return RuleResult::declined(std::move(reason));
}

void Lowering::refuse(const Node& compute, const std::string& reason) const {
  throw LoweringError(nodeFault(compute, "cannot lower " + std::string(compute.target().name()) + "(" +
                                             shapesOf(compute) + "): " + reason));
}

Factor Lowering::factor(const Node& compute, double real) const {
  const std::optional<Factor> factor = factorOf(real);
  if (!factor) {
    refuse(compute, "expected a factor of requantization below 2^30, found " + std::to_string(real));
  }
  return *factor;
}

void Lowering::checkScale(const Node& compute, const Quantization& quantization) const {
  if (quantization.scale > 0 && std::isfinite(quantization.scale)) return;
  refuse(compute, "expected a positive scale, found " + std::to_string(quantization.scale));
}

const at::Tensor* Lowering::stored(const Node* placeholder) const {
  const bool isOfProgram = placeholder != nullptr && placeholder->isPlaceholder() &&
                           &placeholder->graph() == &std::as_const(program_).graph();
  return isOfProgram ? stored_[*placeholder] : nullptr;
}

void Lowering::giveConstant(Node& call, size_t position, const Node& weight, std::string_view form,
                            at::Tensor tensor) {
  auto [known, isNew] = constantOf_.try_emplace({weight.id(), std::string(form)}, constants_.size());
  const bool isShared = !isNew && constants_[known->second].tensor.equal(tensor);
  if (!isNew && !isShared) known->second = constants_.size();
  if (!isShared)
    constants_.push_back({std::string(weight.name()) + "_" + std::string(form), std::move(tensor), {}});
  constants_[known->second].readers.emplace_back(&call, position);
}

void Lowering::mayDrop(const Node* placeholder) {
  if (stored(placeholder) != nullptr) mayDrop_[*placeholder] = 1;
}

RuleResult Lowering::finish(Node& root, Node& made, const Node& compute) {
  made.setMeta(mergeMeta(compute, {&root}));
  return extend(root, made);
}

RuleResult Lowering::extend(Node& root, Node& made) {
  const auto [known, isNew] = madeIndex_.try_emplace(&made, made_.size());
  if (isNew) made_.push_back({&made, nullptr, {}});
  made_[known->second] = {&made, root.valueRef(), std::string(root.name())};
  return rewriter_.replace(root, made);
}

void Lowering::addConstants() {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (Constant& constant : constants_) named.emplace_back(constant.name, std::move(constant.tensor));
  const std::vector<Node*> nodes = rewriter_.addConstants(std::move(named));
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (auto [call, position] : constants_[i].readers) call->setArg(position, *nodes[i]);
  }
}

// Images lie channels-last from here on. Those who do not know that get them as they were.
void Lowering::settleLayouts() {
  for (const Made& made : made_) {
    if (!made.node->isErased() && isOwn(*made.node)) settleLayout(*made.node, made.original);
  }
}

void Lowering::settleLayout(Node& node, const ValueRef& original) {
  if (ValueRef value = inferValue(node, &shapes_)) node.setValue(std::move(value));
  if (describeSame(node.value(), original.get())) return;
  const auto isForeign = [](const Node& user) { return !isOwn(user); };
  const std::vector<Node*> users = node.usersSnapshot();
  if (std::ranges::none_of(users, [&](const Node* user) { return isForeign(*user); })) return;
  InsertionGuard guard(node.graph(), after(node));
  Node& copy = node.graph().call(operatorIn(program_, "aten.clone.default"), {node},
                                 {{"memory_format", MemoryFormat::Contiguous}});
  copy.setValue(original);
  copy.setMeta(node.metaRef());
  reasons_[&copy] = "it puts %" + std::string(node.name()) + " back into the layout that its readers expect";
  bool isResult = false;
  node.replaceAllUsesWith(copy, [&](const Node& user) {
    const bool moves = &user != &copy && isForeign(user);
    isResult = isResult || (moves && user.isOutput());
    return moves;
  });
  if (isResult && &node.graph() == &program_.graph())
    program_.signature.renameOutput(node.name(), copy.name());
}

}  // namespace cortex_m

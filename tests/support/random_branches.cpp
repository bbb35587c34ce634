#include "support/random_calls.h"
#include "support/tensor_forms.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

// Control flow of random programs.
namespace edgefx::test {
namespace {

bool sameForm(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

bool sameForms(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), sameForm);
}

Args nodesOf(const std::vector<RandomCalls::Value>& values) {
  Args nodes;
  for (const RandomCalls::Value& value : values) nodes.emplace_back(*value.node);
  return nodes;
}

std::vector<at::Tensor> tensorsOf(const std::vector<RandomCalls::Value>& values) {
  std::vector<at::Tensor> tensors;
  for (const RandomCalls::Value& value : values) tensors.push_back(value.tensor);
  return tensors;
}

}  // namespace

void RandomCalls::addControlFlow() {
  if (depth_ >= 2) return addView();
  const size_t kind = dice_.below(10);
  if (kind < 4) return addCond();
  if (kind < 5) return addWhile();
  if (kind < 7) return addMap();
  if (kind < 8) return addScan();
  addSubgraph();
}

RandomCalls::Operands RandomCalls::someOperands(size_t most) {
  Operands operands;
  const size_t count = 1 + dice_.below(most);
  for (size_t i = 0; i < count; ++i) operands.push_back(dice_.percent(60) ? recent() : any());
  return operands;
}

// A bool without dimensions.
RandomCalls::Value RandomCalls::condition() {
  const auto found =
      pick([](const at::Tensor& tensor) { return tensor.scalar_type() == at::kBool && tensor.dim() == 0; });
  if (found && dice_.percent(60)) return *found;
  const Value x = recent();
  Node& sum = *callUnbounded("aten.sum.default", {*x.node});
  return valueOf(*callUnbounded("aten.gt.Scalar", {sum, 0}));
}

template <typename Fill>
RandomCalls::Branch RandomCalls::makeBranch(std::string_view prefix, const std::vector<at::Tensor>& operands,
                                            bool writes, Fill&& fill) {
  auto module = std::make_unique<GraphModule>();
  RandomCalls inner(dice_, *module, depth_ + 1, writes);
  Operands inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    Node& input = module->graph().placeholder("arg" + std::to_string(i) + "_1");
    input.setValue(describeValue(operands[i]));
    inner.addInput(input, operands[i], isWritable(operands[i]));
    inputs.push_back({&input, operands[i]});
  }
  const Operands results = fill(inner, inputs);
  module->graph().output(Arg::tuple(nodesOf(results)));
  Branch branch{std::string(prefix) + "_graph_" + std::to_string(owner_.children().size()), operands,
                tensorsOf(results)};
  owner_.addChild(branch.name, std::move(module));
  branches_.push_back(branch);
  return branch;
}

// One or two results of any kind, or those that `like` says.
RandomCalls::Branch RandomCalls::freeBranch(std::string_view prefix, const std::vector<at::Tensor>& operands,
                                            const std::vector<at::Tensor>* like, bool writes) {
  return makeBranch(prefix, operands, writes, [&](RandomCalls& inner, const Operands&) {
    inner.add(1 + dice_.below(5));
    Operands results;
    if (like != nullptr) {
      for (const at::Tensor& one : *like) results.push_back(inner.conform(inner.recent(), one));
    } else {
      const size_t count = 1 + dice_.below(2);
      for (size_t i = 0; i < count; ++i) results.push_back(inner.contiguous(inner.recent()));
    }
    return results;
  });
}

const RandomCalls::Branch* RandomCalls::findBranch(const std::vector<at::Tensor>& operands,
                                                   const std::vector<at::Tensor>* like) {
  if (!dice_.percent(40)) return nullptr;
  for (const Branch& branch : branches_) {
    if (!sameForms(branch.operands, operands)) continue;
    if (like == nullptr || sameForms(branch.results, *like)) return &branch;
  }
  return nullptr;
}

// The node that names the branch, the same one again or a new one.
Node& RandomCalls::attribute(const Branch& branch) {
  Node*& known = attributes_[branch.name];
  if (known == nullptr || dice_.percent(30)) known = &graph_.getAttr(branch.name);
  return *known;
}

void RandomCalls::callGraphs(const char* name, const Args& args, const std::vector<at::Tensor>& results) {
  std::vector<c10::IValue> items(results.begin(), results.end());
  const c10::IValue value = c10::ivalue::Tuple::create(std::move(items));
  ++numCalls_;
  Node& node = known(name, args, value, describeValue(value));
  for (size_t i = 0; i < results.size(); ++i) {
    if (i == 0 || dice_.percent(70)) item(node, static_cast<int64_t>(i));
  }
}

void RandomCalls::addCond() {
  const Value flag = condition();
  const Operands operands = someOperands(3);
  const std::vector<at::Tensor> tensors = tensorsOf(operands);
  const bool writes = writes_ && dice_.percent(30);
  const Branch* known = findBranch(tensors, nullptr);
  const Branch onTrue = known != nullptr ? *known : freeBranch("true", tensors, nullptr, writes);
  known = findBranch(tensors, &onTrue.results);
  const Branch onFalse = known != nullptr ? *known : freeBranch("false", tensors, &onTrue.results, writes);
  Node& first = attribute(onTrue);
  Node& second = attribute(onFalse);
  callGraphs("higher_order.cond", {*flag.node, first, second, Arg::tuple(nodesOf(operands))}, onTrue.results);
}

void RandomCalls::addSubgraph() {
  const Operands operands = someOperands(3);
  const std::vector<at::Tensor> tensors = tensorsOf(operands);
  const Branch* known = findBranch(tensors, nullptr);
  const Branch branch = known != nullptr ? *known : freeBranch("repeated", tensors, nullptr, writes_);
  Args args{attribute(branch), branch.name};
  for (const Value& operand : operands) args.emplace_back(*operand.node);
  callGraphs("higher_order.invoke_subgraph", args, branch.results);
}

// while i < a few: i, x = i + 1, ...
void RandomCalls::addWhile() {
  const auto x = pick(forms::isFull);
  if (!x) return;
  const Value carried = contiguous(*x);
  Node* start = call("aten.full.default", {Arg::list({}), 0}, {{"dtype", Dtype::Int64}});
  Operands operands{valueOf(*start), carried};
  const Operands extra = someOperands(1);
  std::vector<at::Tensor> tensors = tensorsOf(operands);
  tensors.push_back(extra.front().tensor);
  const auto turns = static_cast<int64_t>(1 + dice_.below(3));
  const Branch condition =
      makeBranch("cond", tensors, false, [&](RandomCalls& inner, const Operands& inputs) {
        return Operands{inner.valueOf(*inner.call("aten.lt.Scalar", {*inputs[0].node, turns}))};
      });
  // Not a tuple but the condition itself.
  Graph& tested = owner_.findChild(condition.name)->graph();
  Node& condValue = tested.outputNode().inputs().front();
  tested.outputNode().setArgs({condValue});
  const Branch body = makeBranch("body", tensors, false, [&](RandomCalls& inner, const Operands& inputs) {
    Node* next = inner.call("aten.add.Tensor", {*inputs[0].node, 1});
    inner.add(1 + dice_.below(4));
    return Operands{inner.valueOf(*next), inner.conform(inner.recent(), inputs[1].tensor)};
  });
  branches_.pop_back();
  branches_.pop_back();  // these are no branches for others
  Node& first = attribute(condition);
  Node& second = attribute(body);
  callGraphs("higher_order.while_loop",
             {first, second, Arg::tuple(nodesOf(operands)), Arg::tuple(nodesOf(extra))}, body.results);
}

void RandomCalls::addMap() {
  const auto x = pick([](const at::Tensor& tensor) { return tensor.dim() > 0; });
  if (!x) return;
  const Operands extra = dice_.percent(60) ? someOperands(2) : Operands{};
  std::vector<at::Tensor> tensors{x->tensor.select(0, 0)};
  for (const Value& value : extra) tensors.push_back(value.tensor);
  const Branch body = freeBranch("map", tensors, nullptr, false);
  std::vector<at::Tensor> results;
  for (const at::Tensor& row : body.results) {
    results.push_back(at::stack(std::vector<at::Tensor>(static_cast<size_t>(x->tensor.size(0)), row)));
  }
  Node& graph = attribute(body);
  callGraphs("higher_order.map_impl", {graph, Arg::list({*x->node}), Arg::list(nodesOf(extra))}, results);
}

void RandomCalls::addScan() {
  const auto x = pick([](const at::Tensor& tensor) { return tensor.dim() > 0; });
  const auto from = pick(forms::isFull);
  if (!x || !from) return;
  const Value carried = contiguous(*from);
  const Branch body = makeBranch("scan", {carried.tensor, x->tensor.select(0, 0)}, false,
                                 [&](RandomCalls& inner, const Operands& inputs) {
                                   inner.add(1 + dice_.below(4));
                                   const Value next = inner.conform(inner.recent(), inputs[0].tensor);
                                   return Operands{next, inner.contiguous(inner.recent())};
                                 });
  branches_.pop_back();
  std::vector<at::Tensor> results{body.results[0]};
  results.push_back(
      at::stack(std::vector<at::Tensor>(static_cast<size_t>(x->tensor.size(0)), body.results[1])));
  Node& graph = attribute(body);
  callGraphs("higher_order.scan", {graph, Arg::list({*carried.node}), Arg::list({*x->node}), Arg::list({})},
             results);
}

}  // namespace edgefx::test

#include "dialect/functional_forms.h"

#include <edgefx/ir/operators.h>

#include "dialect/memory_sharing.h"
#include "dialect/write_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {
namespace {

struct Renamed {
  std::string_view from, to;
};
constexpr Renamed kRenamed[] = {
    {"aten.__iand__.Scalar", "aten.bitwise_and.Scalar"},
    {"aten.__iand__.Tensor", "aten.bitwise_and.Tensor"},
    {"aten.__ior__.Scalar", "aten.bitwise_or.Scalar"},
    {"aten.__ior__.Tensor", "aten.bitwise_or.Tensor"},
    {"aten.__ixor__.Scalar", "aten.bitwise_xor.Scalar"},
    {"aten.__ixor__.Tensor", "aten.bitwise_xor.Tensor"},
    {"aten.bernoulli_.float", "aten.bernoulli.p"},
    {"aten.normal_.default", "aten.normal_functional.default"},
};
// They give the tensor another memory or shape.
constexpr std::string_view kReshaping[] = {"as_strided_", "resize_", "resize_as_", "set_"};

std::optional<Target> functionalTarget(Target target) {
  for (const Renamed& renamed : kRenamed) {
    if (target.name() == renamed.from) return Target(renamed.to);
  }
  const std::string_view op = target.op();
  if (target.overload().empty()) return std::nullopt;
  if (op.size() < 2 || op.back() != '_' || op.ends_with("__")) return std::nullopt;
  if (std::ranges::find(kReshaping, op) != std::end(kReshaping)) return std::nullopt;
  std::string name(target.ns());
  name += '.';
  name += op.substr(0, op.size() - 1);
  name += '.';
  name += target.overload();
  const Target made(name);
  const OperatorInfo* const info = findOperator(made);
  if (info == nullptr || info->isMutable || info->numReturns != 1) return std::nullopt;
  return made;
}

Args currentArgs(const Node& call, const CurrentValues& current) {
  Args args;
  for (const Argument& argument : call.args()) args.push_back(current.argument(argument));
  return args;
}

Kwargs currentKwargs(const Node& call, const CurrentValues& current) {
  Kwargs kwargs;
  for (const auto [key, value] : call.kwargs()) kwargs.emplace_back(key, current.argument(value));
  return kwargs;
}

// As what is written keeps its dtype.
Node& asWritten(Node& value, const Node& written, const CallMaker& maker) {
  const TensorMeta *const made = tensorMetaOf(value), *const wanted = tensorMetaOf(written);
  if (made == nullptr || wanted == nullptr || made->dtype == wanted->dtype) return value;
  return maker.call("aten._to_copy.default", {value}, {{"dtype", wanted->dtype}});
}

Node& copyForm(Node& call, const CurrentValues& current, const CallMaker& maker) {
  const Node& self = call.arg(0).asNode();
  const Node* const source = call.args().size() > 1 ? call.arg(1).findNode() : nullptr;
  const TensorMeta *const wanted = tensorMetaOf(self), *const given = source == nullptr
                                                                          ? nullptr
                                                                          : tensorMetaOf(*source);
  const bool isSame = wanted != nullptr && given != nullptr && wanted->dtype == given->dtype &&
                      wanted->sizes == given->sizes && wanted->device == given->device;
  const bool isLaidOutOtherwise = isSame && wanted->strides != given->strides;
  if (isLaidOutOtherwise && isContiguousTensor(wanted)) {
    return maker.call("aten.clone.default", {current.argument(call.arg(1))},
                      {{"memory_format", MemoryFormat::Contiguous}}, self.valueRef());
  }
  if (!isSame || isLaidOutOtherwise) {
    return maker.call("aten.copy.default", {current.argument(call.arg(0)), current.argument(call.arg(1))}, {},
                      self.valueRef());
  }
  Node& value = current.node(call.arg(1).asNode());
  if (!value.isPlaceholder() || !current.isWritten(value)) return value;
  // What the input holds now, not what is written into it.
  return maker.call("aten.clone.default", {value}, {}, value.valueRef());
}

// aten.batch_norm and its kin: input, weight, bias, running_mean, running_var, training, momentum, eps.
std::optional<FunctionalForm> normForm(Node& call, const CurrentValues& current, const CallMaker& maker) {
  static constexpr std::string_view kNorms[] = {"aten.batch_norm.default", "aten.native_batch_norm.default",
                                                "aten._native_batch_norm_legit.default"};
  if (std::ranges::find(kNorms, call.target().name()) == std::end(kNorms)) return std::nullopt;
  constexpr size_t kMean = 3, kVariance = 4, kArguments = 8;
  if (call.args().size() < kArguments || !call.arg(kMean).isNode() || !call.arg(kVariance).isNode())
    return std::nullopt;
  Args args;
  for (size_t i = 0; i < kArguments; ++i) args.push_back(current.argument(call.args()[i]));
  Node &mean = call.arg(kMean).asNode(), &variance = call.arg(kVariance).asNode();
  ValueMeta::Sequence results;
  const ValueMeta::Sequence* const old = call.value() == nullptr ? nullptr : call.value()->sequence();
  results.elements = old != nullptr && old->elements.size() == 3
                         ? old->elements
                         : std::vector<ValueRef>{call.valueRef(), mean.valueRef(), variance.valueRef()};
  results.elements.push_back(mean.valueRef());
  results.elements.push_back(variance.valueRef());
  Node& norm = maker.call("aten._native_batch_norm_legit_functional.default", args, {},
                          ValueMeta::of(std::move(results)));
  FunctionalForm form;
  const bool isSingle = call.target().op() == "batch_norm";
  form.result = isSingle ? &maker.item(norm, 0, call.valueRef()) : &norm;
  form.written.emplace_back(&mean, &maker.item(norm, 3, mean.valueRef()));
  form.written.emplace_back(&variance, &maker.item(norm, 4, variance.valueRef()));
  return form;
}

// auto_functionalized_v2(op, kwargs: the other arguments by name, _x_base_index for each written x,
// _all_bases). Gives what the operator returns, None if nothing, then the bases.
FunctionalForm wrappedForm(Node& call, const OperatorInfo& info, const CurrentValues& current,
                           const CallMaker& maker) {
  Kwargs kwargs, indices;
  Arg::List bases;
  std::vector<Node*> written;
  std::vector<std::string> keys;
  keys.reserve(info.arguments.size());
  for (size_t i = 0; i < info.arguments.size(); ++i) {
    const OperatorArgument& declared = info.arguments[i];
    const Argument* const given =
        declared.keywordOnly || i >= call.args().size() ? call.findKwarg(declared.name) : &call.args()[i];
    if (given == nullptr) continue;
    if (!declared.isWritten) {
      kwargs.emplace_back(declared.name, current.argument(*given));
      continue;
    }
    if (given->isSequence()) {
      refuseNode(call, fmt::format("operator '{}' writes the tensors of a list", call.target().name()));
    }
    keys.push_back("_" + declared.name + "_base_index");
    if (!given->isNode()) {
      indices.emplace_back(keys.back(), nullptr);
      continue;
    }
    indices.emplace_back(keys.back(), bases.size());
    bases.push_back(current.argument(*given));
    written.push_back(&given->asNode());
  }
  for (auto& index : indices) kwargs.push_back(std::move(index));
  kwargs.emplace_back("_all_bases", Arg::list(std::move(bases)));

  ValueMeta::Sequence results;
  const ValueMeta::Sequence* const old = call.value() == nullptr ? nullptr : call.value()->sequence();
  if (info.numReturns > 1 && old != nullptr) {
    results.elements = old->elements;
  } else if (info.numReturns == 1) {
    results.elements = {call.valueRef()};
  } else {
    results.elements = {ValueMeta::of(ValueMeta::None{})};
  }
  const auto numOwn = static_cast<int64_t>(info.numReturns == 0 ? 1 : info.numReturns);
  results.elements.resize(static_cast<size_t>(numOwn));
  for (const Node* node : written) results.elements.push_back(node->valueRef());
  Node& made = maker.call("higher_order.auto_functionalized_v2", {call.target()}, kwargs,
                          ValueMeta::of(std::move(results)));
  FunctionalForm form;
  for (size_t i = 0; i < written.size(); ++i) {
    form.written.emplace_back(written[i],
                              &maker.item(made, numOwn + static_cast<int64_t>(i), written[i]->valueRef()));
  }
  if (info.numReturns == 1) form.result = &maker.item(made, 0, call.valueRef());
  if (info.numReturns > 1) form.result = &made;
  return form;
}

}  // namespace

FunctionalForm functionalForm(Node& call, const CurrentValues& current, const CallMaker& maker) {
  if (std::optional<FunctionalForm> form = normForm(call, current, maker)) return std::move(*form);
  const Target target = call.target();
  const OperatorInfo* const info = findOperator(target);
  const bool isOwn = !call.args().empty() && call.arg(0).isNode();
  FunctionalForm form;
  if (target.name() == "aten.copy_.default" && isOwn && call.args().size() > 1) {
    form.written.emplace_back(&call.arg(0).asNode(), &copyForm(call, current, maker));
    return form;
  }
  if (target.name() == "aten.zero_.default" && isOwn) {
    form.written.emplace_back(&call.arg(0).asNode(),
                              &maker.call("aten.full_like.default", {current.argument(call.arg(0)), 0}));
    return form;
  }
  if (const std::optional<Target> made = functionalTarget(target); made && isOwn) {
    Node& self = call.arg(0).asNode();
    Node& value =
        maker.call(*made, currentArgs(call, current), currentKwargs(call, current), self.valueRef());
    form.written.emplace_back(&self, &asWritten(value, self, maker));
    return form;
  }
  if (info == nullptr || target.ns() == "aten") {
    refuseNode(call, fmt::format("operator '{}' writes in place, and its functional form is not known",
                                 target.name()));
  }
  return wrappedForm(call, *info, current, maker);
}

}  // namespace edgefx::detail

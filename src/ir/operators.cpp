#include <edgefx/ir/operators.h>

#include "ir/bundled_schemas.h"

// The dispatcher's header needs the other one before it.
// clang-format off
#include <ATen/core/ivalue.h>
#include <ATen/core/dispatch/Dispatcher.h>
// clang-format on

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace edgefx {
namespace {

bool isTensorType(const c10::Type& type) {
  const auto* const optional = type.castRaw<c10::OptionalType>();
  return (optional == nullptr ? type : *optional->getElementType()).kind() == c10::TypeKind::TensorType;
}

std::optional<OperatorInfo> askDispatcher(std::string_view ns, std::string_view op,
                                          std::string_view overload) {
  std::string name(ns);
  name += "::";
  name += op;
  const c10::OperatorName key(std::move(name), overload == "default" ? std::string() : std::string(overload));
  const auto found = c10::Dispatcher::singleton().findSchema(key);
  if (!found) return std::nullopt;
  const c10::FunctionSchema& schema = found->schema();
  OperatorInfo info;
  for (const c10::Argument& declared : schema.arguments()) {
    OperatorArgument argument;
    argument.name = declared.name();
    argument.hasDefault = bool(declared.default_value());
    argument.keywordOnly = declared.kwarg_only();
    argument.isAlias = declared.alias_info() != nullptr;
    argument.isWritten = argument.isAlias && declared.alias_info()->isWrite();
    argument.isTensor = isTensorType(*declared.type());
    info.isMutable = info.isMutable || argument.isWritten;
    info.arguments.push_back(std::move(argument));
  }
  info.numReturns = schema.returns().size();
  info.isRandom = found->hasTag(at::Tag::nondeterministic_seeded);
  return info;
}

// Operators that may give an operand itself, or a view of it, though their schemas say nothing of it.
constexpr std::string_view kUndeclaredViews[] = {
    "_cast_Byte",      "_cast_Char",    "_cast_Double",
    "_cast_Float",     "_cast_Half",    "_cast_Int",
    "_cast_Long",      "_cast_Short",   "_unsafe_view",
    "align_tensors",   "alpha_dropout", "atleast_1d",
    "atleast_2d",      "atleast_3d",    "broadcast_tensors",
    "conj_physical",   "data",          "dequantize",
    "dropout",         "einsum",        "feature_alpha_dropout",
    "feature_dropout", "lift",          "meshgrid",
    "sum_to_size",     "to_dense",      "type_as",
    "unsafe_chunk",    "unsafe_split",  "unsafe_split_with_sizes"};

void markUndeclaredViews(Target target, OperatorInfo& info) {
  if (target.ns() != "aten" || info.arguments.empty()) return;
  if (std::ranges::find(kUndeclaredViews, target.op()) == std::end(kUndeclaredViews)) return;
  info.arguments[target.op() == "einsum" && info.arguments.size() > 1 ? 1 : 0].isAlias = true;
}

}  // namespace

const OperatorArgument* OperatorInfo::findArgument(std::string_view name) const {
  for (const OperatorArgument& argument : arguments) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

const OperatorInfo* findOperator(Target target) {
  if (!target.isOperator() && target.kind() != TargetKind::Packet) return nullptr;

  // Never freed: callers keep what they are given. Unknown operators are asked for anew, for they may be
  // registered later.
  std::atomic<const OperatorInfo*>& known = target.info_->schema;
  if (const OperatorInfo* found = known.load(std::memory_order_acquire)) return found;
  const std::string_view overload = target.kind() == TargetKind::Packet ? "default" : target.overload();
  std::string name(target.ns());
  name += '.';
  name += target.op();
  name += '.';
  name += overload;
  std::optional<OperatorInfo> info = detail::findBundledSchema(name);
  if (!info) info = askDispatcher(target.ns(), target.op(), overload);
  if (!info) return nullptr;
  markUndeclaredViews(target, *info);
  auto made = std::make_unique<const OperatorInfo>(std::move(*info));
  const OperatorInfo* first = nullptr;  // another thread may have been faster
  return known.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel) ? made.release() : first;
}

namespace {

// Arguments of every norm: input, weight, bias, running_mean, running_var, whether to train, ...
constexpr size_t kMean = 3, kVariance = 4, kTrains = 5;

}  // namespace

bool writesUndeclared(const Node& call, size_t i) {
  static constexpr std::string_view kNorms[] = {
      "batch_norm",       "native_batch_norm", "_batch_norm_impl_index",
      "cudnn_batch_norm", "miopen_batch_norm", "instance_norm"};
  if ((i != kMean && i != kVariance) || !call.isCall() || call.target().ns() != "aten") return false;
  if (std::ranges::find(kNorms, call.target().op()) == std::end(kNorms)) return false;
  const Argument* trains = call.findArg(kTrains);
  return trains == nullptr || trains->kind() != ArgumentKind::Bool || trains->asBool();
}

bool writesUndeclared(const Node& call) {
  for (size_t i : {kMean, kVariance}) {
    const Argument* statistics = call.findArg(i);
    if (statistics != nullptr && statistics->isNode() && writesUndeclared(call, i)) return true;
  }
  return false;
}

}  // namespace edgefx

#include "dialect/edge_operands.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>
#include <edgefx/ir/shape_inference.h>

#include "ir/dtype_promotion.h"

#include <optional>
#include <utility>
#include <vector>

namespace edgefx::detail {
namespace {

const TensorMeta* operandMeta(const Argument& argument) {
  return tensorMetaOf(argument.findNode());
}

// What torch.tensor, or exir for symbolic numbers, makes of a number; nothing for everything else.
std::optional<Dtype> naturalDtype(const Argument& argument) {
  switch (argument.kind()) {
    case ArgumentKind::Bool:
      return Dtype::Bool;
    case ArgumentKind::Int:
      return Dtype::Int64;
    case ArgumentKind::Float:
      return Dtype::Float32;
    case ArgumentKind::Complex:
      return Dtype::Complex64;
    case ArgumentKind::Node: {
      const ValueMeta* const value = argument.asNode().value();
      if (value == nullptr) return std::nullopt;
      if (std::holds_alternative<ValueMeta::SymIntValue>(value->data)) return Dtype::Int32;
      if (std::holds_alternative<ValueMeta::SymFloatValue>(value->data)) return Dtype::Float32;
      if (std::holds_alternative<ValueMeta::SymBoolValue>(value->data)) return Dtype::Bool;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

bool fitsFloat32(const Argument& number) {
  if (number.isNode()) return false;  // a symbolic float
  if (number.kind() != ArgumentKind::Float) return number.kind() != ArgumentKind::Complex;
  const double value = number.asFloat();
  return static_cast<double>(static_cast<float>(value)) == value || value != value;
}

template <typename Visit>
void forEachTensorOperand(const Node& call, const OperatorInfo& info, Visit&& visit) {
  for (size_t i = 0; i < call.args().size() && i < info.arguments.size(); ++i) {
    if (info.arguments[i].isTensor && !call.args()[i].isNone()) visit(call.args()[i]);
  }
  for (const auto [key, value] : call.kwargs()) {
    const OperatorArgument* const declared = info.findArgument(key);
    if (declared != nullptr && declared->isTensor && !value.isNone()) visit(value);
  }
}

// The dtype that a number needs as a tensor without dimensions for the operator to compute in the dtype that
// it does with the number, for such a tensor may count for more.
std::optional<Dtype> computedWithNumbers(const Node& call, const OperatorInfo& info) {
  try {
    DtypePromotion numbers, tensors;
    forEachTensorOperand(call, info, [&](const Argument& operand) {
      numbers.add(operand);
      const std::optional<Dtype> natural = naturalDtype(operand);
      if (!natural) return tensors.add(operand);
      TensorMeta scalar;
      scalar.dtype = *natural;
      tensors.addTensor(scalar);
    });
    if (numbers.result() == tensors.result()) return std::nullopt;
    return numbers.result();
  } catch (const ShapeUnknown&) {
    return std::nullopt;
  }
}

bool computesInDouble(const Node& call, const OperatorInfo& info) {
  bool found = false;
  forEachTensorOperand(call, info, [&](const Argument& operand) {
    const TensorMeta* const tensor = operandMeta(operand);
    found = found ||
            (tensor != nullptr && (tensor->dtype == Dtype::Float64 || tensor->dtype == Dtype::Complex128));
  });
  return found;
}

// Arithmetic whose operands exir casts.
bool promotesOperands(const Node& call) {
  static constexpr std::string_view kNames[] = {"aten.add.Tensor",      "aten.sub.Tensor",
                                                "aten.mul.Tensor",      "aten.div.Tensor",
                                                "aten.div.Tensor_mode", "aten.minimum.default"};
  for (const std::string_view name : kNames) {
    if (call.callsOperator(name)) return true;
  }
  return false;
}

// The dtype that arithmetic on the first two operands is done in.
std::optional<Dtype> computedDtype(const Node& call) {
  try {
    DtypePromotion promotion;
    for (size_t i = 0; i < 2; ++i) {
      const TensorMeta* const tensor = operandMeta(call.arg(i));
      if (tensor == nullptr) return std::nullopt;
      promotion.addTensor(*tensor);
    }
    const Dtype dtype = promotion.result();
    return call.callsOperator("aten.div.Tensor") ? floatingOf(dtype) : dtype;
  } catch (const ShapeUnknown&) {
    return std::nullopt;
  }
}

bool isKnownEmpty(const Argument& operand) {
  const TensorMeta* const tensor = operandMeta(operand);
  if (tensor == nullptr) return false;
  for (const SymInt& size : tensor->sizes) {
    if (!size.isSymbolic() && size.value() == 0) return true;
  }
  return false;
}

}  // namespace

Node& EdgeOperands::make(Node& call, Target target, const Args& args, const Kwargs& kwargs) {
  const InsertionGuard guard(call.graph(), before(call));
  Node& node = call.graph().call(target, args, kwargs, target.op());
  node.setMeta(call.metaRef());
  node.setValue(inferValue(node));
  made_(node);
  return node;
}

Node& EdgeOperands::tensorOf(Node& call, const Argument& number, Dtype dtype, bool isTop) {
  if (number.isNode()) return make(call, "aten.scalar_tensor.default", {number}, {{"dtype", dtype}});
  if (isTop) return lifted_.add(number, dtype);
  return make(call, "aten.full.default", {Arg::list({}), number}, {{"dtype", dtype}});
}

bool EdgeOperands::numbersToTensors(Node& call, bool isTop) {
  const OperatorInfo* const info = findOperator(call.target());
  if (info == nullptr) return false;
  bool hasNumber = false;
  forEachTensorOperand(call, *info,
                       [&](const Argument& operand) { hasNumber = hasNumber || naturalDtype(operand); });
  if (!hasNumber) return false;
  const std::optional<Dtype> computed = computedWithNumbers(call, *info);
  const bool inDouble = computesInDouble(call, *info);
  const auto dtypeOf = [&](const Argument& number) {
    const Dtype natural = *naturalDtype(number);
    if (computed) return *computed;
    if (!inDouble || fitsFloat32(number)) return natural;
    return natural == Dtype::Float32     ? Dtype::Float64
           : natural == Dtype::Complex64 ? Dtype::Complex128
                                         : natural;
  };
  for (size_t i = 0; i < call.args().size() && i < info->arguments.size(); ++i) {
    const Argument& operand = call.args()[i];
    if (!info->arguments[i].isTensor || !naturalDtype(operand)) continue;
    call.setArg(i, tensorOf(call, operand, dtypeOf(operand), isTop));
  }
  std::vector<std::string> keys;
  for (const auto [key, value] : call.kwargs()) {
    const OperatorArgument* const declared = info->findArgument(key);
    if (declared != nullptr && declared->isTensor && naturalDtype(value)) keys.emplace_back(key);
  }
  for (const std::string& key : keys) {
    const Argument& operand = *call.findKwarg(key);
    call.setKwarg(key, tensorOf(call, operand, dtypeOf(operand), isTop));
  }
  return true;
}

bool EdgeOperands::castToOneDtype(Node& call) {
  if (!promotesOperands(call) || call.args().size() < 2) return false;
  const std::optional<Dtype> dtype = computedDtype(call);
  if (!dtype) return false;
  bool isChanged = false;
  for (size_t i = 0; i < 2; ++i) {
    if (operandMeta(call.arg(i))->dtype == *dtype) continue;
    call.setArg(i, make(call, "aten._to_copy.default", {call.arg(i)}, {{"dtype", *dtype}}));
    isChanged = true;
  }
  return isChanged;
}

bool EdgeOperands::dropEmptyOperands(Node& call) {
  if (!call.callsOperator("aten.cat.default") || call.args().empty() || !call.arg(0).isSequence())
    return false;
  const Argument& operands = call.arg(0);
  Arg::List kept;
  for (const Argument& operand : operands.items()) {
    if (!isKnownEmpty(operand)) kept.emplace_back(operand);
  }
  if (kept.empty() || kept.size() == operands.items().size()) return false;
  const ValueRef before = inferValue(call);
  std::vector<Node*> nodes;
  for (const Argument& operand : operands.items()) nodes.push_back(operand.findNode());
  call.setArg(0, Arg::list(std::move(kept)));
  const ValueRef after = inferValue(call);
  if (before && after && describeSame(before.get(), after.get())) return true;
  call.setArg(0, Arg::list(Arg::List(nodes.begin(), nodes.end())));
  return false;
}

}  // namespace edgefx::detail

#include "run/python_functions.h"

#include "run/python_number.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <unordered_map>

namespace edgefx::detail {
namespace {

using PythonArgs = std::span<const c10::IValue>;

bool hasTensor(PythonArgs args) {
  return std::any_of(args.begin(), args.end(), [](const c10::IValue& arg) { return arg.isTensor(); });
}

// A number among tensors takes part in type promotion as a number.
at::Tensor asTensor(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : at::native::wrapped_scalar_tensor(value.toScalar());
}

using NumberBinary = PythonNumber (*)(PythonNumber, PythonNumber);
using TensorBinary = at::Tensor (*)(const at::Tensor&, const at::Tensor&);
using NumberUnary = PythonNumber (*)(PythonNumber);
using TensorUnary = at::Tensor (*)(const at::Tensor&);

template <NumberBinary onNumbers, TensorBinary onTensors>
c10::IValue binary(PythonArgs args) {
  needArguments(args, 2, 2);
  if (hasTensor(args)) return onTensors(asTensor(args[0]), asTensor(args[1]));
  return onNumbers(PythonNumber::of(args[0]), PythonNumber::of(args[1])).value();
}

template <NumberUnary onNumber, TensorUnary onTensor>
c10::IValue unary(PythonArgs args) {
  needArguments(args, 1, 1);
  if (hasTensor(args)) return onTensor(args[0].toTensor());
  return onNumber(PythonNumber::of(args[0])).value();
}

#define EDGEFX_TENSOR_BINARY(name, expression)                \
  at::Tensor name(const at::Tensor& a, const at::Tensor& b) { \
    return expression;                                        \
  }
#define EDGEFX_TENSOR_UNARY(name, expression) \
  at::Tensor name(const at::Tensor& a) {      \
    return expression;                        \
  }

EDGEFX_TENSOR_BINARY(addTensors, a.add(b))
EDGEFX_TENSOR_BINARY(subtractTensors, a.sub(b))
EDGEFX_TENSOR_BINARY(multiplyTensors, a.mul(b))
EDGEFX_TENSOR_BINARY(divideTensors, a.div(b))
EDGEFX_TENSOR_BINARY(floorDivideTensors, a.div(b, "floor"))
EDGEFX_TENSOR_BINARY(moduloTensors, a.remainder(b))
EDGEFX_TENSOR_BINARY(powerTensors, a.pow(b))
EDGEFX_TENSOR_BINARY(andTensors, a.bitwise_and(b))
EDGEFX_TENSOR_BINARY(orTensors, a.bitwise_or(b))
EDGEFX_TENSOR_BINARY(xorTensors, a.bitwise_xor(b))
EDGEFX_TENSOR_BINARY(shiftTensorsLeft, a.bitwise_left_shift(b))
EDGEFX_TENSOR_BINARY(shiftTensorsRight, a.bitwise_right_shift(b))
EDGEFX_TENSOR_BINARY(lessTensors, a.lt(b))
EDGEFX_TENSOR_BINARY(lessEqualTensors, a.le(b))
EDGEFX_TENSOR_BINARY(greaterTensors, a.gt(b))
EDGEFX_TENSOR_BINARY(greaterEqualTensors, a.ge(b))
EDGEFX_TENSOR_BINARY(equalTensors, a.eq(b))
EDGEFX_TENSOR_BINARY(differentTensors, a.ne(b))
EDGEFX_TENSOR_BINARY(multiplyMatrices, a.matmul(b))
EDGEFX_TENSOR_UNARY(negativeTensor, a.neg())
EDGEFX_TENSOR_UNARY(positiveTensor, a.positive())
EDGEFX_TENSOR_UNARY(absoluteTensor, a.abs())
EDGEFX_TENSOR_UNARY(invertedTensor, a.bitwise_not())

#undef EDGEFX_TENSOR_BINARY
#undef EDGEFX_TENSOR_UNARY

// Of two bools a bool, of ints an int.
template <typename Op>
PythonNumber bitwise(PythonNumber a, PythonNumber b, Op&& op) {
  const int64_t result = op(a.integer(), b.integer());
  return a.isBool() && b.isBool() ? PythonNumber::ofBool(result != 0) : PythonNumber::ofInt(result);
}

PythonNumber bitAnd(PythonNumber a, PythonNumber b) {
  return bitwise(a, b, [](int64_t x, int64_t y) { return x & y; });
}
PythonNumber bitOr(PythonNumber a, PythonNumber b) {
  return bitwise(a, b, [](int64_t x, int64_t y) { return x | y; });
}
PythonNumber bitXor(PythonNumber a, PythonNumber b) {
  return bitwise(a, b, [](int64_t x, int64_t y) { return x ^ y; });
}
PythonNumber shiftLeft(PythonNumber a, PythonNumber b) {
  if (b.integer() < 0) raise("negative shift count");
  if (a.integer() == 0) return PythonNumber::ofInt(0);
  const int64_t number = a.integer();
  const int64_t shifted =
      b.integer() > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(number) << b.integer());
  const bool isLossless = b.integer() <= 63 && shifted >> b.integer() == number;
  if (!isLossless) raise("{} << {} does not fit 64 bits", a.text(), b.text());
  return PythonNumber::ofInt(shifted);
}
PythonNumber shiftRight(PythonNumber a, PythonNumber b) {
  if (b.integer() < 0) raise("negative shift count");
  return PythonNumber::ofInt(a.integer() >> std::min<int64_t>(b.integer(), 63));
}
PythonNumber inverted(PythonNumber a) {
  return PythonNumber::ofInt(~a.integer());
}
PythonNumber positive(PythonNumber a) {
  return a.isFloat() ? a : PythonNumber::ofInt(a.integer());
}

PythonNumber lessNumbers(PythonNumber a, PythonNumber b) {
  return PythonNumber::ofBool(isLess(a, b));
}
PythonNumber greaterNumbers(PythonNumber a, PythonNumber b) {
  return PythonNumber::ofBool(isLess(b, a));
}
PythonNumber lessEqualNumbers(PythonNumber a, PythonNumber b) {
  return PythonNumber::ofBool(isLess(a, b) || isEqual(a, b));
}
PythonNumber greaterEqualNumbers(PythonNumber a, PythonNumber b) {
  return PythonNumber::ofBool(isLess(b, a) || isEqual(a, b));
}

// Also of None and texts, which equal nothing of another kind.
bool equalValues(const c10::IValue& a, const c10::IValue& b) {
  if (PythonNumber::isNumber(a) && PythonNumber::isNumber(b))
    return isEqual(PythonNumber::of(a), PythonNumber::of(b));
  for (const c10::IValue* value : {&a, &b}) {
    if (!value->isNone() && !value->isString() && !PythonNumber::isNumber(*value))
      raise("expected numbers, texts or None to compare, found {}", value->tagKind());
  }
  if (a.isString() && b.isString()) return a.toStringRef() == b.toStringRef();
  return a.isNone() && b.isNone();
}

c10::IValue equal(PythonArgs args) {
  needArguments(args, 2, 2);
  if (hasTensor(args)) return equalTensors(asTensor(args[0]), asTensor(args[1]));
  return equalValues(args[0], args[1]);
}

c10::IValue different(PythonArgs args) {
  needArguments(args, 2, 2);
  if (hasTensor(args)) return differentTensors(asTensor(args[0]), asTensor(args[1]));
  return !equalValues(args[0], args[1]);
}

bool isTrueValue(const c10::IValue& value) {
  if (value.isNone()) return false;
  if (!value.isTensor()) return PythonNumber::of(value).isTrue();
  const at::Tensor& tensor = value.toTensor();
  if (tensor.numel() != 1) raise("the truth of a tensor of {} values is ambiguous", tensor.numel());
  return tensor.is_nonzero();
}

c10::IValue truth(PythonArgs args) {
  needArguments(args, 1, 1);
  return isTrueValue(args[0]);
}

c10::IValue notTrue(PythonArgs args) {
  needArguments(args, 1, 1);
  return !isTrueValue(args[0]);
}

c10::IValue index(PythonArgs args) {
  needArguments(args, 1, 1);
  return PythonNumber::of(args[0]).integer();
}

c10::IValue matmulOperator(PythonArgs args) {
  needArguments(args, 2, 2);
  if (!args[0].isTensor() || !args[1].isTensor()) raise("expected two tensors to multiply as matrices");
  return multiplyMatrices(args[0].toTensor(), args[1].toTensor());
}

c10::IValue toInt(PythonArgs args) {
  needArguments(args, 1, 1);
  const PythonNumber number = PythonNumber::of(args[0]);
  return number.isFloat() ? wholeNumber(std::trunc(number.real())).value() : c10::IValue(number.integer());
}

c10::IValue toFloat(PythonArgs args) {
  needArguments(args, 1, 1);
  return PythonNumber::of(args[0]).real();
}

c10::IValue rounded(PythonArgs args) {
  needArguments(args, 1, 2);
  const PythonNumber number = PythonNumber::of(args[0]);
  if (args.size() == 1 || args[1].isNone()) return roundToInt(number).value();
  return roundToDigits(number, PythonNumber::of(args[1]).integer()).value();
}

// The first of those that no other exceeds, in the direction; arguments are values, or one list of them.
template <bool isMax>
PythonNumber extreme(PythonArgs args) {
  if (args.size() == 1 && args[0].isTuple()) return extreme<isMax>(args[0].toTupleRef().elements().vec());
  if (args.size() == 1 && args[0].isList()) return extreme<isMax>(args[0].toListRef().vec());
  if (args.empty()) raise("expected at least one value, found none");
  PythonNumber best = PythonNumber::of(args[0]);
  for (const c10::IValue& arg : args.subspan(1)) {
    const PythonNumber next = PythonNumber::of(arg);
    if (isMax ? isLess(best, next) : isLess(next, best)) best = next;
  }
  return best;
}

template <bool isMax>
c10::IValue builtinExtreme(PythonArgs args) {
  return extreme<isMax>(args).value();
}

// The result is a float if an argument is one.
template <bool isMax>
c10::IValue symExtreme(PythonArgs args) {
  needArguments(args, 2, 2);
  const PythonNumber best = extreme<isMax>(args);
  const bool isReal = PythonNumber::of(args[0]).isFloat() || PythonNumber::of(args[1]).isFloat();
  return isReal ? c10::IValue(best.real()) : best.value();
}

c10::IValue symIte(PythonArgs args) {
  needArguments(args, 3, 3);
  if (!args[0].isBool()) raise("sym_ite: expected a bool for condition, found {}", args[0].tagKind());
  if (PythonNumber::of(args[1]).kind() != PythonNumber::of(args[2]).kind())
    raise("sym_ite: expected two values of one kind, found {} and {}", args[1].tagKind(), args[2].tagKind());
  return args[0].toBool() ? args[1] : args[2];
}

c10::IValue sumOf(PythonArgs args) {
  needArguments(args, 1, 1);
  if (!args[0].isList() && !args[0].isTuple())
    raise("expected a list or tuple of numbers, found {}", args[0].tagKind());
  const std::vector<c10::IValue> items =
      args[0].isTuple() ? args[0].toTupleRef().elements().vec() : args[0].toListRef().vec();
  PythonNumber sum = PythonNumber::ofInt(0);
  for (const c10::IValue& item : items) sum = add(sum, PythonNumber::of(item));
  return sum.value();
}

PythonFunction findSymFunction(std::string_view name) {
  static const auto& table = *new std::unordered_map<std::string_view, PythonFunction>{
      {"sym_float", toFloat},
      {"sym_int", toInt},
      {"sym_ite", symIte},
      {"sym_max", symExtreme<true>},
      {"sym_min", symExtreme<false>},
      {"sym_not", notTrue},
      {"sym_sum", sumOf},
  };
  if (const auto found = table.find(name); found != table.end()) return found->second;
  if (name.starts_with('_')) name.remove_prefix(1);
  // "torch.sym_sqrt", and "torch._sym_sqrt" of older releases.
  constexpr std::string_view kPrefix = "sym_";
  return name.starts_with(kPrefix) ? findMathFunction(name.substr(kPrefix.size())) : nullptr;
}

PythonFunction findOperatorFunction(std::string_view name) {
  static const auto& table = *new std::unordered_map<std::string_view, PythonFunction>{
      {"abs", unary<absolute, absoluteTensor>},
      {"add", binary<add, addTensors>},
      {"and_", binary<bitAnd, andTensors>},
      {"eq", equal},
      {"floordiv", binary<floorDivide, floorDivideTensors>},
      {"ge", binary<greaterEqualNumbers, greaterEqualTensors>},
      {"gt", binary<greaterNumbers, greaterTensors>},
      {"index", index},
      {"inv", unary<inverted, invertedTensor>},
      {"invert", unary<inverted, invertedTensor>},
      {"le", binary<lessEqualNumbers, lessEqualTensors>},
      {"lshift", binary<shiftLeft, shiftTensorsLeft>},
      {"lt", binary<lessNumbers, lessTensors>},
      {"matmul", matmulOperator},
      {"mod", binary<modulo, moduloTensors>},
      {"mul", binary<multiply, multiplyTensors>},
      {"ne", different},
      {"neg", unary<negative, negativeTensor>},
      {"not_", notTrue},
      {"or_", binary<bitOr, orTensors>},
      {"pos", unary<positive, positiveTensor>},
      {"pow", binary<power, powerTensors>},
      {"rshift", binary<shiftRight, shiftTensorsRight>},
      {"sub", binary<subtract, subtractTensors>},
      {"truediv", binary<divide, divideTensors>},
      {"truth", truth},
      {"xor", binary<bitXor, xorTensors>},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

PythonFunction findBuiltin(std::string_view name) {
  static const auto& table = *new std::unordered_map<std::string_view, PythonFunction>{
      {"abs", unary<absolute, absoluteTensor>},
      {"bool", truth},
      {"float", toFloat},
      {"int", toInt},
      {"max", builtinExtreme<true>},
      {"min", builtinExtreme<false>},
      {"pow", binary<power, powerTensors>},
      {"round", rounded},
      {"sum", sumOf},
  };
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

PythonFunction findPythonFunction(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const std::string_view module = name.substr(0, dot), function = name.substr(dot + 1);
  if (module == "operator") return findOperatorFunction(function);
  if (module == "math") return findMathFunction(function);
  if (module == "torch") return findSymFunction(function);
  if (module == "builtins") return findBuiltin(function);
  return nullptr;
}

}  // namespace edgefx::detail

#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"
#include "ir/sym_builder.h"

#include <algorithm>
#include <cmath>

// Arithmetic on symbolic numbers, and numbers taken from shapes.
namespace edgefx::detail {
namespace {

// A plain or symbolic number or condition.
struct SymOperand {
  enum class Kind { Int, Float, Bool };

  Kind kind = Kind::Int;
  SymInt size;       // Int
  std::string text;  // Float, Bool: constructor form

  std::string srepr() const {
    if (kind != Kind::Int) return text;
    return size.isSymbolic() ? size.symbolic()->expression.srepr() : fmt::format("Integer({})", size.value());
  }
};

std::string floatText(double value) {
  if (!std::isfinite(value)) throw ShapeUnknown();
  return fmt::format("Float('{}', precision={})", symFloatText(value, 17, true), kDoublePrecision);
}

SymOperand operandOf(const Argument& argument) {
  using Kind = SymOperand::Kind;
  switch (argument.kind()) {
    case ArgumentKind::Bool:
      return {Kind::Bool, {}, argument.asBool() ? "true" : "false"};
    case ArgumentKind::Float:
      return {Kind::Float, {}, floatText(argument.asFloat())};
    case ArgumentKind::Int:
    case ArgumentKind::Symbolic:
      return {Kind::Int, ShapeCall::sizeOf(argument), {}};
    case ArgumentKind::Node:
      break;
    default:
      throw ShapeUnknown();
  }
  const ValueMeta* const value = argument.asNode().value();
  if (value == nullptr) throw ShapeUnknown();
  if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&value->data))
    return {Kind::Int, number->value, {}};
  if (const auto* number = std::get_if<ValueMeta::SymFloatValue>(&value->data)) {
    const double* const plain = std::get_if<double>(&number->value);
    return {
        Kind::Float, {}, plain ? floatText(*plain) : std::get<Symbolic>(number->value).expression.srepr()};
  }
  if (const auto* condition = std::get_if<ValueMeta::SymBoolValue>(&value->data)) {
    const bool* const plain = std::get_if<bool>(&condition->value);
    if (plain != nullptr) return {Kind::Bool, {}, *plain ? "true" : "false"};
    return {Kind::Bool, {}, std::get<Symbolic>(condition->value).expression.srepr()};
  }
  throw ShapeUnknown();
}

ValueRef intValue(SymInt value) {
  return ValueMeta::of(ValueMeta::SymIntValue{std::move(value)});
}

ValueRef floatValue(const std::string& text) {
  SymExpr expression = SymExpr::parse(text);
  if (expression.kind() == SymKind::Float)
    return ValueMeta::of(ValueMeta::SymFloatValue{expression.root().floatValue()});
  return ValueMeta::of(ValueMeta::SymFloatValue{Symbolic{std::move(expression), {}}});
}

ValueRef boolValue(const std::string& text) {
  SymExpr expression = SymExpr::parse(text);
  if (expression.kind() == SymKind::Boolean) {
    return ValueMeta::of(ValueMeta::SymBoolValue{expression.root().booleanValue()});
  }
  return ValueMeta::of(ValueMeta::SymBoolValue{Symbolic{std::move(expression), {}}});
}

ValueRef intExpression(const std::string& text) {
  SymExpr expression = SymExpr::parse(text);
  if (expression.kind() == SymKind::Integer) return intValue(SymInt(expression.integerValue()));
  return intValue(SymInt(Symbolic{std::move(expression), {}}));
}

SymOperand operandAt(const ShapeCall& call, size_t i) {
  static constexpr std::string_view kKeys[] = {"a", "b", "c"};
  return operandOf(call.at(i, kKeys[i]));
}

bool isInt(const SymOperand& operand) {
  return operand.kind == SymOperand::Kind::Int;
}

using SizeFunction = SymInt (*)(const SymInt&, const SymInt&);

// An operation that gives a whole number for two of them, and else the expression `name`, a floating number.
ValueRef arithmetic(const ShapeCall& call, SizeFunction function, std::string_view name) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (a.kind == SymOperand::Kind::Bool || b.kind == SymOperand::Kind::Bool) throw ShapeUnknown();
  if (isInt(a) && isInt(b)) return intValue(function(a.size, b.size));
  const auto real = [](const SymOperand& operand) {
    return isInt(operand) ? "ToFloat(" + operand.srepr() + ")" : operand.srepr();
  };
  return floatValue(fmt::format("{}({}, {})", name, real(a), real(b)));
}

ValueRef symAddShape(const ShapeCall& call) {
  return arithmetic(call, symAdd, "Add");
}
ValueRef symMulShape(const ShapeCall& call) {
  return arithmetic(call, symMul, "Mul");
}
ValueRef symMaxShape(const ShapeCall& call) {
  return arithmetic(call, symMax, "Max");
}
ValueRef symMinShape(const ShapeCall& call) {
  return arithmetic(call, symMin, "Min");
}

ValueRef symSubShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (!isInt(a) || !isInt(b)) throw ShapeUnknown();
  return intValue(symSub(a.size, b.size));
}

ValueRef symNegShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0);
  if (!isInt(a)) throw ShapeUnknown();
  return intValue(symMul(a.size, SymInt(-1)));
}

ValueRef symFloorDivShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (!isInt(a) || !isInt(b)) throw ShapeUnknown();
  return intValue(symFloorDiv(a.size, b.size));
}

ValueRef symModShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (!isInt(a) || !isInt(b)) throw ShapeUnknown();
  return intValue(symMod(a.size, b.size));
}

ValueRef symTrueDivShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (a.kind == SymOperand::Kind::Bool || b.kind == SymOperand::Kind::Bool) throw ShapeUnknown();
  const bool areInts = isInt(a) && isInt(b);
  return floatValue(fmt::format("{}({}, {})", areInts ? "IntTrueDiv" : "FloatTrueDiv", a.srepr(), b.srepr()));
}

ValueRef symPowShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (!isInt(a) || !isInt(b) || b.size.isSymbolic() || b.size.value() < 0 || b.size.value() > 16)
    throw ShapeUnknown();
  SymInt power(1);
  for (int64_t i = 0; i < b.size.value(); ++i) power = symMul(power, a.size);
  return intValue(std::move(power));
}

ValueRef comparison(const ShapeCall& call, std::string_view name, bool (*holds)(int sign)) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (isInt(a) && isInt(b) && !a.size.isSymbolic() && !b.size.isSymbolic()) {
    return ValueMeta::of(ValueMeta::SymBoolValue{holds(*symCompare(a.size, b.size))});
  }
  return boolValue(fmt::format("{}({}, {})", name, a.srepr(), b.srepr()));
}

ValueRef symEqShape(const ShapeCall& call) {
  return comparison(call, "Equality", [](int sign) { return sign == 0; });
}
ValueRef symNeShape(const ShapeCall& call) {
  return comparison(call, "Unequality", [](int sign) { return sign != 0; });
}
ValueRef symLtShape(const ShapeCall& call) {
  return comparison(call, "StrictLessThan", [](int sign) { return sign < 0; });
}
ValueRef symLeShape(const ShapeCall& call) {
  return comparison(call, "LessThan", [](int sign) { return sign <= 0; });
}
ValueRef symGtShape(const ShapeCall& call) {
  return comparison(call, "StrictGreaterThan", [](int sign) { return sign > 0; });
}
ValueRef symGeShape(const ShapeCall& call) {
  return comparison(call, "GreaterThan", [](int sign) { return sign >= 0; });
}

// Python's & and | are those of conditions here.
ValueRef symAndShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (a.kind != SymOperand::Kind::Bool || b.kind != SymOperand::Kind::Bool) throw ShapeUnknown();
  return boolValue(fmt::format("And({}, {})", a.srepr(), b.srepr()));
}

ValueRef symOrShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0), b = operandAt(call, 1);
  if (a.kind != SymOperand::Kind::Bool || b.kind != SymOperand::Kind::Bool) throw ShapeUnknown();
  return boolValue(fmt::format("Or({}, {})", a.srepr(), b.srepr()));
}

ValueRef symNotShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0);
  if (a.kind != SymOperand::Kind::Bool) throw ShapeUnknown();
  return boolValue("Not(" + a.srepr() + ")");
}

ValueRef symFloatShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0);
  if (a.kind == SymOperand::Kind::Bool) throw ShapeUnknown();
  if (!isInt(a)) return floatValue(a.srepr());
  if (!a.size.isSymbolic())
    return ValueMeta::of(ValueMeta::SymFloatValue{static_cast<double>(a.size.value())});
  return floatValue("ToFloat(" + a.srepr() + ")");
}

ValueRef roundedTo(const ShapeCall& call, std::string_view name) {
  const SymOperand a = operandAt(call, 0);
  if (a.kind == SymOperand::Kind::Bool) throw ShapeUnknown();
  if (isInt(a)) return intValue(a.size);
  return intExpression(fmt::format("{}({})", name, a.srepr()));
}

ValueRef symTruncShape(const ShapeCall& call) {
  return roundedTo(call, "TruncToInt");
}
ValueRef symFloorShape(const ShapeCall& call) {
  return roundedTo(call, "FloorToInt");
}
ValueRef symCeilShape(const ShapeCall& call) {
  return roundedTo(call, "CeilToInt");
}
ValueRef symRoundShape(const ShapeCall& call) {
  if (call.find(1, "ndigits") != nullptr) throw ShapeUnknown();
  return roundedTo(call, "RoundToInt");
}

ValueRef symSqrtShape(const ShapeCall& call) {
  const SymOperand a = operandAt(call, 0);
  if (a.kind == SymOperand::Kind::Bool) throw ShapeUnknown();
  return floatValue(fmt::format("OpaqueUnaryFn_sqrt({})", a.srepr()));
}

ValueRef symIteShape(const ShapeCall& call) {
  const SymOperand condition = operandAt(call, 0), a = operandAt(call, 1), b = operandAt(call, 2);
  if (condition.kind != SymOperand::Kind::Bool || !isInt(a) || !isInt(b)) throw ShapeUnknown();
  if (condition.text == "true") return intValue(a.size);
  if (condition.text == "false") return intValue(b.size);
  return intExpression(fmt::format("Piecewise(ExprCondPair({}, {}), ExprCondPair({}, true))", a.srepr(),
                                   condition.srepr(), b.srepr()));
}

ValueRef symSumShape(const ShapeCall& call) {
  SymInt total(0);
  for (const SymInt& size : call.sizes(0, "args")) total = symAdd(total, size);
  return intValue(std::move(total));
}

ValueRef symSizeShape(const ShapeCall& call) {
  if (call.overload() != "int") throw ShapeUnknown();
  const TensorMeta& self = call.tensor(0, "self");
  if (self.sizes.empty()) call.fail("expected a tensor with dimensions, found none");
  const size_t dim = call.dimension(call.integer(1, "dim"), self.sizes.size());
  return intValue(call.op() == "sym_size" ? self.sizes[dim] : self.strides[dim]);
}

ValueRef symNumelShape(const ShapeCall& call) {
  return intValue(elementCount(call.tensor(0, "self").sizes));
}

ValueRef symStorageOffsetShape(const ShapeCall& call) {
  return intValue(call.tensor(0, "self").storageOffset);
}

constexpr NamedShapeRule kSymbolicRules[] = {
    {"operator.add", symAddShape},
    {"operator.sub", symSubShape},
    {"operator.mul", symMulShape},
    {"operator.neg", symNegShape},
    {"operator.floordiv", symFloorDivShape},
    {"operator.truediv", symTrueDivShape},
    {"operator.mod", symModShape},
    {"operator.pow", symPowShape},
    {"operator.eq", symEqShape},
    {"operator.ne", symNeShape},
    {"operator.lt", symLtShape},
    {"operator.le", symLeShape},
    {"operator.gt", symGtShape},
    {"operator.ge", symGeShape},
    {"operator.and_", symAndShape},
    {"operator.or_", symOrShape},
    {"math.trunc", symTruncShape},
    {"math.floor", symFloorShape},
    {"math.ceil", symCeilShape},
    {"builtins.round", symRoundShape},
    {"torch.sym_max", symMaxShape},
    {"torch.sym_min", symMinShape},
    {"torch.sym_not", symNotShape},
    {"torch.sym_float", symFloatShape},
    {"torch.sym_int", symTruncShape},
    {"torch.sym_ite", symIteShape},
    {"torch.sym_sum", symSumShape},
    {"torch._sym_sqrt", symSqrtShape},
    {"aten.sym_size", symSizeShape},
    {"aten.sym_stride", symSizeShape},
    {"aten.sym_numel", symNumelShape},
    {"aten.sym_storage_offset", symStorageOffsetShape},
};

}  // namespace

std::span<const NamedShapeRule> symbolicShapeRules() {
  return kSymbolicRules;
}

}  // namespace edgefx::detail

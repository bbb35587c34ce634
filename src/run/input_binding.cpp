#include "run/input_binding.h"

#include <edgefx/ir/scalar_type.h>
#include <edgefx/ir/sym_value.h>

#include "support/fail.h"

#include <ATen/core/Tensor.h>

#include <utility>

namespace edgefx::detail {
namespace {

SymBindings lookUpIn(const SymbolValues& symbols) {
  return [&symbols](std::string_view symbol) {
    const auto found = symbols.find(symbol);
    return found == symbols.end() ? std::nullopt : std::optional<int64_t>(found->second);
  };
}

bool equals(const c10::IValue& value, const ConstantScalar& expected) {
  return std::visit(
      [&](const auto& constant) {
        using Type = std::decay_t<decltype(constant)>;
        if constexpr (std::is_same_v<Type, std::monostate>) return value.isNone();
        if constexpr (std::is_same_v<Type, bool>) return value.isBool() && value.toBool() == constant;
        if constexpr (std::is_same_v<Type, int64_t>) return value.isInt() && value.toInt() == constant;
        if constexpr (std::is_same_v<Type, double>) {
          if (value.isInt()) return static_cast<double>(value.toInt()) == constant;
          return value.isDouble() && (value.toDouble() == constant ||
                                      (value.toDouble() != value.toDouble() && constant != constant));
        }
        if constexpr (std::is_same_v<Type, std::string>) {
          return value.isString() && value.toStringRef() == constant;
        }
        return false;
      },
      expected);
}

}  // namespace

InputBinding::InputBinding(const ExportedProgram& program) {
  const std::vector<const Node*> placeholders = program.graph().placeholders();
  for (size_t i = 0; i < placeholders.size() && i < program.signature.inputs.size(); ++i) {
    const InputSpec& spec = program.signature.inputs[i];
    if (spec.kind == InputKind::UserInput) inputs_.push_back({&spec, placeholders[i]});
  }
  for (const RangeConstraint& range : program.rangeConstraints) {
    ranges_.push_back({SymExpr::parse(range.symbol), &range});
  }
}

std::string InputBinding::place(size_t i) const {
  return fmt::format("input {} ('{}')", i, inputs_[i].node->name());
}

Values InputBinding::bind(std::span<const c10::IValue> inputs, SymbolValues& symbols) const {
  if (inputs.size() != inputs_.size()) {
    std::string names;
    for (const Input& input : inputs_) names += (names.empty() ? "" : ", ") + std::string(input.node->name());
    fail<UsageError>("expected {} user inputs ({}), got {}", inputs_.size(), names, inputs.size());
  }
  Values bound;
  std::vector<Expected> later;
  for (size_t i = 0; i < inputs.size(); ++i) bound.push_back(bindOne(i, inputs[i], symbols, later));
  for (const Expected& expected : later) {
    const std::optional<SymValue> value = evaluate(*expected.expression, lookUpIn(symbols));
    if (!value) continue;  // of symbols that no input tells
    const int64_t* size = std::get_if<int64_t>(&*value);
    if (size != nullptr && *size == expected.found) continue;
    std::string text;
    expected.expression->appendPython(text);
    fail<UsageError>("{}: expected size {}, which is {}, got {}", place(expected.input), text,
                     size != nullptr ? std::to_string(*size) : std::string("no whole number"),
                     expected.found);
  }
  checkRanges(symbols);
  return bound;
}

c10::IValue InputBinding::bindOne(size_t i, const c10::IValue& value, SymbolValues& symbols,
                                  std::vector<Expected>& later) const {
  const Input& input = inputs_[i];
  if (input.spec->arg.isConstant()) {
    if (!equals(value, input.spec->arg.value)) {
      fail<UsageError>("{}: the program was exported for the constant {}, got {}", place(i),
                       ValueMeta(ValueMeta::Constant{input.spec->arg.value}).text(), describe(value));
    }
    return value;
  }
  const ValueMeta* meta = input.node->value();
  if (meta == nullptr) return value;
  const auto refuse = [&] [[noreturn]] () {
    fail<UsageError>("{}: expected {}, got {}", place(i), meta->text(), describe(value));
  };
  if (const TensorMeta* expected = meta->tensor()) {
    if (!value.isTensor() || !value.toTensor().defined()) refuse();
    const at::Tensor& tensor = value.toTensor();
    const std::optional<at::ScalarType> type = toScalarType(expected->dtype);
    if (!type || tensor.scalar_type() != *type || tensor.sizes().size() != expected->sizes.size() ||
        !tensor.device().is_cpu() || tensor.layout() != at::Layout::Strided) {
      refuse();
    }
    size_t d = 0;
    const std::function<std::string()> what = [&] {
      return fmt::format("{}: expected {}, got {}: dimension {}", place(i), meta->text(), describe(value), d);
    };
    for (; d < expected->sizes.size(); ++d) {
      bindSize(i, expected->sizes[d], tensor.size(static_cast<int64_t>(d)), symbols, later, what);
    }
    return value;
  }
  if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&meta->data)) {
    if (!value.isInt()) refuse();
    bindSize(i, number->value, value.toInt(), symbols, later, [&] { return place(i); });
    return value;
  }
  if (std::holds_alternative<ValueMeta::SymFloatValue>(meta->data)) {
    if (value.isInt()) return static_cast<double>(value.toInt());
    if (!value.isDouble()) refuse();
    return value;
  }
  if (std::holds_alternative<ValueMeta::SymBoolValue>(meta->data)) {
    if (!value.isBool()) refuse();
  }
  return value;
}

void InputBinding::bindSize(size_t i, const SymInt& size, int64_t found, SymbolValues& symbols,
                            std::vector<Expected>& later, const std::function<std::string()>& what) const {
  if (!size.isSymbolic()) {
    if (size.value() != found) fail<UsageError>("{} is {}, not {}", what(), found, size.value());
    return;
  }
  const SymExpr& expression = size.symbolic()->expression;
  if (expression.kind() != SymKind::Symbol) {
    later.push_back({&expression, found, i});
    return;
  }
  const auto [known, isNew] = symbols.try_emplace(std::string(expression.name()), found);
  if (!isNew && known->second != found) {
    fail<UsageError>("{} is {}, but '{}' is {} elsewhere", what(), found, expression.name(), known->second);
  }
}

void InputBinding::checkRanges(const SymbolValues& symbols) const {
  for (const Range& range : ranges_) {
    const std::optional<SymValue> value = evaluate(range.expression, lookUpIn(symbols));
    const int64_t* number = value ? std::get_if<int64_t>(&*value) : nullptr;
    if (number == nullptr) continue;
    const RangeConstraint& allowed = *range.constraint;
    if ((allowed.min && *number < *allowed.min) || (allowed.max && *number > *allowed.max)) {
      fail<UsageError>("'{}' is {}, outside of its range {}", allowed.symbol, *number, text(allowed));
    }
  }
}

}  // namespace edgefx::detail

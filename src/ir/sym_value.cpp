#include <edgefx/ir/sym_value.h>
#include <edgefx/support/error.h>

#include "ir/sym_number.h"
#include "support/fail.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using detail::SymFault;
using detail::SymNumber;
using MaybeNumber = std::optional<SymNumber>;

// Recursion is bounded: expressions are at most 256 deep.
class SymEvaluator {
 public:
  explicit SymEvaluator(const SymBindings& bindings) : bindings_(bindings) {}

  MaybeNumber evaluate(const SymNode& node) const {
    switch (node.kind()) {
      case SymKind::Integer:
        return SymNumber::whole(node.integerValue());
      case SymKind::Rational:
        return SymNumber::fraction(node.numerator(), node.denominator());
      case SymKind::Float:
        return SymNumber::real(node.floatValue());
      case SymKind::Boolean:
        return SymNumber::condition(node.booleanValue());
      case SymKind::Constant:
        return constant(node.name());
      case SymKind::Symbol:
        if (const std::optional<int64_t> bound = bindings_(node.name())) return SymNumber::whole(*bound);
        return std::nullopt;
      case SymKind::Call:
        return call(node);
    }
    return std::nullopt;
  }

 private:
  static MaybeNumber constant(std::string_view name) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (name == "oo" || name == "int_oo") return SymNumber::real(kInfinity);
    if (name == "-oo" || name == "-int_oo") return SymNumber::real(-kInfinity);
    if (name == "nan") return SymNumber::real(std::numeric_limits<double>::quiet_NaN());
    if (name == "pi") return SymNumber::real(3.14159265358979323846);
    if (name == "E") return SymNumber::real(2.71828182845904523536);
    return std::nullopt;
  }

  MaybeNumber call(const SymNode& node) const {
    switch (node.function()) {
      case SymFunction::And:
        return all(node.args(), true);
      case SymFunction::Or:
        return all(node.args(), false);
      case SymFunction::Where:
        return choose(node.args()[0], node.args()[1], node.args()[2]);
      case SymFunction::Piecewise:
        return piecewise(node);
      default:
        break;
    }
    std::vector<SymNumber> values;
    values.reserve(node.args().size());
    for (const SymNode& arg : node.args()) {
      const MaybeNumber value = evaluate(arg);
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return apply(node.function(), values);
  }

  // Whether all operands are `wanted`; the first that is not decides.
  MaybeNumber all(std::span<const SymNode> operands, bool wanted) const {
    bool isKnown = true;
    for (const SymNode& operand : operands) {
      const MaybeNumber value = evaluate(operand);
      if (value && value->isTrue() != wanted) return SymNumber::condition(!wanted);
      isKnown = isKnown && value;
    }
    return isKnown ? MaybeNumber(SymNumber::condition(wanted)) : std::nullopt;
  }

  MaybeNumber choose(const SymNode& condition, const SymNode& ifTrue, const SymNode& ifFalse) const {
    const MaybeNumber holds = evaluate(condition);
    if (!holds) return std::nullopt;
    return evaluate(holds->isTrue() ? ifTrue : ifFalse);
  }

  MaybeNumber piecewise(const SymNode& node) const {
    for (const SymNode& pair : node.args()) {
      if (pair.function() != SymFunction::ExprCondPair) return std::nullopt;
      const MaybeNumber holds = evaluate(pair.args()[1]);
      if (!holds) return std::nullopt;
      if (holds->isTrue()) return evaluate(pair.args()[0]);
    }
    return std::nullopt;
  }

  static SymNumber extreme(std::span<const SymNumber> values, bool greatest) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (values.empty()) return SymNumber::real(greatest ? -kInfinity : kInfinity);
    SymNumber best = values.front();
    for (const SymNumber& value : values.subspan(1)) {
      const std::partial_ordering order = compare(value, best);
      if (greatest ? order > 0 : order < 0) best = value;
    }
    return best;
  }

  static SymNumber shift(const SymNumber& value, const SymNumber& count, bool left) {
    const int64_t bits = count.toWhole();
    if (bits < 0) throw SymFault{"a shift by a negative number"};
    const int64_t number = value.toWhole();
    if (!left) return SymNumber::whole(number >> std::min<int64_t>(bits, 63));
    if (number == 0) return value;
    if (bits > 63) throw SymFault{"a number that does not fit 64 bits"};
    return value * power(SymNumber::whole(2), SymNumber::whole(bits / 2)) *
           power(SymNumber::whole(2), SymNumber::whole(bits - bits / 2));
  }

  // Whether a tensor of these sizes and strides has its elements side by side, in any order of dimensions.
  static SymNumber isDense(std::span<const SymNumber> sizesAndStrides) {
    if (sizesAndStrides.size() % 2 != 0) throw SymFault{"sizes and strides of different number"};
    const size_t rank = sizesAndStrides.size() / 2;
    std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
    for (size_t i = 0; i < rank; ++i) {
      dims.emplace_back(sizesAndStrides[rank + i].toWhole(), sizesAndStrides[i].toWhole());
    }
    std::ranges::stable_sort(dims, {}, &std::pair<int64_t, int64_t>::first);
    SymNumber expected = SymNumber::whole(1);
    for (const auto& [stride, size] : dims) {
      if (size == 1 || (rank == 1 && size < 2)) continue;
      if (stride != expected.toWhole()) return SymNumber::whole(0);
      expected = expected * SymNumber::whole(size);
    }
    return SymNumber::whole(1);
  }

  static MaybeNumber apply(SymFunction function, std::span<const SymNumber> args) {
    const auto order = [&] { return compare(args[0], args[1]); };
    const auto condition = [](bool holds) { return SymNumber::condition(holds); };
    switch (function) {
      case SymFunction::Add: {
        SymNumber sum = SymNumber::whole(0);
        for (const SymNumber& arg : args) sum = sum + arg;
        return sum;
      }
      case SymFunction::Mul: {
        SymNumber product = SymNumber::whole(1);
        for (const SymNumber& arg : args) product = product * arg;
        return product;
      }
      case SymFunction::Pow:
        return power(args[0], args[1]);
      case SymFunction::PowByNatural:
        if (args[1].toWhole() < 0) throw SymFault{"a negative power where a natural one belongs"};
        return power(args[0], args[1]);
      case SymFunction::FloatPow:
        return power(SymNumber::real(args[0].toDouble()), SymNumber::real(args[1].toDouble()));
      case SymFunction::Max:
      case SymFunction::Min:
        return extreme(args, function == SymFunction::Max);
      case SymFunction::Mod:
      case SymFunction::PythonMod:
        return pythonMod(args[0], args[1]);
      case SymFunction::FloorDiv:
      case SymFunction::CleanDiv:
        return floorDiv(args[0], args[1]);
      case SymFunction::ModularIndexing:
        return pythonMod(floorDiv(args[0], args[1]), args[2]);
      case SymFunction::CeilDiv:
        return floorDiv(args[0].negated(), args[1]).negated();
      case SymFunction::IntTrueDiv:
      case SymFunction::FloatTrueDiv:
        return SymNumber::real((args[0] / args[1]).toDouble());
      case SymFunction::ToFloat:
        return SymNumber::real(args[0].toDouble());
      case SymFunction::CeilToInt:
        return args[0].ceil();
      case SymFunction::FloorToInt:
        return args[0].floor();
      case SymFunction::TruncToInt:
        return args[0].trunc();
      case SymFunction::TruncToFloat:
        return SymNumber::real(std::trunc(args[0].toDouble()));
      case SymFunction::RoundToInt:
        return args[0].round();
      case SymFunction::RoundDecimal:
        return args[0].round(args[1].toWhole());
      case SymFunction::LShift:
      case SymFunction::RShift:
        return shift(args[0], args[1], function == SymFunction::LShift);
      case SymFunction::Equal:
        return condition(order() == 0);
      case SymFunction::NotEqual:
        return condition(order() != 0);
      case SymFunction::LessEqual:
        return condition(order() <= 0);
      case SymFunction::GreaterEqual:
        return condition(order() >= 0);
      case SymFunction::Less:
        return condition(order() < 0);
      case SymFunction::Greater:
        return condition(order() > 0);
      case SymFunction::Xor:
        return condition(std::ranges::count_if(args, &SymNumber::isTrue) % 2 != 0);
      case SymFunction::Not:
        return condition(!args[0].isTrue());
      case SymFunction::Identity:
        return args[0];
      case SymFunction::IsNonOverlappingAndDenseIndicator:
        return isDense(args);
      case SymFunction::And:
      case SymFunction::Or:
      case SymFunction::Where:
      case SymFunction::Piecewise:
      case SymFunction::ExprCondPair:
      case SymFunction::Other:
        break;
    }
    return std::nullopt;
  }

  const SymBindings& bindings_;
};

}  // namespace

std::optional<SymValue> evaluate(const SymExpr& expression, const SymBindings& bindings) {
  try {
    const MaybeNumber number = SymEvaluator(bindings).evaluate(expression.root());
    return number ? std::optional(number->toValue()) : std::nullopt;
  } catch (const SymFault& fault) {
    std::string text;
    expression.appendPython(text);
    detail::fail<UsageError>("expected the value of '{}', found {}", text, fault.message);
  }
}

std::optional<int64_t> evaluate(const SymInt& size, const SymBindings& bindings) {
  if (!size.isSymbolic()) return size.value();
  const std::optional<SymValue> value = evaluate(size.symbolic()->expression, bindings);
  const int64_t* const whole = value ? std::get_if<int64_t>(&*value) : nullptr;
  return whole == nullptr ? std::nullopt : std::optional(*whole);
}

}  // namespace edgefx

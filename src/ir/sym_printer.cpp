#include "ir/sym_builder.h"

#include <charconv>
#include <string>
#include <vector>

namespace edgefx {
namespace detail {
namespace {

// sympy's precedences, for what the table of functions does not say.
constexpr int kAtom = 1000;
constexpr int kNegative = 40;  // that of a sum
constexpr int kFraction = 50;
constexpr int kProduct = 50;
constexpr int kOr = 36;
constexpr int kXor = 37;
constexpr int kAnd = 38;
constexpr int kBelowAtom = 999;

constexpr int kDoubleDigits = 15;

// Mod, FloorDiv and the like: functions that sympy puts below sums.
bool isLowFunction(const SymNode& node) {
  switch (node.function()) {
    case SymFunction::Mod:
    case SymFunction::FloorDiv:
    case SymFunction::PythonMod:
    case SymFunction::ModularIndexing:
    case SymFunction::CleanDiv:
    case SymFunction::IntTrueDiv:
    case SymFunction::FloatTrueDiv:
    case SymFunction::Where:
    case SymFunction::Identity:
      return true;
    default:
      return false;
  }
}

int productPrecedence(const SymNode& product) {
  for (const SymNode& factor : product.args()) {
    if (isLowFunction(factor)) return kProduct;
  }
  return readSymProduct(product).isNegative ? kNegative : kProduct;
}

int precedence(const SymNode& node) {
  switch (node.kind()) {
    case SymKind::Integer:
    case SymKind::Float:
      return isNegativeSymNumber(node) ? kNegative : kAtom;
    case SymKind::Rational:
      return isNegativeSymNumber(node) ? kNegative : kFraction;
    case SymKind::Constant:
      return node.name() == "-oo" ? kNegative : kAtom;
    case SymKind::Call:
      if (node.function() == SymFunction::Mul) return productPrecedence(node);
      return symFunctionInfo(node.function()).precedence;
    case SymKind::Boolean:
    case SymKind::Symbol:
      break;
  }
  return kAtom;
}

bool isRational(const SymNode& node, int64_t numerator, int64_t denominator) {
  return (node.kind() == SymKind::Integer || node.kind() == SymKind::Rational) &&
         node.numerator() == numerator && node.denominator() == denominator;
}

// Writes a tree as sympy's StrPrinter does. Recursion is bounded by the depth that the parser lets through.
class PythonPrinter {
 public:
  explicit PythonPrinter(std::string& out) : out_(out) {}

  void print(const SymNode& node, bool isTop = false) {
    switch (node.kind()) {
      case SymKind::Integer:
        appendInteger(node.integerValue());
        return;
      case SymKind::Rational:
        appendInteger(node.numerator());
        out_ += '/';
        appendInteger(node.denominator());
        return;
      case SymKind::Float:
        printFloat(node, isTop);
        return;
      case SymKind::Boolean:
        out_ += node.booleanValue() ? "True" : "False";
        return;
      case SymKind::Constant:
      case SymKind::Symbol:
        out_ += node.name();
        return;
      case SymKind::Call:
        printCall(node);
        return;
    }
  }

 private:
  void appendInteger(int64_t value) {
    char text[24];
    out_.append(text, std::to_chars(text, text + sizeof text, value).ptr);
  }

  void printInParentheses(const SymNode& node) {
    out_ += '(';
    print(node);
    out_ += ')';
  }

  // In parentheses if the node binds no stronger than `level`.
  void printWithin(const SymNode& node, int level) {
    precedence(node) <= level ? printInParentheses(node) : print(node);
  }

  void printList(std::span<const SymNode> nodes) {
    for (const SymNode& node : nodes) {
      if (&node != nodes.data()) out_ += ", ";
      print(node);
    }
  }

  void printFunction(std::string_view name, const SymNode& node) {
    out_.append(name).append("(");
    printList(node.args());
    out_ += ')';
  }

  void printJoined(const SymNode& node, std::string_view separator, int level) {
    for (const SymNode& arg : node.args()) {
      if (&arg != node.args().data()) out_ += separator;
      printWithin(arg, level);
    }
  }

  void printFloat(const SymNode& node, bool isTop) {
    double value = 0;
    const std::string_view digits = node.name();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool isDouble = SymBuilder::precision(node) == kDoublePrecision && error == std::errc() &&
                          end == digits.data() + digits.size();
    if (isDouble) {
      out_ += symFloatText(value, kDoubleDigits, !isTop);
    } else {
      out_ += digits;
    }
  }

  void printCall(const SymNode& node) {
    const int level = symFunctionInfo(node.function()).precedence;
    switch (node.function()) {
      case SymFunction::Add:
        printSum(node);
        return;
      case SymFunction::Mul:
        printProduct(node);
        return;
      case SymFunction::Pow:
        printPower(node.args()[0], node.args()[1]);
        return;
      case SymFunction::Equal:
        printFunction("Eq", node);
        return;
      case SymFunction::NotEqual:
        printFunction("Ne", node);
        return;
      case SymFunction::LessEqual:
        printJoined(node, " <= ", level);
        return;
      case SymFunction::GreaterEqual:
        printJoined(node, " >= ", level);
        return;
      case SymFunction::Less:
        printJoined(node, " < ", level);
        return;
      case SymFunction::Greater:
        printJoined(node, " > ", level);
        return;
      case SymFunction::And:
        printJoined(node, " & ", kAnd);
        return;
      case SymFunction::Or:
        printJoined(node, " | ", kOr);
        return;
      case SymFunction::Xor:
        printJoined(node, " ^ ", kXor);
        return;
      case SymFunction::Not:
        out_ += '~';
        printWithin(node.args()[0], level);
        return;
      case SymFunction::FloorDiv:
      case SymFunction::CleanDiv:
        out_ += '(';
        printJoined(node, "//", kBelowAtom);
        out_ += ')';
        return;
      case SymFunction::ExprCondPair:
        printFunction("", node);
        return;
      default:
        printFunction(node.name(), node);
        return;
    }
  }

  void printSum(const SymNode& sum) {
    std::vector<SymNode> terms(sum.args().begin(), sum.args().end());
    sortSymTerms(terms);
    for (size_t i = 0; i < terms.size(); ++i) {
      const SymNode& term = terms[i];
      const bool isSum = term.function() == SymFunction::Add;
      const bool needsParentheses = isSum || precedence(term) < symFunctionInfo(SymFunction::Add).precedence;
      // A leading minus becomes the sign, which only the printed term shows.
      const size_t start = out_.size();
      print(term);
      const bool isNegative = !isSum && out_.size() > start && out_[start] == '-';
      std::string_view sign = isNegative ? "-" : "";
      if (i > 0) sign = isNegative ? " - " : " + ";
      out_.replace(start, isNegative ? 1 : 0, std::string(sign) + (needsParentheses ? "(" : ""));
      if (needsParentheses) out_ += ')';
    }
  }

  void printPower(const SymNode& base, const SymNode& exponent) {
    const int level = symFunctionInfo(SymFunction::Pow).precedence;
    if (isRational(exponent, 1, 2) || isRational(exponent, -1, 2)) {
      out_ += exponent.numerator() < 0 ? "1/sqrt(" : "sqrt(";
      print(base);
      out_ += ')';
    } else if (isRational(exponent, -1, 1)) {
      out_ += "1/";
      printWithin(base, level);
    } else {
      printWithin(base, level);
      out_ += "**";
      printWithin(exponent, level);
    }
  }

  static bool isReciprocal(const SymNode& factor) {
    return factor.function() == SymFunction::Pow && isNegativeSymNumber(factor.args()[1]);
  }

  // One factor of a denominator, given as its reciprocal.
  void printDenominatorFactor(const SymNode& reciprocal, int level) {
    const SymNode& base = reciprocal.args()[0];
    const SymNode& exponent = reciprocal.args()[1];
    if (!isRational(exponent, -1, 1)) {
      std::pmr::monotonic_buffer_resource scratch;
      printPower(base, SymBuilder(scratch).negate(exponent));
      return;
    }
    const bool isCompound = base.function() == SymFunction::Mul || base.function() == SymFunction::Pow;
    isCompound ? printInParentheses(base) : printWithin(base, level);
  }

  // A number without its sign.
  void printMagnitude(const SymNode& number) {
    const size_t start = out_.size();
    print(number);
    if (out_[start] == '-') out_.erase(start, 1);
  }

  void printProduct(const SymNode& product) {
    const int level = productPrecedence(product);
    const auto [isNegative, number, factors] = readSymProduct(product);
    if (isNegative) out_ += '-';

    const size_t start = out_.size();
    size_t denominatorFactors = 0;
    const bool isExact = number != nullptr && number->kind() != SymKind::Float;
    if (isExact) {
      if (number->numerator() != 1 && number->numerator() != -1)
        printMagnitude(SymBuilder::integer(number->numerator()));
      if (number->denominator() != 1) ++denominatorFactors;
    } else if (number != nullptr) {
      printMagnitude(*number);
    }
    for (const SymNode& factor : factors) {
      if (isReciprocal(factor)) {
        ++denominatorFactors;
        continue;
      }
      if (out_.size() > start) out_ += '*';
      printWithin(factor, level);
    }
    if (out_.size() == start) out_ += '1';
    if (denominatorFactors == 0) return;

    out_ += denominatorFactors > 1 ? "/(" : "/";
    const size_t denominatorStart = out_.size();
    if (isExact && number->denominator() != 1) appendInteger(number->denominator());
    for (const SymNode& factor : factors) {
      if (!isReciprocal(factor)) continue;
      if (out_.size() > denominatorStart) out_ += '*';
      printDenominatorFactor(factor, level);
    }
    if (denominatorFactors > 1) out_ += ')';
  }

  std::string& out_;
};

}  // namespace
}  // namespace detail

void SymExpr::appendPython(std::string& out) const {
  detail::PythonPrinter(out).print(root(), true);
}

}  // namespace edgefx

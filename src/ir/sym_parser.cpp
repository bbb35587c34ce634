#include "ir/sym_builder.h"
#include "support/fail.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace edgefx::detail {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr size_t kMaxAssumptions = 64;
constexpr size_t kMaxQuotedBytes = 200;  // of the text, in a message

constexpr int64_t kMinInteger = std::numeric_limits<int64_t>::min();

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isNamePart(char c) {
  return isNameStart(c) || isDigit(c);
}

bool isConstantName(std::string_view name) {
  constexpr std::string_view kNames[] = {"oo", "int_oo", "zoo", "nan", "pi", "E", "I"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The numeric factor of a product, in lowest terms.
struct Coefficient {
  int64_t numerator = 1;
  int64_t denominator = 1;

  // Multiplies by top/bottom; false, and nothing changed, if the result does not fit.
  bool multiply(int64_t top, int64_t bottom) {
    if (bottom == 0 || top == kMinInteger || bottom == kMinInteger || numerator == kMinInteger) return false;
    if (bottom < 0) {
      top = -top;
      bottom = -bottom;
    }
    const int64_t cross = std::gcd(top, denominator);
    const int64_t other = std::gcd(numerator, bottom);
    int64_t newNumerator = 0;
    int64_t newDenominator = 0;
    if (__builtin_mul_overflow(numerator / other, top / cross, &newNumerator) ||
        __builtin_mul_overflow(denominator / cross, bottom / other, &newDenominator)) {
      return false;
    }
    numerator = newNumerator;
    denominator = newDenominator;
    return true;
  }
};

// Recursive descent over Python's expression grammar, of which the constructor form is the part made of
// calls.
class SymParser {
 public:
  explicit SymParser(SymTree& tree) : builder_(tree.arena), text_(tree.text) {}

  SymNode parse() {
    if (text_.size() > kMaxTextBytes) {
      fail<ParseError>("expected a symbolic expression of at most {} bytes, found {}", kMaxTextBytes,
                       text_.size());
    }
    const SymNode root = parseComparison();
    skipSpaces();
    if (at_ != text_.size()) failHere("end of text");
    return root;
  }

 private:
  // Operands of the operations not finished yet lie on operands_, from the operation's mark on.
  class Nesting {
   public:
    explicit Nesting(SymParser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxSymDepth) parser_.failDepth();
    }
    ~Nesting() { --parser_.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    SymParser& parser_;
  };

  [[noreturn]] void failHere(std::string_view expected) const { failAt(at_, expected); }

  [[noreturn]] void failAt(size_t at, std::string_view expected) const {
    const std::string found =
        at < text_.size() ? "'" + std::string(text_.substr(at, 1)) + "'" : "the end of the text";
    fail<ParseError>("expected {}, found {} at column {} of symbolic expression {}", expected, found, at + 1,
                     quotedText());
  }

  [[noreturn]] void failDepth() const {
    fail<ParseError>("expected at most {} levels, found more at column {} of symbolic expression {}",
                     kMaxSymDepth, at_ + 1, quotedText());
  }

  std::string quotedText() const {
    if (text_.size() <= kMaxQuotedBytes) return fmt::format("'{}'", text_);
    return fmt::format("'{}...' ({} bytes)", text_.substr(0, kMaxQuotedBytes), text_.size());
  }

  void skipSpaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  char peek() {
    skipSpaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool accept(std::string_view token) {
    skipSpaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void expect(char c) {
    if (peek() != c) failHere(fmt::format("'{}'", c));
    ++at_;
  }

  SymNode checked(const SymNode& node) const {
    if (SymBuilder::depth(node) > kMaxSymDepth) failDepth();
    return node;
  }

  SymNode makeCall(SymFunction function, std::initializer_list<SymNode> args) {
    return checked(builder_.call(function, std::span<const SymNode>(args.begin(), args.size())));
  }

  std::span<SymNode> operandsFrom(size_t mark) { return std::span<SymNode>(operands_).subspan(mark); }

  SymNode parseComparison() {
    const SymNode left = parseBitwise(0, parseSum());
    const char c = peek();
    if (c != '<' && c != '>' && c != '=' && c != '!') return left;
    SymFunction function = SymFunction::Other;
    if (accept("<=")) {
      function = SymFunction::LessEqual;
    } else if (accept(">=")) {
      function = SymFunction::GreaterEqual;
    } else if (accept("<")) {
      function = SymFunction::Less;
    } else if (accept(">")) {
      function = SymFunction::Greater;
    } else {
      return left;
    }
    const SymNode right = parseBitwise(0, parseSum());
    return makeCall(function, {left, right});
  }

  // Goes on from a first operand that is read already, so that the levels of operators that do not occur cost
  // no stack.
  SymNode parseBitwise(size_t level, const SymNode& operand) {
    struct Level {
      char symbol;
      SymFunction function;
    };
    constexpr Level kLevels[] = {{'|', SymFunction::Or}, {'^', SymFunction::Xor}, {'&', SymFunction::And}};
    if (level == std::size(kLevels)) return operand;
    const auto [symbol, function] = kLevels[level];
    const SymNode first = parseBitwise(level + 1, operand);
    if (peek() != symbol) return first;
    const size_t mark = operands_.size();
    operands_.push_back(first);
    while (peek() == symbol) {
      ++at_;
      operands_.push_back(parseBitwise(level + 1, parseSum()));
    }
    return finish(function, mark);
  }

  SymNode finish(SymFunction function, size_t mark) {
    const SymNode node = checked(builder_.call(function, operandsFrom(mark)));
    operands_.resize(mark);
    return node;
  }

  SymNode parseSum() {
    const SymNode first = parseProduct();
    if (peek() != '+' && peek() != '-') return first;
    const size_t mark = operands_.size();
    operands_.push_back(first);
    for (char c = peek(); c == '+' || c == '-'; c = peek()) {
      ++at_;
      const SymNode term = parseProduct();
      operands_.push_back(c == '-' ? checked(builder_.negate(term)) : term);
    }
    sortSymTerms(operandsFrom(mark));
    return finish(SymFunction::Add, mark);
  }

  SymNode parseProduct() {
    bool isNegative = false;
    const SymNode first = parseSigned(isNegative);
    if (peek() != '*' && peek() != '/' && peek() != '%') {
      return isNegative ? checked(builder_.negate(first)) : first;
    }
    const size_t mark = operands_.size();
    Coefficient coefficient;
    multiply(coefficient, first, isNegative);
    while (true) {
      if (accept("//")) {
        divideWhole(SymFunction::FloorDiv, coefficient, mark);
      } else if (accept("%")) {
        divideWhole(SymFunction::Mod, coefficient, mark);
      } else if (accept("*")) {
        const SymNode factor = parseSigned(isNegative);
        multiply(coefficient, factor, isNegative);
      } else if (accept("/")) {
        const size_t divisorAt = at_;
        const SymNode divisor = parseSigned(isNegative);
        if (isNegative) multiply(coefficient, SymBuilder::integer(-1), false);
        divide(coefficient, divisor, divisorAt);
      } else {
        return finishProduct(coefficient, mark);
      }
    }
  }

  // "//" and "%" take all that is on their left.
  void divideWhole(SymFunction function, Coefficient& coefficient, size_t mark) {
    const SymNode dividend = finishProduct(coefficient, mark);
    bool isNegative = false;
    const SymNode value = parseSigned(isNegative);
    const SymNode divisor = isNegative ? checked(builder_.negate(value)) : value;
    coefficient = Coefficient();
    operands_.push_back(makeCall(function, {dividend, divisor}));
  }

  void multiply(Coefficient& coefficient, const SymNode& factor, bool isNegative) {
    if (isNegative) multiply(coefficient, SymBuilder::integer(-1), false);
    if (factor.function() == SymFunction::Mul) {
      for (const SymNode& part : factor.args()) multiplyPlain(coefficient, part);
    } else {
      multiplyPlain(coefficient, factor);
    }
  }

  void multiplyPlain(Coefficient& coefficient, const SymNode& factor) {
    const bool isExact = factor.kind() == SymKind::Integer || factor.kind() == SymKind::Rational;
    if (isExact && coefficient.multiply(factor.numerator(), factor.denominator())) return;
    operands_.push_back(factor);
  }

  void divide(Coefficient& coefficient, const SymNode& divisor, size_t divisorAt) {
    if (divisor.function() == SymFunction::Mul) {
      for (const SymNode& part : divisor.args()) dividePlain(coefficient, part, divisorAt);
    } else {
      dividePlain(coefficient, divisor, divisorAt);
    }
  }

  void dividePlain(Coefficient& coefficient, const SymNode& divisor, size_t divisorAt) {
    if (divisor.kind() == SymKind::Integer || divisor.kind() == SymKind::Rational) {
      if (divisor.numerator() == 0) failAt(divisorAt, "a divisor other than zero");
      if (coefficient.multiply(divisor.denominator(), divisor.numerator())) return;
    }
    if (divisor.function() == SymFunction::Pow && isSymNumber(divisor.args()[1])) {
      const SymNode exponent = builder_.negate(divisor.args()[1]);
      const bool isOne = exponent.kind() == SymKind::Integer && exponent.integerValue() == 1;
      operands_.push_back(isOne ? divisor.args()[0]
                                : makeCall(SymFunction::Pow, {divisor.args()[0], exponent}));
      return;
    }
    operands_.push_back(makeCall(SymFunction::Pow, {divisor, SymBuilder::integer(-1)}));
  }

  SymNode finishProduct(const Coefficient& coefficient, size_t mark) {
    sortSymFactors(operandsFrom(mark));
    const SymNode number = builder_.reducedRational(coefficient.numerator, coefficient.denominator);
    const bool isWhole = coefficient.denominator == 1;
    const size_t factorCount = operands_.size() - mark;
    if (factorCount == 0) {
      operands_.push_back(number);
    } else if (!isWhole || coefficient.numerator != 1) {
      const bool isNegative = coefficient.numerator < 0;
      if (isNegative) operands_.push_back(SymBuilder::integer(-1));
      if (!isNegative || !isWhole || coefficient.numerator != -1) {
        operands_.push_back(isNegative ? builder_.negate(number) : number);
      }
      const std::span<SymNode> parts = operandsFrom(mark);
      std::rotate(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(factorCount), parts.end());
    }
    const std::span<SymNode> parts = operandsFrom(mark);
    const SymNode node = parts.size() == 1 ? parts.front() : checked(builder_.call(SymFunction::Mul, parts));
    operands_.resize(mark);
    return node;
  }

  // Signs are counted, not applied: "-s0*s1" is one product.
  SymNode parseSigned(bool& isNegative) {
    isNegative = false;
    for (char c = peek(); c == '+' || c == '-'; c = peek()) {
      ++at_;
      if (c == '-') isNegative = !isNegative;
    }
    if (peek() != '~') return parsePower();
    ++at_;
    const Nesting nesting(*this);
    bool isOperandNegative = false;
    const SymNode operand = parseSigned(isOperandNegative);
    return makeCall(SymFunction::Not, {isOperandNegative ? checked(builder_.negate(operand)) : operand});
  }

  SymNode parsePower() {
    const SymNode base = parseAtom();
    if (!accept("**")) return base;
    const Nesting nesting(*this);
    bool isNegative = false;
    const SymNode exponent = parseSigned(isNegative);
    return makeCall(SymFunction::Pow, {base, isNegative ? checked(builder_.negate(exponent)) : exponent});
  }

  SymNode parseAtom() {
    const char c = peek();
    if (c == '(') {
      const Nesting nesting(*this);
      ++at_;
      const SymNode inner = parseComparison();
      expect(')');
      return inner;
    }
    if (isDigit(c) || c == '.') return parseNumber();
    if (!isNameStart(c)) failHere("a number, a name or '('");
    const std::string_view name = parseName();
    if (peek() == '(') return parseCall(name);
    if (name == "true" || name == "True") return SymBuilder::boolean(true);
    if (name == "false" || name == "False") return SymBuilder::boolean(false);
    return isConstantName(name) ? SymBuilder::constant(name) : SymBuilder::symbol(name, {});
  }

  std::string_view parseName() {
    const size_t first = at_;
    while (at_ < text_.size() && isNamePart(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  SymNode parseNumber() {
    const size_t first = at_;
    const char* const end = text_.data() + text_.size();
    int64_t whole = 0;
    const auto [wholeEnd, wholeError] = std::from_chars(text_.data() + at_, end, whole);
    if (wholeEnd == end || (*wholeEnd != '.' && *wholeEnd != 'e' && *wholeEnd != 'E')) {
      if (wholeError != std::errc()) failAt(first, "an integer within 64 bits");
      at_ = static_cast<size_t>(wholeEnd - text_.data());
      return SymBuilder::integer(whole);
    }
    double value = 0;
    const auto [valueEnd, valueError] = std::from_chars(text_.data() + at_, end, value);
    if (valueError != std::errc()) failAt(first, "a number");
    at_ = static_cast<size_t>(valueEnd - text_.data());
    return builder_.floating(value);
  }

  SymNode parseCall(std::string_view name) {
    const Nesting nesting(*this);
    const size_t nameAt = static_cast<size_t>(name.data() - text_.data());
    expect('(');
    if (name == "Symbol") return parseSymbol();
    if (name == "Integer") {
      const int64_t value = parseSignedInteger();
      expect(')');
      return SymBuilder::integer(value);
    }
    if (name == "Rational") return parseRational();
    if (name == "Float") return parseFloat();

    const size_t mark = operands_.size();
    const bool isPiecewise = name == "Piecewise";
    if (peek() != ')') {
      do {
        operands_.push_back(isPiecewise && peek() == '(' ? parsePair() : parseComparison());
      } while (accept(","));
    }
    expect(')');
    const std::span<const SymNode> args = operandsFrom(mark);
    SymNode node;
    if (name == "sqrt" && args.size() == 1) {
      node = builder_.call(SymFunction::Pow, std::vector<SymNode>{args[0], builder_.rational(1, 2)});
    } else if (const SymFunctionInfo* info = findSymFunction(name)) {
      if (args.size() < info->minArgs || (info->maxArgs != 0 && args.size() > info->maxArgs)) {
        failAt(nameAt, fmt::format("{}{} arguments for {} but not {}", info->maxArgs == 0 ? "at least " : "",
                                   info->minArgs, name, args.size()));
      }
      node = builder_.call(*info, args);
    } else {
      node = builder_.otherCall(name, args);
    }
    operands_.resize(mark);
    return checked(node);
  }

  // "(value, condition)" as Python prints it inside of Piecewise; a first operand in parentheses is read too.
  SymNode parsePair() {
    const size_t first = at_;
    {
      const Nesting nesting(*this);
      ++at_;
      const SymNode value = parseComparison();
      if (accept(",")) {
        const SymNode condition = parseComparison();
        expect(')');
        return makeCall(SymFunction::ExprCondPair, {value, condition});
      }
    }
    failAt(first, "a pair of value and condition");
  }

  int64_t parseSignedInteger() {
    skipSpaces();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) failHere("an integer within 64 bits");
    if (error != std::errc()) failHere("an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  SymNode parseRational() {
    const int64_t numerator = parseSignedInteger();
    expect(',');
    skipSpaces();
    const size_t denominatorAt = at_;
    const int64_t denominator = parseSignedInteger();
    if (denominator <= 0) failAt(denominatorAt, "a positive denominator");
    expect(')');
    return builder_.rational(numerator, denominator);
  }

  SymNode parseFloat() {
    const std::string_view digits = parseQuoted();
    int64_t precision = kDoublePrecision;
    if (accept(",")) {
      skipSpaces();
      if (parseName() != "precision") failHere("'precision'");
      expect('=');
      precision = parseSignedInteger();
      if (precision <= 0 || precision > std::numeric_limits<uint32_t>::max()) failHere("a precision in bits");
    }
    expect(')');
    return SymBuilder::floating(digits, static_cast<uint32_t>(precision));
  }

  SymNode parseSymbol() {
    const std::string_view name = parseQuoted();
    std::string assumptions;
    std::vector<std::string_view> keys;
    while (accept(",")) {
      skipSpaces();
      const size_t keyAt = at_;
      const std::string_view key = parseName();
      if (key.empty()) failHere("an assumption");
      if (std::find(keys.begin(), keys.end(), key) != keys.end())
        failAt(keyAt, "an assumption not made before");
      if (keys.size() == kMaxAssumptions) failAt(keyAt, "fewer assumptions");
      keys.push_back(key);
      expect('=');
      skipSpaces();
      const size_t valueAt = at_;
      const std::string_view value = parseName();
      if (value != "True" && value != "False") failAt(valueAt, "True or False");
      if (!assumptions.empty()) assumptions += ", ";
      assumptions.append(key).append("=").append(value);
    }
    expect(')');
    return SymBuilder::symbol(name, builder_.copyText(assumptions));
  }

  std::string_view parseQuoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') failHere("a quoted text");
    const size_t first = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\') failHere("text without escapes");
      ++at_;
    }
    if (at_ == text_.size()) failHere("the closing quote");
    if (at_ == first) failHere("a text that is not empty");
    return text_.substr(first, at_++ - first);
  }

  SymBuilder builder_;
  std::string_view text_;
  size_t at_ = 0;
  uint16_t nesting_ = 0;
  std::vector<SymNode> operands_;
};

}  // namespace

void parseSymExpr(SymTree& tree) {
  tree.root = SymParser(tree).parse();
}

}  // namespace edgefx::detail

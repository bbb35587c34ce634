#include "support/fail.h"
#include "text/program_parser.h"
#include "text/text_words.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <utility>

namespace edgefx::detail {

void ProgramParser::enter(Scope& scope) const {
  if (scope.depth >= kDeepestText)
    in_.fail(in_.position(), fmt::format("arguments nested deeper than {} levels", kDeepestText));
}

// The word before '(' of a call, or an operator that is an argument.
Target ProgramParser::parseTarget() {
  const bool isQuoted = in_.peek() == '"';
  const size_t start = in_.position();
  if (isQuoted) {
    const std::string text = in_.string("a target");
    return at(start, [&] { return Target(text); });
  }
  const std::string_view word = in_.dottedWord();
  if (word.empty()) in_.expected("what the node calls, such as aten.relu.default");
  if (auto known = targets_.find(word); known != targets_.end()) return known->second;
  if (!isTargetWord(word)) {
    in_.fail(start, fmt::format("expected what the node calls, such as aten.relu.default, found '{}'; others "
                                "stand in quotes",
                                word));
  }
  const Target target = at(start, [&] { return targetOfWord(word); });
  targets_.emplace(word, target);
  return target;
}

ProgramParser::Arguments ProgramParser::parseArguments(Scope& scope) {
  in_.expect('(', "before arguments");
  const size_t base = stack_.size();
  Arguments arguments;
  std::unordered_set<std::string> keys;
  ++scope.depth;
  while (!in_.accept(')')) {
    const char first = in_.peek();
    const size_t start = in_.position();
    std::optional<std::string> key;
    // A word or a string is a key if '=' follows.
    if (first == '"') {
      key = in_.string("an argument");
      if (in_.peek() != '=') {
        stack_.push_back(scope.builder.arguments().makeText(ArgumentKind::String, *key));
        key.reset();
        if (arguments.numKwargs != 0) in_.fail(start, "expected a keyword argument after another");
        ++arguments.numArgs;
        if (in_.peek() != ')') in_.expect(',', "or ')' after an argument");
        continue;
      }
    } else if (const std::string_view word = in_.word(); !word.empty()) {
      if (in_.peek() == '=') {
        key = word;
      } else {
        in_.moveTo(start);
      }
    }
    if (key) {
      in_.accept('=');
      if (!keys.insert(*key).second)
        in_.fail(start, fmt::format("expected keyword argument '{}' once", *key));
      stack_.push_back(scope.builder.arguments().key(*key));
      ++arguments.numKwargs;
    } else {
      if (arguments.numKwargs != 0) in_.fail(start, "expected a keyword argument after another");
      ++arguments.numArgs;
    }
    stack_.push_back(parseArgument(scope));
    if (in_.peek() != ')') in_.expect(',', "or ')' after an argument");
  }
  --scope.depth;
  const size_t count = stack_.size() - base;
  if (count != 0) {
    arguments.first = scope.builder.arguments().allocate(count);
    std::copy_n(stack_.begin() + static_cast<std::ptrdiff_t>(base), count, arguments.first);
    stack_.resize(base);
  }
  return arguments;
}

Argument ProgramParser::itemsFrom(Scope& scope, ArgumentKind kind, size_t base, size_t count, ListHint hint) {
  Argument* items = nullptr;
  if (const size_t held = stack_.size() - base; held != 0) {
    items = scope.builder.arguments().allocate(held);
    std::copy_n(stack_.begin() + static_cast<std::ptrdiff_t>(base), held, items);
    stack_.resize(base);
  }
  return ArgumentWriter::makeItems(kind, items, count, hint);
}

Argument ProgramParser::parseArgument(Scope& scope) {
  const char first = in_.peek();
  const size_t start = in_.position();
  switch (first) {
    case '%': {
      const std::string name = parseNodeName("a node");
      Node* node = scope.graph.find(name);
      if (node == nullptr)
        in_.fail(start, fmt::format("expected a node of this graph above, found '%{}'", name));
      return ArgumentWriter::makeNode(*node);
    }
    case '"':
      return scope.builder.arguments().makeText(ArgumentKind::String, in_.string("an argument"));
    case '[':
    case '(':
      return parseSequence(scope, ListHint::Any);
    case '{':
      return parseDict(scope);
    case '.':
      if (in_.between(start, start + 3) != "...") break;
      in_.moveTo(start + 3);
      return ArgumentWriter::makeNumber(ArgumentKind::Ellipsis, 0);
    default:
      break;
  }
  if ((first >= '0' && first <= '9') || first == '-') {
    const std::string_view text = in_.numberText();
    if (text.empty()) in_.expected("a number after '-'");
    if (text.find_first_not_of("-0123456789") == std::string_view::npos) {
      in_.moveTo(start);
      return ArgumentWriter::makeInt(in_.integer("a whole number"));
    }
    return ArgumentWriter::makeFloat(numberOf(text, start));
  }
  return parseWordArgument(scope);
}

Argument ProgramParser::parseWordArgument(Scope& scope) {
  constexpr std::string_view kExpected =
      "an argument: a node such as %x, a number, a string in double quotes, "
      "None, a list, ...";
  in_.peek();
  const size_t start = in_.position();
  const std::string_view word = in_.dottedWord();
  if (word.empty()) in_.expected(kExpected);
  if (word == "None") return {};
  if (word == "True" || word == "False") return ArgumentWriter::makeBool(word == "True");
  if (word == "inf") return ArgumentWriter::makeFloat(std::numeric_limits<double>::infinity());
  if (in_.next() == '(' || in_.next() == '[') {
    if (auto hint = listHintOfWord(word)) return parseSequence(scope, *hint);
    if (in_.next() == '(') return parseCallArgument(scope, word, start);
  }
  if (word == "nan") return ArgumentWriter::makeFloat(std::numeric_limits<double>::quiet_NaN());
  const auto number = [](ArgumentKind kind, auto value) {
    return ArgumentWriter::makeNumber(kind, static_cast<int64_t>(value));
  };
  if (word.find('.') == std::string_view::npos) {
    if (auto dtype = dtypeOfWord(word)) return number(ArgumentKind::Dtype, *dtype);
    if (auto layout = layoutOfWord(word)) return number(ArgumentKind::Layout, *layout);
    if (auto format = memoryFormatOfWord(word)) return number(ArgumentKind::MemoryFormat, *format);
  } else if (isTargetWord(word)) {
    in_.moveTo(start);
    return ArgumentWriter::makeOperator(parseTarget());
  } else {
    if (auto dtype = dtypeFromFxText(word)) return number(ArgumentKind::Dtype, *dtype);
    if (auto layout = layoutFromFxText(word)) return number(ArgumentKind::Layout, *layout);
    if (auto format = memoryFormatFromFxText(word)) return number(ArgumentKind::MemoryFormat, *format);
  }
  in_.moveTo(start);
  in_.expected(kExpected);
}

// What is written like a call.
Argument ProgramParser::parseCallArgument(Scope& scope, std::string_view word, size_t start) {
  if (word == "slice" || word == "range") {
    return parseThree(scope, word == "slice" ? ArgumentKind::Slice : ArgumentKind::Range);
  }
  if (word == "nan") return ArgumentWriter::makeFloat(parseNanBits());
  in_.expect('(', "after a word");
  Argument made;
  if (word == "complex") {
    const double real = parseDouble();
    in_.expect(',', "between the parts of a complex number");
    made = scope.builder.arguments().makeComplex(real, parseDouble());
  } else if (word == "device") {
    made = scope.builder.arguments().makeText(ArgumentKind::Device, in_.string("a device"));
  } else if (word == "op") {
    in_.peek();
    const size_t position = in_.position();
    const std::string text = in_.string("the FX text of a target");
    made = at(position, [&] { return ArgumentWriter::makeOperator(Target(text)); });
  } else if (word == "sym") {
    const bool isQuoted = in_.peek() == '"';
    const size_t position = in_.position();
    const std::string text = isQuoted ? in_.string("an expression") : std::string(in_.raw(""));
    made = scope.builder.arguments().makeSymbolic(expressionAt(text, position, !isQuoted));
  } else {
    in_.fail(start,
             fmt::format("expected an argument, found '{}('; of these there are slice, range, complex, "
                         "device, op, sym and nan",
                         word));
  }
  in_.expect(')', fmt::format("at the end of '{}('", word));
  return made;
}

Argument ProgramParser::parseThree(Scope& scope, ArgumentKind kind) {
  in_.peek();
  const size_t start = in_.position();
  const Argument tuple = parseSequence(scope, ListHint::Any);
  if (tuple.items().size() != 3)
    in_.fail(start, fmt::format("expected start, stop and step, found {} items", tuple.items().size()));
  return ArgumentWriter::makeItems(kind, const_cast<Argument*>(tuple.items().data()), 3);
}

Argument ProgramParser::parseSequence(Scope& scope, ListHint hint) {
  enter(scope);
  const bool isTuple = in_.peek() == '(';
  const char close = isTuple ? ')' : ']';
  in_.accept(isTuple ? '(' : '[');
  ++scope.depth;
  const size_t base = stack_.size();
  while (!in_.accept(close)) {
    const Argument item = parseArgument(scope);
    stack_.push_back(item);
    if (in_.peek() != close) in_.expect(',', fmt::format("or '{}' after an item", close));
  }
  --scope.depth;
  return itemsFrom(scope, isTuple ? ArgumentKind::Tuple : ArgumentKind::List, base, stack_.size() - base,
                   hint);
}

Argument ProgramParser::parseDict(Scope& scope) {
  enter(scope);
  in_.accept('{');
  ++scope.depth;
  const size_t base = stack_.size();
  while (!in_.accept('}')) {
    stack_.push_back(scope.builder.arguments().key(in_.string("a key of a dict or '}'")));
    in_.expect(':', "after a key of a dict");
    const Argument value = parseArgument(scope);
    stack_.push_back(value);
    if (in_.peek() != '}') in_.expect(',', "or '}' after a value of a dict");
  }
  --scope.depth;
  return itemsFrom(scope, ArgumentKind::Dict, base, (stack_.size() - base) / 2, ListHint::Any);
}

double ProgramParser::numberOf(std::string_view text, size_t position) const {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end || text == "-nan")
    in_.fail(position, fmt::format("expected a number that fits 64 bits, found '{}'", text));
  return value;
}

double ProgramParser::parseDouble() {
  in_.peek();
  const size_t start = in_.position();
  const std::string_view text = in_.numberText();
  if (text.empty()) in_.expected("a number");
  if (text == "nan" && in_.next() == '(') return parseNanBits();
  return numberOf(text, start);
}

// After the word nan: which of them, by its bits.
double ProgramParser::parseNanBits() {
  in_.expect('(', "after nan");
  in_.peek();
  const size_t start = in_.position();
  const std::string digits = in_.string("the bits of a number");
  uint64_t bits = 0;
  const auto [read, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
  const double value = std::bit_cast<double>(bits);
  if (error != std::errc() || read != digits.data() + digits.size() || value == value)
    in_.fail(start, "expected the bits of a number that is not a number, in hexadecimal digits");
  in_.expect(')', "after the bits of a number");
  return value;
}

ConstantScalar ProgramParser::parseScalar() {
  if (in_.peek() == '"') return in_.string("a constant");
  const size_t start = in_.position();
  if (in_.acceptWord("None")) return std::monostate();
  if (in_.acceptWord("True")) return true;
  if (in_.acceptWord("False")) return false;
  const std::string_view text = in_.numberText();
  if (text.empty()) in_.expected("None, True, False, a number or a string");
  in_.moveTo(start);
  if (text.find_first_not_of("-0123456789") == std::string_view::npos) return in_.integer("a whole number");
  return parseDouble();
}

// ---- values

ValueRef ProgramParser::parseValueOnce() {
  in_.peek();
  const size_t start = in_.position();
  ValueRef value = parseValue(0);
  std::string_view text = in_.between(start, in_.position());
  text = text.substr(0, text.find_last_not_of(" \r\n\t") + 1);
  return values_.emplace(text, std::move(value)).first->second;
}

ValueRef ProgramParser::parseValue(int depth) {
  const char first = in_.peek();
  const size_t start = in_.position();
  if (first == '(' || first == '[') {
    if (depth >= kDeepestText)
      in_.fail(start, fmt::format("values nested deeper than {} levels", kDeepestText));
    in_.accept(first);
    ValueMeta::Sequence sequence;
    sequence.isList = first == '[';
    const char close = sequence.isList ? ']' : ')';
    while (!in_.accept(close)) {
      sequence.elements.push_back(in_.accept('?') ? ValueRef() : parseValue(depth + 1));
      if (in_.peek() != close) in_.expect(',', fmt::format("or '{}' after a value", close));
    }
    return ValueMeta::of(std::move(sequence));
  }
  const std::string_view word = in_.word();
  if (word == "None") return ValueMeta::of(ValueMeta::None());
  if (word == "Token") return ValueMeta::of(ValueMeta::Token());
  if (dtypeOfWord(word)) {
    in_.moveTo(start);
    return ValueMeta::of(parseTensorMeta());
  }
  ValueMeta::Data data;
  const bool isKnown =
      word == "SymInt" || word == "SymFloat" || word == "SymBool" || word == "Object" || word == "Constant";
  if (!isKnown) {
    in_.moveTo(start);
    in_.expected("a value such as f32[2, 3], SymInt(s0), (f32[2], None)");
  }
  in_.expect('(', "after what kind of value it is");
  in_.peek();
  const size_t inside = in_.position();
  if (word == "SymInt") {
    data = ValueMeta::SymIntValue{parseSize("")};
  } else if (word == "Object") {
    data = ValueMeta::CustomObject{in_.string("the name of a class")};
  } else if (word == "Constant") {
    data = ValueMeta::Constant{parseScalar()};
  } else if (word == "SymBool") {
    if (in_.acceptWord("True") || (in_.acceptWord("False"))) {
      data = ValueMeta::SymBoolValue{in_.between(inside, inside + 4) == "True"};
    }
    if (in_.peek() != ')') {
      in_.moveTo(inside);
      data = ValueMeta::SymBoolValue{*parseSymbolic("")};
    }
  } else {
    // An expression that begins like a number goes on after it.
    const std::string_view number = in_.numberText();
    if (number == "nan" && in_.next() == '(') {
      data = ValueMeta::SymFloatValue{parseNanBits()};
    } else if (!number.empty() && in_.peek() == ')') {
      data = ValueMeta::SymFloatValue{numberOf(number, inside)};
    } else {
      in_.moveTo(inside);
      data = ValueMeta::SymFloatValue{*parseSymbolic("")};
    }
  }
  in_.expect(')', fmt::format("at the end of '{}('", word));
  return ValueMeta::of(std::move(data));
}

TensorMeta ProgramParser::parseTensorMeta() {
  TensorMeta tensor;
  const auto dtype = dtypeOfWord(in_.peekWord());
  if (!dtype) in_.expected("a tensor such as f32[2, 3]");
  in_.peek();
  const size_t start = in_.position();
  in_.word();
  tensor.dtype = *dtype;
  tensor.sizes = parseSizes();
  bool hasStrides = false;
  if (in_.accept('<')) {
    do {
      if (in_.acceptWord("strides")) {
        tensor.strides = parseSizes();
        hasStrides = true;
      } else if (in_.acceptWord("offset")) {
        tensor.storageOffset = parseSize(",>");
      } else if (in_.acceptWord("device")) {
        tensor.device = parseDeviceText();
      } else if (in_.acceptWord("layout")) {
        const auto layout = layoutOfWord(in_.peekWord());
        if (!layout) in_.expected("a layout such as sparse_coo");
        in_.word();
        tensor.layout = *layout;
      } else if (in_.acceptWord("grad")) {
        tensor.requiresGrad = true;
      } else {
        in_.expected("'strides', 'offset', 'device', 'layout' or 'grad'");
      }
    } while (in_.accept(','));
    in_.expect('>', "or ',' after what a tensor has more");
  }
  if (!hasStrides) {
    auto usual = usualStrides(tensor.sizes);
    if (!usual) in_.fail(start, "expected strides to be written for these sizes: f32[...]<strides [...]>");
    tensor.strides = std::move(*usual);
  }
  return tensor;
}

DeviceSpec ProgramParser::parseDeviceText() {
  in_.peek();
  const size_t start = in_.position();
  const std::string text = in_.string("a device");
  try {
    return parseDevice(text);
  } catch (const ParseError& error) {
    failFor(start, error);
  }
}

std::vector<SymInt> ProgramParser::parseSizes() {
  std::vector<SymInt> sizes;
  in_.expect('[', "before sizes or strides");
  while (!in_.accept(']')) {
    sizes.push_back(parseSize(",]"));
    if (in_.peek() != ']') in_.expect(',', "or ']' after a size");
  }
  return sizes;
}

// A number or an expression, up to one of `ends` or the parenthesis around it.
SymInt ProgramParser::parseSize(std::string_view ends) {
  in_.peek();
  const size_t start = in_.position();
  const std::string_view text = in_.raw(ends);
  if (!text.empty() && text.find_first_not_of("-0123456789") == std::string_view::npos) {
    in_.moveTo(start);
    return SymInt(in_.integer("a size"));
  }
  in_.moveTo(start);
  return SymInt(parseSymbolic(ends));
}

std::shared_ptr<const Symbolic> ProgramParser::parseSymbolic(std::string_view ends) {
  in_.peek();
  const size_t start = in_.position();
  if (in_.acceptWord("sym") && in_.next() == '(') {
    in_.accept('(');
    if (in_.peek() == '"') {
      const std::string text = in_.string("an expression");
      Symbolic symbolic{expressionAt(text, start, false), {}};
      if (in_.accept(',')) {
        in_.expectWord("hint");
        symbolic.hint = parseHint();
      }
      in_.expect(')', "at the end of 'sym('");
      return std::make_shared<const Symbolic>(std::move(symbolic));
    }
  }
  in_.moveTo(start);
  const std::string_view form = in_.raw(ends);
  if (form.empty()) in_.expected("a number or an expression");
  return symbolicOf(form, start);
}

std::shared_ptr<const Symbolic> ProgramParser::symbolicOf(std::string_view form, size_t position) {
  if (auto known = symbols_.find(form); known != symbols_.end()) return known->second;
  auto symbolic = std::make_shared<const Symbolic>(Symbolic{expressionAt(form, position, true), {}});
  return symbols_.emplace(form, std::move(symbolic)).first->second;
}

SymExpr ProgramParser::expressionAt(std::string_view text, size_t position, bool isForm) const {
  try {
    return isForm ? expressionOfForm(text) : SymExpr::parse(text);
  } catch (const ParseError& error) {
    failFor(position, error);
  }
}

SymHint ProgramParser::parseHint() {
  in_.peek();
  const size_t start = in_.position();
  const ConstantScalar scalar = parseScalar();
  if (const auto* number = std::get_if<int64_t>(&scalar)) return *number;
  if (const auto* flag = std::get_if<bool>(&scalar)) return *flag;
  if (const auto* real = std::get_if<double>(&scalar)) return *real;
  in_.fail(start, "expected a number, True or False");
}

}  // namespace edgefx::detail

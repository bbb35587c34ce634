#include "text/fx_value_reader.h"

#include <edgefx/ir/operators.h>
#include <edgefx/support/error.h>

#include "support/fail.h"
#include "support/utf8.h"
#include "text/cursor.h"
#include "text/text_words.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace edgefx::detail {
namespace {

bool isDigitIn(char c) {
  return c >= '0' && c <= '9';
}

// As the exporter names symbols: s77, u0, zuf3.
bool looksLikeSymbol(std::string_view word) {
  const size_t digits = word.find_first_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return false;
  const std::string_view letters = word.substr(0, digits);
  const bool isKnown =
      letters == "s" || letters == "u" || letters == "z" || letters == "zf" || letters == "zuf";
  return isKnown && std::ranges::all_of(word.substr(digits), isDigitIn);
}

// Whether the text is an expression over symbols.
bool isExpression(std::string_view text) {
  try {
    const std::vector<std::string> symbols = SymExpr::parse(text).symbols();
    return !symbols.empty() &&
           std::ranges::all_of(symbols, [](const std::string& s) { return looksLikeSymbol(s); });
  } catch (const ParseError&) {
    return false;
  }
}

bool looksLikeDevice(std::string_view text) {
  constexpr std::string_view kTypes[] = {"cpu", "cuda", "mps", "xpu", "xla", "meta", "hpu", "privateuseone"};
  const size_t colon = text.find(':');
  if (std::ranges::find(kTypes, text.substr(0, colon)) == std::end(kTypes)) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view index = text.substr(colon + 1);
  return !index.empty() && std::ranges::all_of(index, isDigitIn);
}

bool looksLikeOperator(std::string_view text) {
  size_t dots = 0;
  while (true) {
    const size_t dot = text.find('.');
    if (!isPlainWord(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return dots >= 1;
    ++dots;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

void FxValueReader::refuse(size_t at, std::string_view message) const {
  failAt(text_, fileName_, at, message);
}

bool FxValueReader::accept(std::string_view what) {
  if (!startsWith(what)) return false;
  at_ += what.size();
  return true;
}

void FxValueReader::expect(std::string_view what) {
  if (accept(what)) return;
  const bool isCut = at_ == end_;
  refuse(at_,
         fmt::format("expected '{}'{}", what,
                     isCut ? ", found the end of the line: a string without quotes may hold line ends" : ""));
}

void FxValueReader::expectEnd() {
  if (at_ != end_)
    refuse(at_, "expected the end of the line; a string without quotes may hold brackets or line ends");
}

std::string_view FxValueReader::argumentName(size_t index) const {
  if (!callee_) return {};
  const OperatorInfo* info = findOperator(*callee_);
  return info != nullptr && index < info->arguments.size() ? std::string_view(info->arguments[index].name)
                                                           : std::string_view();
}

FxValueReader::Arguments FxValueReader::callArguments() {
  Arguments arguments;
  expect("(args = (");
  items(Style::Fx, ')', true, {}, 1);
  arguments.numArgs = stack_.size();
  expect(", kwargs = {");
  for (bool isDone = accept("}"); !isDone;) {
    const size_t start = at_;
    const size_t colon = text_.substr(0, end_).find(": ", at_);
    if (colon == std::string_view::npos) refuse(start, "expected the name of a keyword argument and ': '");
    const std::string_view key = text_.substr(at_, colon - at_);
    if (!isPlainWord(key)) {
      refuse(start, "expected the name of a keyword argument; a string without quotes may hold commas");
    }
    at_ = colon + 2;
    stack_.push_back(builder_.arguments().key(key));
    Place place{key};
    const Argument held = value(Style::Fx, place, 1);
    stack_.push_back(held);
    ++arguments.numKwargs;
    isDone = accept("}");
    if (!isDone) expect(", ");
  }
  expect(")");
  expectEnd();
  const size_t count = stack_.size();
  if (count != 0) {
    arguments.first = builder_.arguments().allocate(count);
    std::ranges::copy(stack_, arguments.first);
  }
  return arguments;
}

Argument FxValueReader::standalone() {
  // Python's str() puts no quotes around a string that is all there is.
  const size_t start = at_;
  const bool isOpen = startsWith("(") || startsWith("[") || startsWith("{");
  Place place;
  if (isOpen || startsWith("slice(") || startsWith("range(")) return value(Style::Repr, place, 0);
  const std::string_view text = text_.substr(at_, end_ - at_);
  if (isPlainWord(text) && graph_.find(text) == nullptr && !looksLikeSymbol(text)) {
    Argument common;
    if (!commonWord(text, common))
      refuse(start, "expected a node of this graph; a string that is all of a value cannot be told from one");
  }
  return value(Style::Repr, place, 0);
}

Argument FxValueReader::take(ArgumentKind kind, size_t base, size_t count) {
  Argument* items = nullptr;
  if (const size_t held = stack_.size() - base; held != 0) {
    items = builder_.arguments().allocate(held);
    std::copy_n(stack_.begin() + static_cast<std::ptrdiff_t>(base), held, items);
    stack_.resize(base);
  }
  return ArgumentWriter::makeItems(kind, items, count);
}

// Up to the closing bracket, onto the stack.
void FxValueReader::items(Style style, char close, bool areArguments, const Place& outer, int depth) {
  const std::string_view end(&close, 1);
  bool wasBareString = false;
  if (accept(end)) return;
  for (size_t i = 0;; ++i) {
    const size_t start = at_;
    Place place{areArguments ? argumentName(i) : outer.name};
    const Argument item = value(style, place, depth);
    stack_.push_back(item);
    if (place.isBareString && wasBareString)
      refuse(start, "two strings without quotes beside each other: they could be one that holds a comma");
    wasBareString = place.isBareString;
    if (accept(end) || (close == ')' && i == 0 && accept(",)"))) return;
    expect(", ");
  }
}

Argument FxValueReader::list(Style style, char close, ArgumentKind kind, const Place& place, int depth) {
  const size_t base = stack_.size();
  items(style, close, false, place, depth + 1);
  return take(kind, base, stack_.size() - base);
}

Argument FxValueReader::dict(Style style, int depth) {
  const size_t base = stack_.size();
  for (bool isDone = accept("}"); !isDone;) {
    if (style == Style::Repr) {
      const Argument key = quoted();
      stack_.push_back(key);
      expect(": ");
    } else {
      const size_t start = at_;
      const size_t colon = text_.substr(0, end_).find(": ", at_);
      const std::string_view key =
          colon == std::string_view::npos ? std::string_view() : text_.substr(at_, colon - at_);
      if (key.find_first_of(",()[]{}%") != std::string_view::npos || key.empty())
        refuse(start, "expected a key and ': '");
      stack_.push_back(builder_.arguments().key(key));
      at_ = colon + 2;
    }
    Place place;
    const Argument held = value(style, place, depth + 1);
    stack_.push_back(held);
    isDone = accept("}");
    if (!isDone) expect(", ");
  }
  return take(ArgumentKind::Dict, base, (stack_.size() - base) / 2);
}

Argument FxValueReader::three(ArgumentKind kind, int depth) {
  const size_t start = at_;
  const size_t base = stack_.size();
  items(Style::Repr, ')', false, {}, depth + 1);
  if (kind == ArgumentKind::Range && stack_.size() - base == 2) stack_.push_back(ArgumentWriter::makeInt(1));
  if (stack_.size() - base != 3) refuse(start, "expected start, stop and step");
  return take(kind, base, 3);
}

Argument FxValueReader::value(Style style, Place& place, int depth) {
  if (depth > kDeepestText) refuse(at_, fmt::format("arguments nested deeper than {} levels", kDeepestText));
  const size_t start = at_;
  const char first = at_ < end_ ? text_[at_] : '\0';
  switch (first) {
    case '[':
      ++at_;
      return list(style, ']', ArgumentKind::List, place, depth);
    case '{':
      ++at_;
      return dict(style, depth);
    case '(': {
      // "(1+2j)" is a number.
      const size_t close = text_.substr(0, end_).find(')', at_);
      Argument complex;
      if (close != std::string_view::npos && number(text_.substr(at_, close + 1 - at_), complex)) {
        at_ = close + 1;
        return complex;
      }
      ++at_;
      return list(style, ')', ArgumentKind::Tuple, place, depth);
    }
    case '\'':
    case '"':
      if (style == Style::Repr) return quoted();
      refuse(start,
             "a string without quotes that begins with one cannot be told from what Python would write");
    case '%': {
      if (style == Style::Repr) refuse(start, "expected no '%' in a slice, range or returned value");
      ++at_;
      const std::string_view name = bare();
      Node* node = graph_.find(name);
      if (node == nullptr)
        refuse(start, fmt::format("expected a node of this graph above, found '%{}'", name));
      return ArgumentWriter::makeNode(*node);
    }
    default:
      break;
  }
  if (accept("slice(")) return three(ArgumentKind::Slice, depth);
  if (accept("range(")) return three(ArgumentKind::Range, depth);
  if (style == Style::Repr && startsWith("device(")) return deviceRepr();
  if (style == Style::Repr && startsWith("<OpOverload(")) return operatorRepr();
  return word(style, place);
}

// Up to a comma and a blank, or a closing bracket.
std::string_view FxValueReader::bare() {
  const size_t start = at_;
  int depth = 0;
  while (at_ < end_) {
    const char c = text_[at_];
    if (c == '(') ++depth;
    if ((c == ')' && depth-- == 0) || (depth == 0 && (c == ']' || c == '}'))) break;
    if (c == ',' && depth == 0 && at_ + 1 < end_ && (text_[at_ + 1] == ' ' || text_[at_ + 1] == ')')) break;
    ++at_;
  }
  return text_.substr(start, at_ - start);
}

Argument FxValueReader::word(Style style, Place& place) {
  const size_t start = at_;
  const std::string_view text = bare();
  if (text.empty()) refuse(start, "expected an argument; an empty string cannot be told from nothing");
  return style == Style::Repr ? reprWord(text, start) : fxWord(text, start, place);
}

// What is the same in both styles.
bool FxValueReader::commonWord(std::string_view text, Argument& out) {
  const auto enumerator = [&out](ArgumentKind kind, auto held) {
    out = ArgumentWriter::makeNumber(kind, static_cast<int64_t>(held));
    return true;
  };
  if (text == "None") return true;
  if (text == "True" || text == "False") {
    out = ArgumentWriter::makeBool(text == "True");
    return true;
  }
  if (text == "Ellipsis") return enumerator(ArgumentKind::Ellipsis, 0);
  if (number(text, out)) return true;
  if (!text.starts_with("torch.")) return false;
  if (auto dtype = dtypeFromFxText(text)) return enumerator(ArgumentKind::Dtype, *dtype);
  if (auto layout = layoutFromFxText(text)) return enumerator(ArgumentKind::Layout, *layout);
  if (auto format = memoryFormatFromFxText(text)) return enumerator(ArgumentKind::MemoryFormat, *format);
  return false;
}

// Integers, floats, "1j" and "(1+2j)", just as Python writes them.
bool FxValueReader::number(std::string_view text, Argument& out) {
  const auto real = [](std::string_view digits, double& held) {
    const bool isNegative = digits.starts_with('-');
    const std::string_view plain = digits.substr(isNegative ? 1 : 0);
    if (plain == "inf" || (plain == "nan" && !isNegative)) {
      held = plain == "nan" ? std::numeric_limits<double>::quiet_NaN()
                            : (isNegative ? -1 : 1) * std::numeric_limits<double>::infinity();
      return true;
    }
    if (plain.empty() || !isDigitIn(plain.front())) return false;
    const auto [read, error] = std::from_chars(digits.data(), digits.data() + digits.size(), held);
    return error == std::errc() && read == digits.data() + digits.size();
  };
  int64_t whole = 0;
  const auto [read, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  if (error == std::errc() && read == text.data() + text.size()) {
    out = ArgumentWriter::makeInt(whole);
    return true;
  }
  double held = 0;
  if (real(text, held) && text.find_first_not_of("-0123456789") != std::string_view::npos) {
    out = ArgumentWriter::makeFloat(held);
    return true;
  }
  if (text.ends_with("j") && real(text.substr(0, text.size() - 1), held)) {
    out = builder_.arguments().makeComplex(0, held);
    return true;
  }
  if (!text.starts_with('(') || !text.ends_with("j)")) return false;
  const std::string_view inside = text.substr(1, text.size() - 3);
  // The sign between the parts is the last one that belongs to no exponent.
  for (size_t i = inside.size(); i-- > 1;) {
    if ((inside[i] != '+' && inside[i] != '-') || inside[i - 1] == 'e') continue;
    double imaginary = 0;
    const std::string_view second = inside.substr(inside[i] == '+' ? i + 1 : i);
    if (!real(inside.substr(0, i), held) || !real(second, imaginary)) return false;
    out = builder_.arguments().makeComplex(held, imaginary);
    return true;
  }
  return false;
}

// Strings have quotes here: a word is a node, a constant or an expression.
Argument FxValueReader::reprWord(std::string_view text, size_t start) {
  Node* node = isPlainWord(text) ? graph_.find(text) : nullptr;
  Argument common;
  const bool isCommon = commonWord(text, common);
  if (node != nullptr && isCommon)
    refuse(start, fmt::format("'{}' could be the node of this name or a constant", text));
  if (node != nullptr) return ArgumentWriter::makeNode(*node);
  if (isCommon) return common;
  if (isExpression(text)) return builder_.arguments().makeSymbolic(expressionOfForm(text));
  refuse(start,
         fmt::format("expected a node of this graph above, a constant, a string in quotes or an expression "
                     "over symbols, found '{}'",
                     text));
}

// Strings have no quotes here.
Argument FxValueReader::fxWord(std::string_view text, size_t start, Place& place) {
  Argument common;
  if (commonWord(text, common)) return common;
  const auto string = [&] {
    place.isBareString = true;
    return builder_.arguments().makeText(ArgumentKind::String, text);
  };
  if (looksLikeDevice(text)) {
    if (place.name == "device") return builder_.arguments().makeText(ArgumentKind::Device, text);
    if (place.name.empty()) refuse(start, fmt::format("'{}' could be a device or a string", text));
    return string();
  }
  if (looksLikeOperator(text)) {
    const bool inHigherOrder = callee_ && callee_->kind() == TargetKind::HigherOrder;
    const Target target(text);
    if (inHigherOrder || findOperator(target) != nullptr) return ArgumentWriter::makeOperator(target);
    refuse(start, fmt::format("'{}' could be an operator or a string", text));
  }
  if (isExpression(text))
    refuse(start, fmt::format("'{}' could be an expression over symbols or a string", text));
  if (text.find_first_of("()[]{}%") != std::string_view::npos)
    refuse(start, fmt::format("'{}' holds brackets: where a string without quotes ends is not known", text));
  return string();
}

// repr() of a string.
Argument FxValueReader::quoted() {
  const size_t start = at_;
  const char quote = at_ < end_ ? text_[at_] : '\0';
  if (quote != '\'' && quote != '"') refuse(start, "expected a string in quotes");
  std::string out;
  for (++at_; at_ < end_; ++at_) {
    const char c = text_[at_];
    if (c == quote) {
      ++at_;
      return builder_.arguments().makeText(ArgumentKind::String, out);
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    const char escape = ++at_ < end_ ? text_[at_] : '\0';
    const size_t digits = escape == 'x' ? 2 : escape == 'u' ? 4 : escape == 'U' ? 8 : 0;
    if (escape == 'n' || escape == 't' || escape == 'r') {
      out += escape == 'n' ? '\n' : escape == 't' ? '\t' : '\r';
    } else if (escape == '\\' || escape == '\'' || escape == '"') {
      out += escape;
    } else {
      uint32_t code = 0;
      const char* const first = text_.data() + at_ + 1;
      const bool fits = digits != 0 && end_ - at_ > digits;
      if (!fits || std::from_chars(first, first + digits, code, 16).ptr != first + digits ||
          !appendUtf8(out, code))
        refuse(at_ - 1, "expected an escape as Python writes it");
      at_ += digits;
    }
  }
  refuse(start, "expected the string to end on its line");
}

// device(type='cuda', index=1)
Argument FxValueReader::deviceRepr() {
  expect("device(type=");
  std::string device(quoted().asString());
  if (accept(", index=")) {
    device += ':';
    device += bare();
  }
  expect(")");
  return builder_.arguments().makeText(ArgumentKind::Device, device);
}

// <OpOverload(op='aten.add', overload='Tensor')>
Argument FxValueReader::operatorRepr() {
  const size_t start = at_;
  expect("<OpOverload(op=");
  std::string name(quoted().asString());
  expect(", overload=");
  name += '.';
  name += quoted().asString();
  expect(")>");
  try {
    return ArgumentWriter::makeOperator(Target(name));
  } catch (const UsageError& error) {
    refuse(start, error.diagnostics().front().message);
  }
}

}  // namespace edgefx::detail

#include <edgefx/ir/sym_expr.h>

#include "ir/sym_builder.h"
#include "support/fail.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>

namespace edgefx {
namespace {

using detail::fail;
using detail::SymBuilder;
using detail::SymTree;

bool haveSameAssumptions(std::string_view a, std::string_view b) {
  if (a == b || a.empty() || b.empty()) return true;
  if (a.size() != b.size()) return false;
  // The same ones in another order: keys are distinct, so each of `a` must be somewhere in `b`.
  constexpr std::string_view kSeparator = ", ";
  const auto takeFirst = [kSeparator](std::string_view& list) {
    const std::string_view item = list.substr(0, list.find(kSeparator));
    list.remove_prefix(std::min(list.size(), item.size() + kSeparator.size()));
    return item;
  };
  while (!a.empty()) {
    const std::string_view wanted = takeFirst(a);
    std::string_view rest = b;
    bool isFound = false;
    while (!isFound && !rest.empty()) isFound = takeFirst(rest) == wanted;
    if (!isFound) return false;
  }
  return true;
}

void appendInteger(std::string& out, int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void appendQuoted(std::string& out, std::string_view text) {
  const char quote = text.find('\'') == std::string_view::npos ? '\'' : '"';
  out.append(1, quote).append(text).append(1, quote);
}

void collectSymbols(const SymNode& node, std::unordered_set<std::string_view>& seen,
                    std::vector<std::string>& names) {
  if (node.kind() == SymKind::Symbol && seen.insert(node.name()).second) names.emplace_back(node.name());
  for (const SymNode& arg : node.args()) collectSymbols(arg, seen, names);
}

}  // namespace

void detail::appendSrepr(std::string& out, const SymNode& node) {
  switch (node.kind()) {
    case SymKind::Integer:
      out.append("Integer(");
      appendInteger(out, node.integerValue());
      out.append(")");
      return;
    case SymKind::Rational:
      out.append("Rational(");
      appendInteger(out, node.numerator());
      out.append(", ");
      appendInteger(out, node.denominator());
      out.append(")");
      return;
    case SymKind::Float:
      out.append("Float(");
      appendQuoted(out, node.name());
      out.append(", precision=");
      appendInteger(out, SymBuilder::precision(node));
      out.append(")");
      return;
    case SymKind::Boolean:
      out.append(node.booleanValue() ? "true" : "false");
      return;
    case SymKind::Constant:
      out.append(node.name());
      return;
    case SymKind::Symbol:
      out.append("Symbol(");
      appendQuoted(out, node.name());
      if (!node.assumptions().empty()) out.append(", ").append(node.assumptions());
      out.append(")");
      return;
    case SymKind::Call:
      out.append(node.name()).append("(");
      for (const SymNode& arg : node.args()) {
        if (&arg != node.args().data()) out.append(", ");
        appendSrepr(out, arg);
      }
      out.append(")");
      return;
  }
}

std::string_view SymNode::assumptions() const {
  return kind_ == SymKind::Symbol ? std::string_view(assumptions_, count_) : std::string_view();
}

int64_t SymNode::integerValue() const {
  if (kind_ != SymKind::Integer) fail<UsageError>("expected a symbolic expression that is an integer");
  return value_;
}

bool SymNode::booleanValue() const {
  if (kind_ != SymKind::Boolean) fail<UsageError>("expected a symbolic expression that is true or false");
  return value_ != 0;
}

int64_t SymNode::numerator() const {
  return kind_ == SymKind::Rational ? args_[0].integerValue() : integerValue();
}

int64_t SymNode::denominator() const {
  if (kind_ == SymKind::Rational) return args_[1].integerValue();
  static_cast<void>(integerValue());  // throws if this is no integer
  return 1;
}

double SymNode::floatValue() const {
  if (kind_ != SymKind::Float) return static_cast<double>(numerator()) / static_cast<double>(denominator());
  double value = 0;
  const char* const end = name_.data() + name_.size();
  const auto [parsedEnd, error] = std::from_chars(name_.data(), end, value);
  if (error != std::errc() || parsedEnd != end)
    fail<UsageError>("expected a decimal number, found '{}'", name_);
  return value;
}

bool operator==(const SymNode& a, const SymNode& b) {
  if (&a == &b) return true;
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case SymKind::Integer:
    case SymKind::Boolean:
      return a.value_ == b.value_;
    case SymKind::Rational:
      return a.numerator() == b.numerator() && a.denominator() == b.denominator();
    case SymKind::Float:
      return a.name_ == b.name_ && a.count_ == b.count_;
    case SymKind::Constant:
      return a.name_ == b.name_;
    case SymKind::Symbol:
      return a.name_ == b.name_ && haveSameAssumptions(a.assumptions(), b.assumptions());
    case SymKind::Call:
      return a.function_ == b.function_ && a.depth_ == b.depth_ && a.name_ == b.name_ &&
             std::equal(a.args().begin(), a.args().end(), b.args().begin(), b.args().end());
  }
  return false;
}

SymExpr SymExpr::parse(std::string_view text) {
  auto tree = std::make_shared<SymTree>();
  tree->text = text;
  detail::parseSymExpr(*tree);
  return SymExpr(std::move(tree));
}

SymExpr SymExpr::integer(int64_t value) {
  auto tree = std::make_shared<SymTree>();
  tree->root = SymBuilder::integer(value);
  detail::appendSrepr(tree->text, tree->root);
  return SymExpr(std::move(tree));
}

SymExpr SymExpr::symbol(std::string_view name, std::string_view assumptions) {
  std::string text = "Symbol('";
  text.append(name).append("'");
  if (!assumptions.empty()) text.append(", ").append(assumptions);
  SymExpr symbol = parse(text + ")");
  if (symbol.kind() != SymKind::Symbol || symbol.name() != name ||
      symbol.root().assumptions() != assumptions) {
    fail<ParseError>("expected the name and the assumptions of one symbol, found '{}' and '{}'", name,
                     assumptions);
  }
  return symbol;
}

const SymNode& SymExpr::root() const {
  return tree_->root;
}

const std::string& SymExpr::text() const {
  return tree_->text;
}

std::string SymExpr::srepr() const {
  std::string out;
  detail::appendSrepr(out, root());
  return out;
}

std::vector<std::string> SymExpr::symbols() const {
  std::unordered_set<std::string_view> seen;
  std::vector<std::string> names;
  collectSymbols(root(), seen, names);
  return names;
}

}  // namespace edgefx

#include "ir/sym_builder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

namespace edgefx::detail {
namespace {

constexpr SymFunctionInfo kOtherFunction = {"", SymFunction::Other, 70, 0, 0};

// In the order of SymFunction, from Add on.
constexpr SymFunctionInfo kFunctions[] = {
    {"Add", SymFunction::Add, 40, 1, 0},
    {"Mul", SymFunction::Mul, 50, 1, 0},
    {"Pow", SymFunction::Pow, 60, 2, 2},
    {"Max", SymFunction::Max, 1000, 0, 0},
    {"Min", SymFunction::Min, 1000, 0, 0},
    {"Mod", SymFunction::Mod, 35, 2, 2},
    {"Equality", SymFunction::Equal, 50, 2, 2},
    {"Unequality", SymFunction::NotEqual, 50, 2, 2},
    {"LessThan", SymFunction::LessEqual, 35, 2, 2},
    {"GreaterThan", SymFunction::GreaterEqual, 35, 2, 2},
    {"StrictLessThan", SymFunction::Less, 35, 2, 2},
    {"StrictGreaterThan", SymFunction::Greater, 35, 2, 2},
    {"And", SymFunction::And, 30, 1, 0},
    {"Or", SymFunction::Or, 20, 1, 0},
    {"Xor", SymFunction::Xor, 10, 1, 0},
    {"Not", SymFunction::Not, 100, 1, 1},
    {"FloorDiv", SymFunction::FloorDiv, 35, 2, 2},
    {"PythonMod", SymFunction::PythonMod, 35, 2, 2},
    {"ModularIndexing", SymFunction::ModularIndexing, 35, 3, 3},
    {"CleanDiv", SymFunction::CleanDiv, 35, 2, 2},
    {"CeilDiv", SymFunction::CeilDiv, 70, 2, 2},
    {"IntTrueDiv", SymFunction::IntTrueDiv, 35, 2, 2},
    {"FloatTrueDiv", SymFunction::FloatTrueDiv, 35, 2, 2},
    {"ToFloat", SymFunction::ToFloat, 70, 1, 1},
    {"CeilToInt", SymFunction::CeilToInt, 70, 1, 1},
    {"FloorToInt", SymFunction::FloorToInt, 70, 1, 1},
    {"TruncToInt", SymFunction::TruncToInt, 70, 1, 1},
    {"TruncToFloat", SymFunction::TruncToFloat, 70, 1, 1},
    {"RoundToInt", SymFunction::RoundToInt, 70, 1, 1},
    {"RoundDecimal", SymFunction::RoundDecimal, 70, 2, 2},
    {"PowByNatural", SymFunction::PowByNatural, 50, 2, 2},
    {"FloatPow", SymFunction::FloatPow, 60, 2, 2},
    {"LShift", SymFunction::LShift, 70, 2, 2},
    {"RShift", SymFunction::RShift, 70, 2, 2},
    {"Where", SymFunction::Where, 35, 3, 3},
    {"Identity", SymFunction::Identity, 10, 1, 1},
    {"IsNonOverlappingAndDenseIndicator", SymFunction::IsNonOverlappingAndDenseIndicator, 70, 0, 0},
    {"Piecewise", SymFunction::Piecewise, 70, 1, 0},
    {"ExprCondPair", SymFunction::ExprCondPair, 1000, 2, 2},
};

// Python's names for what sympy's constructors call otherwise.
std::string_view constructorName(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"Eq", "Equality"},    {"Ne", "Unequality"},     {"Le", "LessThan"},
      {"Ge", "GreaterThan"}, {"Lt", "StrictLessThan"}, {"Gt", "StrictGreaterThan"},
  };
  for (const auto& [alias, full] : kAliases) {
    if (name == alias) return full;
  }
  return name;
}

struct SymbolPower {
  std::string_view name;
  int64_t exponent;
};

bool readSymbolPower(const SymNode& node, SymbolPower& power) {
  if (node.kind() == SymKind::Symbol) {
    power = {node.name(), 1};
    return true;
  }
  if (node.function() != SymFunction::Pow) return false;
  const SymNode& base = node.args()[0];
  const SymNode& exponent = node.args()[1];
  if (base.kind() != SymKind::Symbol || exponent.kind() != SymKind::Integer) return false;
  power = {base.name(), exponent.integerValue()};
  return true;
}

// The symbols of a term, ordered by name; false if the term is no number times positive powers of distinct
// symbols.
bool readMonomial(const SymNode& term, std::vector<SymbolPower>& powers) {
  powers.clear();
  if (isSymNumber(term)) return true;
  std::span<const SymNode> factors(&term, 1);
  if (term.function() == SymFunction::Mul) factors = readSymProduct(term).factors;
  for (const SymNode& factor : factors) {
    SymbolPower power{};
    if (!readSymbolPower(factor, power) || power.exponent <= 0) return false;
    powers.push_back(power);
  }
  std::sort(powers.begin(), powers.end(),
            [](const SymbolPower& a, const SymbolPower& b) { return a.name < b.name; });
  return std::adjacent_find(powers.begin(), powers.end(), [](const SymbolPower& a, const SymbolPower& b) {
           return a.name == b.name;
         }) == powers.end();
}

// Lexicographic order of exponent vectors over all symbols by name, higher exponents first.
bool isMonomialBefore(std::span<const SymbolPower> a, std::span<const SymbolPower> b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (a[i].name != b[i].name) return a[i].name < b[i].name;
    if (a[i].exponent != b[i].exponent) return a[i].exponent > b[i].exponent;
  }
  return a.size() > b.size();
}

// sympy keeps "1 - x" in that order, though "x + 1" has the number last.
bool isNumberMinusMultiple(const SymNode& number, const SymNode& product) {
  if (!isSymNumber(number) || isNegativeSymNumber(number) || product.function() != SymFunction::Mul)
    return false;
  const SymProduct parts = readSymProduct(product);
  return parts.isNegative && parts.factors.size() == 1;
}

}  // namespace

const SymFunctionInfo* findSymFunction(std::string_view name) {
  const std::string_view fullName = constructorName(name);
  for (const SymFunctionInfo& info : kFunctions) {
    if (info.name == fullName) return &info;
  }
  return nullptr;
}

const SymFunctionInfo& symFunctionInfo(SymFunction function) {
  return function == SymFunction::Other ? kOtherFunction : kFunctions[static_cast<size_t>(function) - 1];
}

SymNode SymBuilder::integer(int64_t value) {
  SymNode node;
  node.kind_ = SymKind::Integer;
  node.value_ = value;
  return node;
}

SymNode SymBuilder::boolean(bool value) {
  SymNode node;
  node.kind_ = SymKind::Boolean;
  node.value_ = value ? 1 : 0;
  return node;
}

SymNode SymBuilder::constant(std::string_view name) {
  SymNode node;
  node.kind_ = SymKind::Constant;
  node.name_ = name;
  return node;
}

SymNode SymBuilder::symbol(std::string_view name, std::string_view assumptions) {
  SymNode node;
  node.kind_ = SymKind::Symbol;
  node.name_ = name;
  node.assumptions_ = assumptions.data();
  node.count_ = static_cast<uint32_t>(assumptions.size());
  return node;
}

SymNode SymBuilder::floating(std::string_view digits, uint32_t precision) {
  SymNode node;
  node.kind_ = SymKind::Float;
  node.name_ = digits;
  node.count_ = precision;
  return node;
}

SymNode SymBuilder::floating(double value) {
  return floating(copyText(symFloatText(value, std::numeric_limits<double>::max_digits10, true)),
                  kDoublePrecision);
}

SymNode SymBuilder::rational(int64_t numerator, int64_t denominator) {
  const SymNode parts[] = {integer(numerator), integer(denominator)};
  SymNode node;
  node.kind_ = SymKind::Rational;
  node.args_ = copyNodes(parts);
  node.count_ = 2;
  return node;
}

SymNode SymBuilder::reducedRational(int64_t numerator, int64_t denominator) {
  return denominator == 1 ? integer(numerator) : rational(numerator, denominator);
}

SymNode SymBuilder::call(const SymFunctionInfo& info, std::span<const SymNode> args) {
  SymNode node = otherCall(info.name, args);
  node.function_ = info.function;
  return node;
}

SymNode SymBuilder::otherCall(std::string_view name, std::span<const SymNode> args) {
  SymNode node;
  node.kind_ = SymKind::Call;
  node.name_ = name;
  node.args_ = copyNodes(args);
  node.count_ = static_cast<uint32_t>(args.size());
  for (const SymNode& arg : args) {
    node.depth_ = std::max(node.depth_, static_cast<uint16_t>(arg.depth_ + 1));
  }
  return node;
}

SymNode SymBuilder::negate(const SymNode& node) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  if (node.kind() == SymKind::Integer && node.integerValue() != kMin) return integer(-node.integerValue());
  if (node.kind() == SymKind::Rational && node.numerator() != kMin) {
    return rational(-node.numerator(), node.denominator());
  }
  if (node.kind() == SymKind::Float) {
    const std::string_view digits = node.name();
    return floating(digits.starts_with('-') ? digits.substr(1) : copyText("-" + std::string(digits)),
                    node.count_);
  }
  if (node.kind() == SymKind::Constant) {
    if (node.name() == "oo") return constant("-oo");
    if (node.name() == "-oo") return constant("oo");
    if (node.name() == "int_oo") return constant("-int_oo");
    if (node.name() == "-int_oo") return constant("int_oo");
  }
  std::vector<SymNode> product;
  if (node.function() != SymFunction::Mul) {
    product = {integer(-1), node};
    return call(SymFunction::Mul, product);
  }
  const SymProduct parts = readSymProduct(node);
  if (!parts.isNegative) product.push_back(integer(-1));
  if (parts.number != nullptr)
    product.push_back(isNegativeSymNumber(*parts.number) ? negate(*parts.number) : *parts.number);
  product.insert(product.end(), parts.factors.begin(), parts.factors.end());
  return product.size() == 1 ? product.front() : call(SymFunction::Mul, product);
}

std::string_view SymBuilder::copyText(std::string_view text) {
  if (text.empty()) return {};
  auto* const copy = static_cast<char*>(arena_->allocate(text.size(), 1));
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

const SymNode* SymBuilder::copyNodes(std::span<const SymNode> nodes) {
  if (nodes.empty()) return nullptr;
  void* const memory = arena_->allocate(nodes.size_bytes(), alignof(SymNode));
  auto* const copy = static_cast<SymNode*>(memory);
  std::uninitialized_copy(nodes.begin(), nodes.end(), copy);
  return copy;
}

bool isSymNumber(const SymNode& node) {
  return node.kind() == SymKind::Integer || node.kind() == SymKind::Rational || node.kind() == SymKind::Float;
}

bool isNegativeSymNumber(const SymNode& node) {
  if (node.kind() == SymKind::Float) return node.name().starts_with('-');
  return isSymNumber(node) && node.numerator() < 0;
}

SymProduct readSymProduct(const SymNode& mul) {
  SymProduct product;
  product.factors = mul.args();
  const auto hasLeadingNumber = [&product] {
    return product.factors.size() > 1 && isSymNumber(product.factors.front());
  };
  const SymNode& first = product.factors.front();
  if (hasLeadingNumber() && first.kind() == SymKind::Integer && first.integerValue() == -1) {
    product.isNegative = true;
    product.factors = product.factors.subspan(1);
    if (isNegativeSymNumber(product.factors.front())) return product;
  }
  if (hasLeadingNumber()) {
    product.number = &product.factors.front();
    product.factors = product.factors.subspan(1);
    if (isNegativeSymNumber(*product.number)) product.isNegative = true;
  }
  return product;
}

void sortSymTerms(std::span<SymNode> terms) {
  struct Entry {
    SymNode term;
    size_t first;
    size_t size;
  };
  std::vector<Entry> entries;
  std::vector<SymbolPower> powers;
  std::vector<SymbolPower> monomial;
  for (const SymNode& term : terms) {
    if (!readMonomial(term, monomial)) return;
    entries.push_back({term, powers.size(), monomial.size()});
    powers.insert(powers.end(), monomial.begin(), monomial.end());
  }
  const auto monomialOf = [&powers](const Entry& entry) {
    return std::span<const SymbolPower>(powers).subspan(entry.first, entry.size);
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return isMonomialBefore(monomialOf(a), monomialOf(b));
  });
  if (entries.size() == 2 && isNumberMinusMultiple(entries[1].term, entries[0].term)) {
    std::swap(entries[0], entries[1]);
  }
  std::transform(entries.begin(), entries.end(), terms.begin(), [](const Entry& e) { return e.term; });
}

void sortSymFactors(std::span<SymNode> factors) {
  while (!factors.empty() && isSymNumber(factors.front())) factors = factors.subspan(1);
  SymbolPower power{};
  for (const SymNode& factor : factors) {
    if (!readSymbolPower(factor, power)) return;
  }
  std::stable_sort(factors.begin(), factors.end(), [](const SymNode& a, const SymNode& b) {
    SymbolPower left{};
    SymbolPower right{};
    readSymbolPower(a, left);
    readSymbolPower(b, right);
    return left.name != right.name ? left.name < right.name : left.exponent < right.exponent;
  });
}

std::string symFloatText(double value, int digits, bool stripZeros) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0.0";
  // "-d.ddde±XX"
  char scientific[64];
  const char* const end = std::to_chars(scientific, scientific + sizeof scientific, std::abs(value),
                                        std::chars_format::scientific, digits - 1)
                              .ptr;
  const char* const mark = std::find(static_cast<const char*>(scientific), end, 'e');
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);

  std::string decimals(1, scientific[0]);
  if (digits > 1) decimals.append(static_cast<const char*>(scientific) + 2, mark);
  size_t whole = 1;
  const bool isFixed = exponent > std::min(-(digits / 3), -5) && exponent < digits;
  if (isFixed) {
    if (exponent < 0) {
      decimals.insert(0, static_cast<size_t>(-exponent), '0');
    } else {
      whole = static_cast<size_t>(exponent) + 1;
    }
  }
  decimals.insert(whole, 1, '.');
  if (stripZeros) {
    decimals.erase(decimals.find_last_not_of('0') + 1);
    if (decimals.back() == '.') decimals += '0';
  }
  if (value < 0) decimals.insert(0, 1, '-');
  if (!isFixed) decimals += (exponent < 0 ? "e" : "e+") + std::to_string(exponent);
  return decimals;
}

}  // namespace edgefx::detail

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

namespace detail {
class SymBuilder;
struct SymTree;
}  // namespace detail

enum class SymKind : uint8_t {
  Integer,
  Rational,
  Float,
  Boolean,
  Constant,  // a named number: oo, -oo, int_oo, -int_oo, zoo, nan, pi, E, I
  Symbol,
  Call,
};

// What a Call computes. Other is a function edgefx does not know; it is kept by name.
enum class SymFunction : uint8_t {
  Other,
  Add,
  Mul,
  Pow,
  Max,
  Min,
  Mod,
  Equal,
  NotEqual,
  LessEqual,
  GreaterEqual,
  Less,
  Greater,
  And,
  Or,
  Xor,
  Not,
  FloorDiv,
  PythonMod,
  ModularIndexing,
  CleanDiv,
  CeilDiv,
  IntTrueDiv,
  FloatTrueDiv,
  ToFloat,
  CeilToInt,
  FloorToInt,
  TruncToInt,
  TruncToFloat,
  RoundToInt,
  RoundDecimal,
  PowByNatural,
  FloatPow,
  LShift,
  RShift,
  Where,
  Identity,
  IsNonOverlappingAndDenseIndicator,
  Piecewise,
  ExprCondPair,  // one (value, condition) of a Piecewise
};

// A leaf or an operation of an expression. Belongs to a SymExpr and is valid as long as that, or a copy of
// it, lives.
class SymNode {
 public:
  SymKind kind() const { return kind_; }
  SymFunction function() const { return function_; }  // Other if this is no Call

  // The operands of a Call; empty for every other kind.
  std::span<const SymNode> args() const {
    return kind_ == SymKind::Call ? std::span<const SymNode>(args_, count_) : std::span<const SymNode>();
  }

  // Symbol and Constant: its name. Call: sympy's class name, such as "StrictLessThan". Float: its decimal
  // digits.
  std::string_view name() const { return name_; }

  // Symbol: what is assumed of it, in constructor form ("positive=True, integer=True"), empty if not known.
  std::string_view assumptions() const;

  // These throw UsageError if the kind is another.
  int64_t integerValue() const;  // Integer
  bool booleanValue() const;     // Boolean
  int64_t numerator() const;     // Rational, Integer
  int64_t denominator() const;   // Rational, Integer; positive
  double floatValue() const;     // Float, Rational, Integer; rounded

  // Same structure; symbols by name, and by assumptions where both have some. Linear.
  friend bool operator==(const SymNode& a, const SymNode& b);

 private:
  friend class detail::SymBuilder;

  std::string_view name_;
  union {
    const SymNode* args_ = nullptr;  // Call; Rational: numerator and denominator
    int64_t value_;                  // Integer, Boolean
    const char* assumptions_;        // Symbol
  };
  uint32_t count_ = 0;  // of args; Symbol: bytes of the assumptions; Float: precision in bits
  SymKind kind_ = SymKind::Integer;
  SymFunction function_ = SymFunction::Other;
  uint16_t depth_ = 1;
};

// A symbolic size, number or condition, together with the text it came from. Immutable: a copy is a pointer,
// and copies may be used from several threads.
class SymExpr {
 public:
  // Reads sympy's constructor form ("Mul(Integer(2), Symbol('s77', positive=True, integer=True))") or
  // Python's expression form ("2*s77", "(s0//2)", "Eq(s0, 3)", "(u0 > 1) & (s0 < 3)"). Nothing is simplified,
  // save that in the expression form sums and products of plain symbols are put in sympy's order and numeric
  // factors are collected. Throws ParseError naming the text and the column for anything else, for integers
  // beyond int64, for nesting deeper than 256 and for text longer than 1 MiB. Linear.
  static SymExpr parse(std::string_view text);

  static SymExpr integer(int64_t value);

  // `assumptions` in constructor form. Throws ParseError if the name holds a quote or a backslash or is
  // empty, or if the assumptions are not of that form.
  static SymExpr symbol(std::string_view name, std::string_view assumptions = "positive=True, integer=True");

  const SymNode& root() const;

  SymKind kind() const { return root().kind(); }
  SymFunction function() const { return root().function(); }
  std::span<const SymNode> args() const { return root().args(); }
  std::string_view name() const { return root().name(); }
  int64_t integerValue() const { return root().integerValue(); }

  // The text that was parsed, byte for byte; of a built expression its constructor form.
  const std::string& text() const;

  // The constructor form. Linear.
  std::string srepr() const;

  // Appends Python's str(), as FX prints it: "2*s77 + 1", "(s77//3)", "s77 > 3". O(n log n).
  void appendPython(std::string& out) const;

  // Distinct symbol names in the order in which the tree first mentions them. Linear.
  std::vector<std::string> symbols() const;

  friend bool operator==(const SymExpr& a, const SymExpr& b) {
    return a.tree_ == b.tree_ || a.root() == b.root();
  }

 private:
  explicit SymExpr(std::shared_ptr<const detail::SymTree> tree) : tree_(std::move(tree)) {}

  std::shared_ptr<const detail::SymTree> tree_;
};

}  // namespace edgefx

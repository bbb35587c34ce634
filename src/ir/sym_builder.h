#pragma once

#include <edgefx/ir/sym_expr.h>

#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>

namespace edgefx::detail {

inline constexpr uint16_t kMaxSymDepth = 256;
inline constexpr uint32_t kDoublePrecision = 53;

// An expression with everything its nodes point to.
struct SymTree {
  std::string text;
  std::pmr::monotonic_buffer_resource arena;
  SymNode root;
};

// Name, printing precedence and arity of the functions known. Precedences are sympy's.
struct SymFunctionInfo {
  std::string_view name;
  SymFunction function;
  uint16_t precedence;
  uint8_t minArgs;
  uint8_t maxArgs;  // 0: any number
};

// By sympy's class name or, for relations, by Python's short one ("Eq"). Null if not known.
const SymFunctionInfo* findSymFunction(std::string_view name);
const SymFunctionInfo& symFunctionInfo(SymFunction function);

// Makes nodes whose operands and generated text lie in an arena. Nodes of one arena may be combined freely.
class SymBuilder {
 public:
  explicit SymBuilder(std::pmr::monotonic_buffer_resource& arena) : arena_(&arena) {}

  static SymNode integer(int64_t value);
  static SymNode boolean(bool value);
  static SymNode constant(std::string_view name);  // the name must outlive the node
  static SymNode symbol(std::string_view name, std::string_view assumptions);
  static SymNode floating(std::string_view digits, uint32_t precision);
  SymNode floating(double value);
  SymNode rational(int64_t numerator, int64_t denominator);  // kept as given
  SymNode reducedRational(int64_t numerator,
                          int64_t denominator);  // already in lowest terms; Integer if whole

  SymNode call(const SymFunctionInfo& info, std::span<const SymNode> args);
  SymNode call(SymFunction function, std::span<const SymNode> args) {
    return call(symFunctionInfo(function), args);
  }
  SymNode otherCall(std::string_view name, std::span<const SymNode> args);

  // -node: a number of the other sign, or a product with one factor -1 more or less.
  SymNode negate(const SymNode& node);

  std::string_view copyText(std::string_view text);

  static uint16_t depth(const SymNode& node) { return node.depth_; }
  static uint32_t precision(const SymNode& node) { return node.count_; }

 private:
  const SymNode* copyNodes(std::span<const SymNode> nodes);

  std::pmr::monotonic_buffer_resource* arena_;
};

// Whether the node is an Integer, Rational or Float, and whether such a number is below zero.
bool isSymNumber(const SymNode& node);
bool isNegativeSymNumber(const SymNode& node);

// A product taken apart: [-1] [number] factors. sympy writes -2*x as Mul(Integer(-1), Integer(2), x).
struct SymProduct {
  bool isNegative = false;
  const SymNode* number = nullptr;   // null: one; if it is below zero itself, isNegative is set
  std::span<const SymNode> factors;  // never empty
};
SymProduct readSymProduct(const SymNode& mul);

// Puts the terms of a sum in the order in which sympy prints them. Only sums of numbers and of products of
// symbols with positive whole exponents are touched; others keep their order.
void sortSymTerms(std::span<SymNode> terms);

// Puts factors that, numbers in front aside, are symbols or whole powers of symbols in sympy's order; others
// keep theirs.
void sortSymFactors(std::span<SymNode> factors);

// Decimal text as sympy writes floats, rounded to `digits` digits.
std::string symFloatText(double value, int digits, bool stripZeros);

// Appends the constructor form of a node.
void appendSrepr(std::string& out, const SymNode& node);

// Reads `text` into a tree; see SymExpr::parse.
void parseSymExpr(SymTree& tree);

}  // namespace edgefx::detail

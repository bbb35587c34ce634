#pragma once

#include <edgefx/ir/node.h>

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx {

class Match;

namespace detail {
struct PatternNode;
class Matcher;
struct PatternMaker;
}  // namespace detail

// What part of a graph looks like, as a value: a tree of operators and operands, rooted at the node that is
// replaced. Copying is cheap; patterns are never changed once made. Make them with the functions below.
class Pattern {
 public:
  // The node is found in the match under this name, too. A name that stands twice must match one node.
  Pattern as(std::string_view name) const;
  // Only if nobody else uses the node.
  Pattern singleUse() const;
  // Only where the predicate holds; `reason` says why a node is refused, after "because". Throws UsageError
  // for an empty predicate.
  Pattern where(std::function<bool(const Node& node)> predicate, std::string_view reason) const;
  // Only if the value is a tensor of that dtype, or of that rank.
  Pattern dtype(Dtype dtype) const;
  Pattern rank(size_t rank) const;
  // The first two operands match in either order. Throws UsageError if there are fewer.
  Pattern commutative() const;
  // A pattern of several roots: `other` matches at another node, too, which is looked for among the users of
  // a node that both patterns name; so are further ones. The first that fits is taken, of at most
  // kMostBeside; what goes into the roots must stand before the first of them in the graph, so that one node
  // can take the place of all, and nothing in the graph may be written in place. Only the pattern of a rule
  // may be so, not one of its operands. Throws UsageError if `other` is no call or the two share no name.
  Pattern beside(const Pattern& other) const;
  static constexpr size_t kMostBeside = 256;

 private:
  friend class detail::Matcher;
  friend struct detail::PatternMaker;

  explicit Pattern(std::shared_ptr<const detail::PatternNode> node) : node_(std::move(node)) {}
  template <typename Change>
  Pattern changed(Change&& change) const;

  std::shared_ptr<const detail::PatternNode> node_;
};

// What patterns are made of. Names that are short because patterns are read often: bring them in where they
// are used.
namespace patterns {

// A call of one of these operators, of either dialect, with the operands given, in order; "aten.add" stands
// for every overload. Operands that are left out and not matched by rest() must not be there. Throws
// UsageError if there is no operator, or something follows rest().
Pattern op(std::initializer_list<std::string_view> operators, std::initializer_list<Pattern> operands);
template <typename... Operands>
Pattern op(std::string_view name, const Operands&... operands) {
  return op({name}, {operands...});
}
// Any node.
Pattern any(std::string_view name);
// The placeholder of a parameter, buffer or constant that the program's signature does not write, and that
// was there when the rules began to run.
Pattern constant(std::string_view name);
// An operand that may be absent or None.
Pattern optional(std::string_view name);
Pattern optional(const Pattern& operand);
// All operands that are left, keyword arguments included.
Pattern rest(std::string_view name);
// A literal equal to this one: a number, text, dtype, list of such.
Pattern equals(Arg literal);

}  // namespace patterns

// What a rule did.
class RuleResult {
 public:
  static RuleResult changed() { return RuleResult(true, {}); }
  static RuleResult declined(std::string reason) { return RuleResult(false, std::move(reason)); }

  bool isChanged() const { return changed_; }
  const std::string& reason() const { return reason_; }

 private:
  RuleResult(bool changed, std::string reason) : changed_(changed), reason_(std::move(reason)) {}

  bool changed_;
  std::string reason_;
};

// The nodes and arguments that a pattern found, by name. Valid while the rule runs.
class Match {
 public:
  // Throws UsageError if the pattern has no such name, or it stands for an operand that is absent.
  Node& operator[](std::string_view name) const;
  // Null for an operand that is absent or None.
  Node* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Where the pattern matched; of several roots the first.
  Node& root() const { return *roots_.front(); }
  // In the order in which the pattern has them.
  const std::vector<Node*>& roots() const { return roots_; }
  // Every node of the pattern, operands included, each root before its operands.
  const std::vector<Node*>& nodes() const { return nodes_; }

  // The i-th positional argument that rest() took. Throws UsageError if there are fewer.
  const Argument& arg(std::string_view rest, size_t i) const;
  // The same, null if there are fewer.
  const Argument* findArg(std::string_view rest, size_t i) const;
  // How many rest() took, without keyword arguments.
  size_t numArgs(std::string_view rest) const;
  // The node of an optional operand, or what is to stand in its place.
  Arg argOr(std::string_view name, Arg otherwise) const;

  // For rules that look closer: nothing was changed, and this is why.
  RuleResult decline(std::string reason) const { return RuleResult::declined(std::move(reason)); }

 private:
  friend class detail::Matcher;

  struct Rest {
    std::string_view name;
    const Node* call;
    size_t first;
  };
  std::vector<Node*> roots_;
  std::vector<std::pair<std::string_view, Node*>> named_;
  std::vector<Rest> rests_;
  std::vector<Node*> nodes_;
  std::vector<Node*> taken_;  // those of nodes_ that the pattern looks into
};

}  // namespace edgefx

#pragma once

#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/graph.h>

#include "dialect/symbolic_sizes.h"
#include "ir/shape_call.h"
#include "program/operator_names.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Thrown by rules: the call stays as it is, and this is why.
struct Declined {
  std::string reason;
};

class Decomposition;

// What takes the place of a call: a node, or the items of its result, null for those that nobody may use.
struct Replacement {
  Replacement(Node& node) : nodes{&node} {}  // NOLINT: rules return nodes
  explicit Replacement(std::vector<Node*> items) : nodes(std::move(items)), isItems(true) {}

  std::vector<Node*> nodes;
  bool isItems = false;
};

using DecompositionRule = Replacement (*)(Decomposition& call);

struct NamedDecomposition {
  std::string_view op;  // "linear.default", without "aten."
  DecompositionRule rule;
};

// The rules of each file.
std::span<const NamedDecomposition> viewDecompositions();
std::span<const NamedDecomposition> joinDecompositions();
std::span<const NamedDecomposition> factoryDecompositions();
std::span<const NamedDecomposition> copyDecompositions();
std::span<const NamedDecomposition> matrixDecompositions();
std::span<const NamedDecomposition> einsumDecompositions();
std::span<const NamedDecomposition> convolutionDecompositions();
std::span<const NamedDecomposition> poolDecompositions();
std::span<const NamedDecomposition> normDecompositions();
std::span<const NamedDecomposition> activationDecompositions();
std::span<const NamedDecomposition> attentionDecompositions();
std::span<const NamedDecomposition> pointwiseDecompositions();
std::span<const NamedDecomposition> aliasDecompositions();
std::span<const NamedDecomposition> indexDecompositions();
std::span<const NamedDecomposition> reductionDecompositions();
std::span<const NamedDecomposition> lossDecompositions();
std::span<const NamedDecomposition> recurrentDecompositions();

// Every rule by the full name of its operator, "aten.linear.default". Made once.
const std::unordered_map<std::string, DecompositionRule>& allDecompositions();

// The rules at work in a program: all but those for preserved operators.
class ActiveRules {
 public:
  explicit ActiveRules(const DecomposeOptions& options);

  // Null if there is none, or the target is no ATen operator. O(1).
  DecompositionRule find(Target target);
  bool isPreserved(Target target) const;
  bool isException(Target target) const;
  const ShapeRules* shapeRules() const { return shapeRules_; }

 private:
  OperatorNames preserved_, exceptions_;
  std::unordered_map<const char*, DecompositionRule> byTarget_;  // targets' texts live for ever
  const ShapeRules* shapeRules_;
};

// Makes and replaces nodes of one graph.
class GraphDecomposer {
 public:
  GraphDecomposer(Graph& graph, ActiveRules& rules) : graph_(graph), rules_(rules), sizes_(graph) {}

  SymbolicSizes& sizes() { return sizes_; }

  // Applies a rule to a call. Returns what is to take its place; if it declines, nothing is left of what it
  // made, and `reason` says why.
  std::unique_ptr<Replacement> apply(DecompositionRule rule, Node& call, std::string& reason);

  // A new call before the one that is being decomposed, itself decomposed where there is a rule.
  Replacement emit(Target target, const Args& args, const Kwargs& kwargs);

  // Erases what the last rule made and nobody uses. O(what it made).
  void eraseUnused(const GraphModule& module);

  Node& root() { return *root_; }
  ActiveRules& rules() { return rules_; }

 private:
  friend class Decomposition;

  Node& makeCall(Target target, const Args& args, const Kwargs& kwargs);
  void eraseMadeSince(size_t count);
  std::string misfit(const Replacement& replacement, const Node& call) const;

  Graph& graph_;
  ActiveRules& rules_;
  SymbolicSizes sizes_;
  Node* root_ = nullptr;  // the call of the program
  std::vector<Node*> made_;
  int depth_ = 0;
};

// A call that is being decomposed: its arguments, and what rules make of them.
class Decomposition : public ShapeCall {
 public:
  Decomposition(GraphDecomposer& decomposer, Node& call)
      : ShapeCall(call), decomposer_(decomposer), call_(call) {}

  Node& call() { return call_; }

  // Arguments. The first three decline if it is no node, or not given.
  Node& in(size_t i, std::string_view key) const;
  Node* findIn(size_t i, std::string_view key) const;  // null if it is not given
  std::vector<Node*> list(size_t i, std::string_view key);
  Arg argOr(size_t i, std::string_view key, Arg otherwise) const;
  double number(size_t i, std::string_view key, double otherwise) const;
  // The keyword arguments of a factory function that the call has, in order.
  Kwargs passed(std::initializer_list<std::string_view> keys) const;

  // A new call of an ATen operator, "mul.Tensor".
  Node& emit(std::string_view op, const Args& args, const Kwargs& kwargs = {});
  // One that gives a tuple or a list: its items, and the first one only.
  std::vector<Node*> emitItems(std::string_view op, const Args& args, const Kwargs& kwargs = {});
  // `value` describes the tuple if it cannot be inferred.
  Node& emitFirst(std::string_view op, const Args& args, const Kwargs& kwargs = {},
                  const ValueRef& value = {});

  // Facts of nodes; decline if they are not known.
  static const TensorMeta& meta(const Node& node);
  static size_t rank(const Node& node) { return meta(node).sizes.size(); }
  static Dtype dtype(const Node& node) { return meta(node).dtype; }
  static const SymInt& size(const Node& node, size_t dim) {
    const Dims& sizes = meta(node).sizes;
    need(dim < sizes.size(), "a rank does not fit");
    return sizes[dim];
  }
  using ShapeCall::dtype;
  using ShapeCall::size;
  size_t wrap(int64_t dim, const Node& node) const { return dimension(dim, rank(node)); }
  // A number; declines if it is symbolic.
  static int64_t known(const SymInt& size);

  // Sizes as arguments: numbers, or nodes that calculate them.
  Arg arg(const SymInt& size);
  Arg args(const Dims& sizes);

  // Views and copies.
  Node& view(Node& x, const Dims& sizes) { return emit("view.default", {x, args(sizes)}); }
  // A view if the strides allow it, or else a copy's.
  Node& reshape(Node& x, const Arg& sizes);
  Node& reshape(Node& x, const Dims& sizes) { return reshape(x, args(sizes)); }
  Node& expand(Node& x, const Dims& sizes) { return emit("expand.default", {x, args(sizes)}); }
  Node& permute(Node& x, const std::vector<int64_t>& order);
  // Dimensions counted from the end if negative.
  Node& transpose(Node& x, int64_t a, int64_t b);
  Node& contiguous(Node& x, MemoryFormat format = MemoryFormat::Contiguous);
  // The same tensor if it has the dtype.
  Node& toDtype(Node& x, Dtype dtype);
  // float32 for the 16-bit floats, in which Python's decompositions calculate.
  Node& widened(Node& x);
  // A 0-d tensor that counts as a number: of the dtype and device of `like`.
  Node& scalarLike(const Arg& value, const Node& like);

  [[noreturn]] static void decline(std::string reason) { throw Declined{std::move(reason)}; }
  static void need(bool holds, std::string_view reason) {
    if (!holds) decline(std::string(reason));
  }

 private:
  GraphDecomposer& decomposer_;
  Node& call_;
};

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/graph.h>

#include "ir/storage.h"

namespace edgefx {

// Copies Arg trees and borrowed arguments into a graph's storage, checking that their nodes belong to it.
class ArgumentWriter {
 public:
  ArgumentWriter(const Graph& graph, detail::Arena& arena, detail::TextPages& text,
                 std::vector<std::shared_ptr<const SymExpr>>& symbolics)
      : graph_(graph), arena_(arena), text_(text), symbolics_(symbolics) {}

  // Throws UsageError for a node that is null, erased or of another graph, and for nesting over kDeepest.
  Argument write(const Arg& value) { return write(value, 0); }
  Argument write(const Argument& existing) { return copy(existing, 0); }
  Argument key(std::string_view text) { return makeText(Argument::Kind::String, text); }

  static constexpr int kDeepest = 64;

  // Raw construction, for readers that have checked what they write.
  static Argument makeBool(bool value);
  static Argument makeInt(int64_t value);
  static Argument makeFloat(double value);
  static Argument makeNode(Node& node);
  static Argument makeNumber(Argument::Kind kind, int64_t value);  // Dtype, Layout, MemoryFormat
  static Argument makeOperator(Target target);
  static Argument makeItems(Argument::Kind kind, Argument* items, size_t count,
                            ListHint hint = ListHint::Any);
  static Argument makeStored(Argument::Kind kind, std::string_view stored);
  Argument makeText(Argument::Kind kind, std::string_view text) {
    return makeStored(kind, text_.store(text));
  }
  Argument makeComplex(double real, double imaginary);
  Argument makeSymbolic(SymExpr expression);
  Argument* allocate(size_t count) { return arena_.allocate<Argument>(count); }

  // Copies `count` arguments for the clone of a graph: nodes are replaced by those of the same id, text stays
  // shared.
  static Argument* relocate(const Argument* from, size_t count, detail::Arena& arena,
                            const detail::NodeSlabs& nodes);

  // Copies `count` arguments of another graph into this one's storage; nodes are replaced by mapped[id].
  Argument* copyMapped(const Argument* from, size_t count, std::span<Node* const> mapped);

  // Calls visit(Node*&) for each node in the tree, depth first, left to right.
  template <typename Visit>
  static void eachNode(Argument* arguments, size_t count, Visit&& visit) {
    for (size_t i = 0; i < count; ++i) {
      Argument& argument = arguments[i];
      if (argument.kind_ == Argument::Kind::Node) {
        visit(argument.value_.node);
      } else if (hasChildren(argument)) {
        eachNode(argument.value_.items, children(argument).size(), visit);
      }
    }
  }

  // Items of lists, tuples, slices and ranges, keys and values of dicts.
  static bool hasChildren(const Argument& argument) {
    using Kind = Argument::Kind;
    switch (argument.kind_) {
      case Kind::List:
      case Kind::Tuple:
      case Kind::Dict:
      case Kind::Slice:
      case Kind::Range:
        return argument.length_ != 0;
      default:
        return false;
    }
  }
  // Whether more than a number, or a name of something outside of the graph, belongs to the argument.
  static bool ownsMemory(const Argument& argument) {
    using Kind = Argument::Kind;
    switch (argument.kind_) {
      case Kind::String:
      case Kind::Device:
      case Kind::Complex:
      case Kind::Symbolic:
        return true;
      default:
        return hasChildren(argument);
    }
  }
  // Bytes of text that a copy of the argument, but not of its children, stores.
  static size_t textSize(const Argument& argument) {
    const bool isText = argument.kind_ == Argument::Kind::String || argument.kind_ == Argument::Kind::Device;
    return isText ? argument.length_ : 0;
  }
  static std::span<const Argument> children(const Argument& argument) {
    const bool isDict = argument.kind_ == Argument::Kind::Dict;
    return {argument.value_.items, isDict ? size_t{2} * argument.length_ : argument.length_};
  }

 private:
  Argument write(const Arg& value, int depth);
  Argument copy(const Argument& existing, int depth);
  Argument writeNode(Node* node);
  void checkDepth(int depth);

  const Graph& graph_;
  detail::Arena& arena_;
  detail::TextPages& text_;
  std::vector<std::shared_ptr<const SymExpr>>& symbolics_;
};

}  // namespace edgefx

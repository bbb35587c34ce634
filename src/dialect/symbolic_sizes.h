#pragma once

#include <edgefx/ir/graph.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Finds and makes the nodes of a graph that calculate symbolic sizes. Each expression is calculated once.
class SymbolicSizes {
 public:
  explicit SymbolicSizes(Graph& graph) : graph_(graph) {}

  // Tells of a node that stands before everything made from now on. O(1), O(dimensions) for placeholders.
  void note(Node& node);

  // A number, or the node that calculates the size: one that is there, a size of a placeholder or of an
  // input of `user`, or arithmetic on these before the insertion point. Null if there is no way.
  // O(expression), O(inputs of `user`) if nothing noted has a part of it.
  bool argument(const SymInt& size, Node& user, Arg& out);

  // What was made before and calculates what this node does: null if there is nothing. O(expression).
  Node* madeBefore(const Node& node) const;

  // Tells that another node takes the place of one that is erased.
  void replaced(const Node& old, Node& made);

  // Erases what was made and is not used.
  void eraseUnused();

 private:
  struct Operand {
    Node* node = nullptr;  // null for a number
    Arg arg;
  };

  Node* find(const SymExpr& expression, Node& user, int depth);
  Node* calculate(const SymExpr& expression, Node& user, int depth);
  std::optional<Operand> operand(const SymNode& part, Node& user, int depth);
  Node& make(Target target, const Args& args, Node& user);

  Graph& graph_;
  std::unordered_map<std::string, Node*> byText_;  // by Python's text
  std::unordered_map<std::string, std::pair<Node*, int64_t>> dimensions_;
  std::vector<Node*> made_;
  NodeMap<uint8_t> isMade_;
  Node* lastPlaceholder_ = nullptr;
  Node* lastHoisted_ = nullptr;
};

}  // namespace edgefx::detail

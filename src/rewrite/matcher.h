#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/rewrite/pattern.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

struct PatternNode {
  enum class Kind : uint8_t { Op, Any, Constant, Optional, Rest, Literal };
  struct Predicate {
    std::function<bool(const Node&)> holds;
    std::string reason;
  };

  Kind kind = Kind::Any;
  std::vector<std::string> operators;  // "aten.add.Tensor", or "aten.add" for all overloads
  std::vector<Target> targets;         // those with an overload, in both dialects
  bool hasPackets = false;             // some are without
  std::vector<std::shared_ptr<const PatternNode>> operands;  // of Op; the one of Optional, if it has one
  std::vector<std::string> names;
  std::vector<Predicate> predicates;
  std::shared_ptr<const Graph> literal;                     // of Literal: a graph that returns it
  std::vector<std::shared_ptr<const PatternNode>> besides;  // further roots
  bool isSingleUse = false;
  bool isCommutative = false;
};

// Compares patterns with graphs. Names of stored tensors that may be taken for constants are read once.
class Matcher {
 public:
  explicit Matcher(const ExportedProgram& program);

  // Whether the pattern matches with `root` at its root; fills in `match`. If not, the reason is appended to
  // `why` where that is given.
  bool matches(const Pattern& pattern, Node& root, Match& match, std::string* why = nullptr) const;

  // Whether the operators of the root's operands are those of the pattern: a quick look before the match.
  static bool mayMatch(const PatternNode& pattern, const Node& root);

  static const PatternNode& nodeOf(const Pattern& pattern) { return *pattern.node_; }

  // The root that comes first in the graph.
  static Node& firstRoot(const Match& match);

 private:
  bool matchNode(const PatternNode& pattern, Node& node, Match& match, std::string* why) const;
  bool matchBeside(const PatternNode& pattern, Match& match, std::string* why) const;
  bool matchOperands(const PatternNode& pattern, Node& call, bool swapped, Match& match,
                     std::string* why) const;
  bool matchOperand(const PatternNode& pattern, const Argument* argument, Match& match,
                    std::string* why) const;
  bool bindNames(const PatternNode& pattern, Node& node, Match& match, std::string* why) const;

  bool isWritten(const Graph& graph) const;

  std::unordered_set<const Node*> constants_;
  mutable std::unordered_map<const Graph*, bool> isWritten_;  // graphs asked about so far
};

}  // namespace edgefx::detail

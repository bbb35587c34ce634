#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace edgefx {

namespace detail {
class GraphBuilder;
}
struct OperatorInfo;

enum class TargetKind : uint8_t {
  Operator,      // torch.ops.aten.add.Tensor
  EdgeOperator,  // executorch.exir.dialects.edge._ops.aten.add.Tensor
  Packet,        // torch.ops.aten.add, an operator without overload
  HigherOrder,   // torch.ops.higher_order.cond
  Function,      // operator.getitem, math.floor, torch.sym_max, executorch.exir.memory.alloc
};

// What a call_function node calls: the name of an operator or of a Python function. Names are interned for
// the life of the process, so copying and comparing cost a pointer. A target is only a name: the operator
// need not be registered anywhere.
class Target {
 public:
  // Takes "aten.add.Tensor", "torch.ops.aten.add.Tensor", "higher_order.cond", "torch.ops.higher_order.cond",
  // "operator.add" (or "_operator.add"), "torch.sym_max", or the edge form with its full prefix. O(length).
  // Throws UsageError for an empty name, an empty component, or white space or control characters.
  Target(std::string_view name);  // NOLINT: operators are written as text everywhere
  Target(const char* name) : Target(std::string_view(name)) {}
  Target(const std::string& name) : Target(std::string_view(name)) {}

  // The edge operator "aten.add.Tensor".
  static Target edge(std::string_view name);

  TargetKind kind() const { return info_->kind; }
  bool isOperator() const { return kind() == TargetKind::Operator || kind() == TargetKind::EdgeOperator; }

  // "aten.add.Tensor" for both dialects, "aten.add" for a packet, "cond", or the function's dotted path.
  std::string_view name() const { return info_->name; }
  // Parts of an operator or packet; empty for others.
  std::string_view ns() const { return info_->ns; }
  std::string_view op() const { return info_->op; }
  std::string_view overload() const { return info_->overload; }

  // As call_function target in FX text.
  std::string_view fxText() const { return info_->fxText; }
  // As node target in a .pt2 file; edge operators are written as the operator they wrap.
  std::string_view fileText() const { return info_->fileText; }
  // As an argument in FX text.
  std::string_view argumentText() const { return info_->argumentText; }
  // FX's name candidate for nodes with this target.
  std::string_view nameCandidate() const { return info_->nameCandidate; }

  // The same operator in the other dialect; targets that are no operators are returned as they are.
  Target toEdge() const;
  Target toAten() const;

  friend bool operator==(Target a, Target b) { return a.info_ == b.info_; }

 private:
  friend class Argument;
  friend class ArgumentWriter;
  friend class Graph;
  friend class Node;
  friend class detail::GraphBuilder;
  friend const OperatorInfo* findOperator(Target target);

  struct Info {
    TargetKind kind = TargetKind::Function;
    std::string name, ns, op, overload;
    std::string fxText, fileText, argumentText, nameCandidate;
    mutable std::atomic<const OperatorInfo*> schema{nullptr};  // see findOperator
  };

  explicit Target(const Info* info) : info_(info) {}
  static const Info* intern(std::string_view fxText);

  const Info* info_;
};

}  // namespace edgefx

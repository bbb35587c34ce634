#pragma once

#include <edgefx/ir/shape_inference.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/rewrite/pattern.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace edgefx {

namespace detail {
class RuleDriver;
}

// Changes a program with all its books: graph, graph signature, state dict, constants and metadata change
// together. A call that throws has changed nothing. Plain edits of the graph in between are fine as long as
// they leave the books right.
//
// Names of new inputs are made unique against nodes, specs and tables; node, spec and table entry have one
// name.
class ProgramRewriter {
 public:
  // The program must outlive the rewriter. `rules` describe the values of operators of one's own; they are
  // not copied.
  explicit ProgramRewriter(ExportedProgram& program, const ShapeRules* rules = nullptr);
  explicit ProgramRewriter(ExportedProgram&&) = delete;

  ExportedProgram& program() { return program_; }
  // The graph at work: the top level, or the nested graph that a rule is applied to.
  Graph& graph() { return module_->graph(); }

  // A new input that holds a stored tensor: its placeholder stands before the first user input, or after all
  // inputs if there is none. Throws UsageError for an undefined tensor or an empty name, UnsupportedError for
  // tensors that no .pt2 holds. O(inputs).
  //
  // A constant that a rule adds while it is applied to a nested graph is passed down to that graph (see
  // addConstantFor).
  Node& addParameter(std::string_view name, at::Tensor tensor);
  Node& addBuffer(std::string_view name, at::Tensor tensor, bool persistent = true);
  Node& addConstant(std::string_view name, at::Tensor tensor);

  // A constant for the graph of `module`, which may be nested: the constant becomes an input of the program,
  // and an operand of every call on the way down (cond, while_loop, map_impl, scan, invoke_subgraph and the
  // wrap_with operators), whose other branches take it too. Returns the placeholder in the graph of `module`.
  // Throws UsageError if the module is not of the program, or is called by an operator that takes no further
  // operands. O(nodes of the graphs on the way).
  Node& addConstantFor(GraphModule& module, std::string_view name, at::Tensor tensor);

  // Several constants at once, in that order, of the top level graph. O(inputs + constants).
  std::vector<Node*> addConstants(std::vector<std::pair<std::string, at::Tensor>> named);

  // A placeholder in the graph of `module`, which may be nested, that has the value of this placeholder of
  // the program: it becomes an operand on the way down, as addConstantFor makes it. The placeholder itself if
  // the module is the program's own. Throws as addConstantFor. O(nodes of the graphs on the way).
  Node& passDown(GraphModule& module, Node& placeholder);

  // The tensor behind the placeholder of a parameter, buffer or constant. Throws UsageError for other nodes.
  // O(inputs).
  const at::Tensor& tensor(const Node& placeholder) const;
  // Another tensor behind it; the node's value follows. Specs that share the name see it too. Throws
  // UsageError for other nodes, and if it changes the shape or dtype of a buffer that the program writes.
  // O(inputs).
  void setTensor(Node& placeholder, at::Tensor tensor);
  // Removes an input with its spec, and its tensor unless another input holds it. Throws UsageError, naming
  // the users, if the node has any, if it is a user input, or if the program writes what it holds. O(inputs).
  void eraseInput(Node& placeholder);

  // The value becomes one more result, after the others; the calling convention's tree gains a leaf. Throws
  // UsageError for nodes of another graph.
  void addOutput(Node& value);
  // The value is written to the buffer or parameter of that placeholder after each call: a result before the
  // user outputs. Throws UsageError for other placeholders and if it is written already.
  void addMutation(Node& placeholder, Node& value);

  // A new call at the insertion point of the graph, or in a rule behind its arguments and, where they allow
  // it, before the root of the match. Its value is described by the operator's shape rule where there is one.
  // Throws UsageError if an argument is of another graph, or the shape rule finds that the arguments do not
  // fit.
  Node& call(Target target, const Args& args, const Kwargs& kwargs = {}, std::string_view name = {});
  // Sets an argument of a call; its value is described anew where there is a rule.
  void setArg(Node& call, size_t i, const Arg& value);
  // Calls another operator with the same arguments; name and value stay. Throws UsageError for nodes that
  // call none.
  void retarget(Node& call, Target target) { call.setTarget(target); }
  // The same for every call of `from`, in nested graphs too; each dialect keeps to itself. Returns the number
  // of calls. O(nodes).
  size_t retarget(Target from, Target to);

  // `replacement` takes the place of `old` everywhere: users, results, specs. Uses of `old` by the nodes that
  // this rewriter made since the last replacement stay, so that they may stand around it. Those without
  // metadata get that of `old`, merged with that of `others` (see mergeMeta), and `replacement` the value of
  // `old` if it has none. The old node stays until eraseDeadNodes. Returns what a rule that did this returns.
  // Throws UsageError if the nodes are not of one graph, or are one.
  RuleResult replace(Node& old, Node& replacement, std::initializer_list<const Node*> others = {});

  // Erases calls without users and effect in every graph, and nested graphs that no node names any more.
  // Returns the number of nodes. O(nodes).
  size_t eraseDeadNodes();
  // Erases inputs of these kinds that nobody uses or writes. Returns their number. O(inputs).
  size_t eraseDeadInputs(std::initializer_list<InputKind> kinds = {InputKind::Parameter, InputKind::Buffer,
                                                                   InputKind::ConstantTensor});
  // Those of them that `mayErase` accepts, too.
  size_t eraseDeadInputs(std::initializer_list<InputKind> kinds,
                         const std::function<bool(const Node& placeholder)>& mayErase);

 private:
  friend class detail::RuleDriver;

  struct WayDown;
  WayDown findWayDown(GraphModule& module, std::string_view name) const;
  static Node& passDown(const WayDown& way, Node& value);
  Node& addInput(InputKind kind, bool persistent, std::string_view name, at::Tensor tensor, bool isParameter);
  std::string freeName(std::string_view name) const;
  InputSpec& storedSpec(const Node& placeholder, std::string_view action) const;
  TensorTable& tableOf(const InputSpec& spec) const;
  bool isWritten(const InputSpec& spec) const;

  ExportedProgram& program_;
  const ShapeRules* rules_;
  GraphModule* module_;       // the one at work
  Node* root_ = nullptr;      // of the match that a rule is applied to
  std::vector<Node*> fresh_;  // made since the last replacement
  std::vector<Node*> made_;   // since the rule at work began
};

// The metadata of a node that does what several did: the entries of the first, and what the others have and
// it lacks.
MetaRef mergeMeta(const Node& first, std::initializer_list<const Node*> others);

}  // namespace edgefx

#pragma once

#include <edgefx/ir/graph.h>

#include "ir/argument_writer.h"

#include <span>
#include <string_view>

namespace edgefx::detail {

// Fills a graph fast, for readers: nodes are appended at the end, arguments are written straight into the
// graph's storage, and nothing is checked twice.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph);

  // A hint that a node is to get that name soon: in large graphs looking names up waits for memory.
  void expectName(std::string_view name);
  // Room for that many further nodes.
  void reserve(size_t nodes);
  // Room for copies of some nodes, placeholders for others and the output of that many results, and for no
  // more: graphs of delegates come by the thousand.
  void reserve(std::span<Node* const> copied, std::span<Node* const> placeholders, size_t results);

  ArgumentWriter& arguments() { return writer_; }
  std::string_view storeText(std::string_view text);

  // A node without arguments, whose name is made unique from `candidate`.
  Node& append(NodeOp op, std::string_view targetText, std::string_view candidate);
  Node& append(Target target, std::string_view candidate);
  // Gives the node its arguments (args, then key and value of each kwarg, in storage of arguments()) and
  // links them.
  void finish(Node& node, Argument* arguments, size_t numArgs, size_t numKwargs);

  // Appends a copy of a node of another graph, with its name, value and metadata; the nodes in its arguments
  // are replaced by mapped[id], different ones by different ones. The graph's names must not have been asked
  // for yet.
  Node& copy(const Node& from, std::span<Node* const> mapped);
  // Appends a placeholder with the name and value of a node of another graph.
  Node& placeholderFor(const Node& from);
  // Appends the output node of a graph without one: a list or tuple of these nodes.
  Node& outputOf(ArgumentKind kind, std::span<Node* const> results);
  // Gives all live nodes of the graph a new order, which must hold each once and be one of execution.
  // Users of a node come in that order too, as in a copy that is made node by node.
  void setOrder(std::span<Node* const> order);
  // Erases a node without users. Its name counts as taken until forgetErasedNames.
  void erase(Node& node);
  // As copying the graph would: names that no live node has become free again, and counting starts anew.
  void forgetErasedNames();

 private:
  Node& appendNamedAs(const Node& from, NodeOp op);
  void copyEdges(Node& node, const Node& from, std::span<Node* const> mapped);

  Graph& graph_;
  ArgumentWriter writer_;
};

}  // namespace edgefx::detail

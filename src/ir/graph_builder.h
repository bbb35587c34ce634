#pragma once

#include <edgefx/ir/graph.h>

#include "ir/argument_writer.h"

#include <string_view>

namespace edgefx::detail {

// Fills a graph fast, for readers: nodes are appended at the end, arguments are written straight into the
// graph's storage, and nothing is checked twice.
class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph);

  // Room for that many further nodes.
  void reserve(size_t nodes);

  ArgumentWriter& arguments() { return writer_; }
  std::string_view storeText(std::string_view text);

  // A node without arguments, whose name is made unique from `candidate`.
  Node& append(NodeOp op, std::string_view targetText, std::string_view candidate);
  Node& append(Target target, std::string_view candidate);
  // Gives the node its arguments (args, then key and value of each kwarg, in storage of arguments()) and
  // links them.
  void finish(Node& node, Argument* arguments, size_t numArgs, size_t numKwargs);

 private:
  Graph& graph_;
  ArgumentWriter writer_;
};

}  // namespace edgefx::detail

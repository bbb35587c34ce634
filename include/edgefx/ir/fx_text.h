#pragma once

#include <edgefx/ir/graph_module.h>

#include <string>

namespace edgefx {

// Python's str(graph), byte for byte, without a final line end.
std::string fxText(const Graph& graph);
void appendFxText(std::string& out, const Graph& graph);
// One node's line without indentation.
void appendFxText(std::string& out, const Node& node);
// An argument as it stands inside args or kwargs.
void appendFxText(std::string& out, const Argument& argument);

// The graph, then every nested graph module after a line "# submodule <dotted path>", depth first in the
// order in which nodes name them; ends with a line end.
std::string fxText(const GraphModule& module);

}  // namespace edgefx

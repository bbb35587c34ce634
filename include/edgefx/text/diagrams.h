#pragma once

#include <edgefx/text/program_text.h>

#include <span>
#include <string>
#include <string_view>

// Programs as pictures: texts that viewers of graphs read. Nothing reads them back.
//
// Each graph module is one graph of the result: of every method the top level, then the branches of control
// flow, then the programs of delegates, which have graph modules of their own. A delegate that hangs at
// several places is one graph. Graphs are called by their way: "forward", "forward/true_graph_0",
// "forward/true_graph_0.lowered_module_0".
namespace edgefx {

// The graphs as clusters of one directed graph in Graphviz' language DOT. A node says its operator, name and
// value, and has the colour of its delegation tag; dashed arrows lead from a node to the graphs that it runs
// or names. Linear.
std::string dotText(std::span<const NamedProgramRef> methods);
std::string dotText(const ExportedProgram& program);

// The JSON text that Model Explorer opens: a list of one collection of graphs, which is called `label`. A
// node's id is its name, with '#' and a number behind it if the name is taken. Namespaces are module stacks.
// Attributes tell the target, what an input holds, arguments that are no nodes, source line, debug handle and
// delegation tag; nodes are coloured by tag. An edge tells which result of its source it reads: of a getitem
// the index, otherwise 0. Bytes that are no UTF-8 become U+FFFD. Linear.
std::string modelExplorerJson(std::span<const NamedProgramRef> methods, std::string_view label = "model");
std::string modelExplorerJson(const ExportedProgram& program, std::string_view label = "model");

}  // namespace edgefx

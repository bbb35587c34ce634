#pragma once

#include <edgefx/program/exported_program.h>

#include <string>

namespace edgefx {

// The text of exir's format_delegated_graph, byte for byte: every graph with blanks of two, under the
// get_attr node of each delegate its backend and the nodes of what was compiled. Nested graph modules follow
// after a line "# submodule <dotted path>" each, in the order of namedModules. Delegates inside of delegates
// and nested graphs of delegates are not shown. Ends with a line end. O(nodes).
std::string delegatedText(const ExportedProgram& program);

}  // namespace edgefx

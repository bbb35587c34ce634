#pragma once

#include <edgefx/ir/graph_module.h>

#include <memory>
#include <string_view>

namespace edgefx {

// Reads what Python prints for a graph (ir/fx_text.h), nested graph modules after lines "# submodule <dotted
// path>" included, as far as that says what the graph is. The text has neither values nor metadata, and no
// quotes: a bare word is read as None, True, False, a number, dtype, layout or memory format if it looks like
// one, as a device where the argument is called `device`, as an operator if it is the name of one that is
// known or an argument of a higher order operator, otherwise as a string. Lists have no hints.
//
// Throws ParseError, which begins with "file:line:column: " and shows the line, for text that is none of
// this, and for what may mean two things: a word that could be a symbol and a string, strings that hold
// brackets or stand beside each other, a word in a slice, range or returned value that is no node, and counts
// of users that are not those of the graph. Linear.
std::unique_ptr<GraphModule> readFxText(std::string_view text, std::string_view fileName = "text");

}  // namespace edgefx

#pragma once

#include <edgefx/ir/shape_inference.h>
#include <edgefx/program/exported_program.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace edgefx {

struct DecomposeOptions {
  // Operators that are not decomposed, also where rules for others would make them: "aten.linear.default", or
  // "aten.linear" for every overload.
  std::vector<std::string> preserveOps{};
  // Operators that need not be of Core ATen: they do not count as left over. Named as above.
  std::vector<std::string> exceptions{};
  // Calls of the program that stay as they are; none if empty.
  std::function<bool(const Node& call)> keeps{};
  // Describe the values of operators of one's own; they must outlive the call.
  const ShapeRules* shapeRules = nullptr;
};

// An operator of the aten namespace that is not of Core ATen, and calls of it.
struct UndecomposedOperator {
  std::string name;  // "aten.median.default"
  size_t calls = 0;
  std::string firstNode;
  std::string graph;   // dotted path of that node's graph module
  std::string reason;  // why that node was not decomposed; empty if decompose was not asked to
};

// Replaces calls of ATen operators by calls of Core ATen, as torch.export's run_decompositions does for a
// functional program: in every graph save those that run under autocast, which changes what operators do.
// New nodes stand where the old call stood, in the order of Python's decompositions, with its metadata;
// symbolic sizes become nodes that calculate them. Operators without rule, calls whose values are not
// described, and arguments that a rule does not know stay as they are, which is no error: see
// `undecomposed`. Edge operators are left alone. Programs with operators that work in place may be given;
// these stay. Nodes that nobody uses stay, too.
//
// Returns what is left. Throws UsageError for names that are none, and what `keeps` throws, before anything
// changes. O(nodes) and what is made.
std::vector<UndecomposedOperator> decompose(ExportedProgram& program, const DecomposeOptions& options = {});

// The operators of a program that are neither of Core ATen nor functional forms of views, nor assertions or
// constraints of symbols, nor preserved, nor exceptions, in order of first call; nested graphs included. Of
// both dialects. Throws UsageError for names that are none. O(nodes).
std::vector<UndecomposedOperator> undecomposed(const ExportedProgram& program,
                                               const DecomposeOptions& options = {});

}  // namespace edgefx

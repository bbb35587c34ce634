#pragma once

#include <edgefx/partition/tags.h>
#include <edgefx/program/exported_program.h>

#include <functional>

// Operators with graph modules for arguments, such as cond, while_loop, map_impl, scan or invoke_subgraph: a
// delegate takes them whole, branches included, or stays inside their branches. See branchesOf of
// ir/node_queries.h for the modules that one operator names.
namespace edgefx {

// Gives every get_attr node that names a branch the tag of the first of its users that has one, in every
// graph of the program, so that operators and their branches go together. Those without such a user lose
// their tag. O(nodes + uses).
void tagBranches(const ExportedProgram& program, Tags& tags);

// Gives every getitem node the tag of its producer, in every graph of the program, or none if that has none:
// a tuple does not pass the border of a delegate. O(nodes).
void closeOverGetitems(const ExportedProgram& program, Tags& tags);

// Whether `isSupported` accepts a call and every call inside its branches, at every depth: the first call
// that it does not accept, null if there is none. It is not asked about getitem nodes, which go where their
// producer goes. `owner` is the module of the call's graph. O(nodes of the branches).
using NodeTest = std::function<bool(const Node& node)>;
const Node* findUnsupported(const Node& call, const GraphModule& owner, const NodeTest& isSupported);

// Calls `visit` for `top`, and then, depth first in the order in which graphs name them, for each module that
// is a branch of operators that `enters` accepts, each once. `enters` is asked after its graph was visited. A
// branch that operators of one graph share is visited if it accepts all of them. O(nodes visited).
void visitBranches(const GraphModule& top, const std::function<void(const ConstNestedModule&)>& visit,
                   const NodeTest& enters);

}  // namespace edgefx

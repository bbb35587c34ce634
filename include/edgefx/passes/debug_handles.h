#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <vector>

namespace edgefx {

// What the pass "debug-handles" does (passes/standard.h). Returns whether a node got a handle.
bool addDebugHandles(ExportedProgram& program);

// Nodes of `before` whose debug handle no node of `after` has, nor a delegate in its map or program; one
// diagnostic for each handle, naming graph and node. Code that was dead, or computed beforehand, is among
// them. O(nodes log nodes).
std::vector<Diagnostic> findLostDebugHandles(const ExportedProgram& before, const ExportedProgram& after);

}  // namespace edgefx

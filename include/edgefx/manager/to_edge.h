#pragma once

#include <edgefx/manager/edge_program_manager.h>

namespace edgefx {

// Brings the methods of a model from torch.export's form to edge dialect: writes become outputs
// (functionalize), operators are decomposed to Core ATen (decompose) and checked against it if
// config.checkIrValidity, and edge operators take their place (toEdgeDialect), which are checked again.
// Operators of config.preserveOps and config.coreAtenOpsExceptionList may stay. The manager has that config,
// the constant methods, and the methods in order. O(nodes).
//
// Throws VerificationError with every operator that there is no way to edge dialect for, naming method, node
// and operator; what functionalize, decompose, toEdgeDialect and the manager's constructor throw, naming the
// method.
EdgeProgramManager toEdge(EdgeProgramManager::Methods methods, EdgeCompileConfig config = {},
                          ConstantMethods constantMethods = {});
// One method called "forward".
EdgeProgramManager toEdge(ExportedProgram program, EdgeCompileConfig config = {},
                          ConstantMethods constantMethods = {});

}  // namespace edgefx

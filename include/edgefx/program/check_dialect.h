#pragma once

#include <edgefx/program/compile_config.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <cstdint>
#include <vector>

namespace edgefx {

// Which operators a program may call.
enum class OperatorSet : uint8_t {
  Training,  // ATen's and those of other libraries, those that write into arguments included
  Aten,      // the same without these
  CoreAten,  // of ATen only those of Core ATen
  Edge,      // edge operators: of ATen those of Core ATen that are no views, and the copies of views
};

// Whether a program calls only what the set allows, nested graphs included. Returns every violation in the
// order of the graphs, at most kMostProgramFindings and, if there are more, a last diagnostic with their
// count. Each names operator, node and rule:
// - "functions only": calls of modules;
// - "known functions": outside edge programs, functions other than getitem, arithmetic on symbolic numbers,
//   and the like; targets without overload;
// - "functional": operators that write into an argument, of any library and dialect, and batch norms that
//   write their statistics;
// - "edge operator": ATen operators in edge programs, edge operators in others;
// - "core ATen": operators outside the set;
// - "dim order": copies with a memory format in edge programs with dim order, dim-order operators in others;
// - "preserved": views among config.preserveOps.
//
// Operators of config.coreAtenOpsExceptionList may be called in any form, those of config.preserveOps count
// as Core ATen; "aten.linear" stands for every overload. The dtypes that an operator's kernels take are not
// looked at. See checkProgram for what holds in every dialect. O(nodes).
std::vector<Diagnostic> checkDialect(const ExportedProgram& program, OperatorSet operators,
                                     const EdgeCompileConfig& config = {});

// Throws VerificationError with what checkDialect returns, if that is not empty.
void verifyDialect(const ExportedProgram& program, OperatorSet operators,
                   const EdgeCompileConfig& config = {});

}  // namespace edgefx

#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <cstddef>
#include <vector>

namespace edgefx {

// Whether graph, signature and tables agree. Returns every violation found, in the order of the rules of
// torch._export.verifier, none if the program holds together. O(nodes of the top level + specs + entries).
std::vector<Diagnostic> checkSignature(const ExportedProgram& program);

// Everything that must hold of a program in any dialect: lint of every graph module, calls of functions only,
// values of every node that has one, the signature, that values are of the kind that the signature says, that
// stored tensors have the dtype and shape that their placeholders declare, and that calls of delegates pass
// and take what these have. The dialect's operator list is not consulted. Returns at most
// kMostProgramFindings violations, and if there are more, a last diagnostic with their count. O(nodes).
std::vector<Diagnostic> checkProgram(const ExportedProgram& program);

inline constexpr size_t kMostProgramFindings = 100;

// What checkProgram finds in the programs of the delegates, at every depth; `graph` begins with the
// delegate's path. O(nodes).
std::vector<Diagnostic> checkDelegates(const ExportedProgram& program);

// Throws VerificationError with what checkProgram returns, if that is not empty.
void verifyProgram(const ExportedProgram& program);

}  // namespace edgefx

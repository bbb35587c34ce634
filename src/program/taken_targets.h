#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/support/error.h>

#include <vector>

namespace edgefx::detail {

// Placeholders that now read what another one read before. It happens when specs are kept by position while
// placeholders are moved or erased, and nothing else would notice. Only signatures and tables
// are looked at. O(specs log specs).
std::vector<Diagnostic> findTakenTargets(const ExportedProgram& before, const ExportedProgram& after);

}  // namespace edgefx::detail

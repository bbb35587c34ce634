#pragma once

#include <edgefx/program/exported_program.h>

#include <functional>
#include <string>

namespace edgefx::detail {

// Calls `visit` for the program, with an empty path, and for the programs of its delegates at every depth,
// with the dotted path of each.
void forEachProgram(
    const ExportedProgram& program,
    const std::function<void(const ExportedProgram& program, const std::string& path)>& visit);

}  // namespace edgefx::detail

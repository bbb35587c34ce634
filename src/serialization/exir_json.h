#pragma once

#include <edgefx/program/exported_program.h>

#include "support/json_writer.h"

#include <cstddef>
#include <string>

namespace edgefx::detail {

// The version of ExecuTorch's fork of the schema.
inline constexpr SchemaVersion kExirSchema{5, 4};

// The program as JSON of ExecuTorch's own serializer, delegates included. Left out is what that schema has no
// place for and no program needs: unknown members, metadata of the module, argument names of forward, field
// names of named tuples, guards, the writer's version, storage offsets and debug handle maps. Throws
// UnsupportedError for what it cannot hold otherwise. `nesting` is the number of delegates around the
// program.
std::string exirJson(const ExportedProgram& program, size_t nesting = 0);

}  // namespace edgefx::detail

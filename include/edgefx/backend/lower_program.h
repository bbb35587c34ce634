#pragma once

#include <edgefx/backend/op_backend.h>

#include <string_view>

namespace edgefx {

// Runs `backend` on a private copy of `program` and checks what it returns: checkProgram, and that no
// placeholder silently took another's weight. `program` is not changed, whatever happens. Throws
// LoweringError naming backend, method and every violation if the result does not hold together. An Error
// that the backend throws passes through with backend and method filled in; anything else it throws is nested
// in a LoweringError (std::rethrow_if_nested gives it back).
ExportedProgram lowerProgram(const ExportedProgram& program, const OpBackend& backend,
                             std::string_view methodName);

}  // namespace edgefx

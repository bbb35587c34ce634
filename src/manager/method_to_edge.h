#pragma once

#include <edgefx/program/compile_config.h>
#include <edgefx/program/exported_program.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace edgefx::detail {

// One method from torch.export's form to edge dialect, as toEdge says it. Calls that `keeps` accepts
// are not decomposed; the names of their operators are added to `keptOperators`, and the checks let them
// pass. Errors name the method.
ExportedProgram methodToEdge(ExportedProgram program, std::string_view method,
                             const EdgeCompileConfig& config,
                             const std::function<bool(const Node& call)>& keeps,
                             std::set<std::string>& keptOperators);

}  // namespace edgefx::detail

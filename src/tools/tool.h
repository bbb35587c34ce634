#pragma once

#include <string>
#include <vector>

namespace edgefx::tools {

// What scripts that call the tool see.
enum class ExitCode : int {
  Ok = 0,
  BadModel = 1,    // a model breaks a rule of its form, leaves more undelegated than was allowed, or computes
                   // something else than was expected
  Usage = 2,       // wrong arguments, or names that the file or the plugins do not have
  File = 3,        // a file cannot be read or written
  Lowering = 4,    // a partitioner or backend failed, or returned what does not hold together
  Unexpected = 5,  // a bug, or no memory left
  Run = 6,         // a model cannot run here, or failed while it ran
};

struct ToolResult {
  ExitCode exitCode = ExitCode::Ok;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

// Runs the tool with the arguments that follow its name. Throws nothing; files are all that it changes.
ToolResult runTool(const std::vector<std::string>& arguments);

}  // namespace edgefx::tools

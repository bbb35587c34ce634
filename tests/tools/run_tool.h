#pragma once

#include <string>
#include <vector>

namespace edgefx::test {

struct ToolRun {
  int exitCode = -1;  // -1 if a signal ended it
  std::string out;
  std::string err;
};

// Runs the tool's code in this process, for starting one costs half a second.
ToolRun runTool(const std::vector<std::string>& arguments);

// Starts the built tool and waits for its end.
ToolRun startTool(const std::vector<std::string>& arguments);

// The same with its stdout at the open file `out`, or closed if that is -1.
ToolRun startToolTo(int out, const std::vector<std::string>& arguments);

}  // namespace edgefx::test

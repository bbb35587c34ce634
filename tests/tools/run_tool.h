#pragma once

#include <string>
#include <vector>

namespace edgefx::test {

struct ToolRun {
  int exitCode = -1;  // -1 if a signal ended it
  std::string out;
  std::string err;
};

// Starts the built tool and waits for its end.
ToolRun runTool(const std::vector<std::string>& arguments);

// The same with its stdout at the open file `out`, or closed if that is -1.
ToolRun runToolTo(int out, const std::vector<std::string>& arguments);

}  // namespace edgefx::test

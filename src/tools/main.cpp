#include "tools/tool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

using edgefx::tools::ExitCode;

// A file that the tool opens must not become a standard stream that its caller closed.
void occupyClosedStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1) continue;
    // Opened for the wrong direction, so that using it fails as it would have.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1) return;
  }
}

// Returns 0, or the system's error number.
int writeAll(int stream, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = write(stream, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  occupyClosedStreams();
  std::signal(SIGPIPE, SIG_IGN);

  edgefx::tools::ToolResult result =
      edgefx::tools::runTool(std::vector<std::string>(argv + (argc > 0), argv + argc));
  if (int error = writeAll(STDOUT_FILENO, result.out); error != 0) {
    result.exitCode = ExitCode::File;
    // Whoever closed the pipe, such as `head`, has seen enough.
    if (error != EPIPE)
      result.err += std::string("edgefx: cannot write to stdout: ") + std::strerror(error) + '\n';
  }
  writeAll(STDERR_FILENO, result.err);
  return static_cast<int>(result.exitCode);
}

#include "tools/run_tool.h"

#include "support/test_data.h"
#include "tools/tool.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace edgefx::test {
namespace {

// Only what may follow fork in a process with threads.
[[noreturn]] void becomeTool(char** arguments, int out, int err) {
  if (dup2(err, STDERR_FILENO) < 0) _exit(126);
  if (out < 0) {
    close(STDOUT_FILENO);
  } else if (dup2(out, STDOUT_FILENO) < 0) {
    _exit(126);
  }
  execv(arguments[0], arguments);
  _exit(127);
}

int openForWriting(const std::string& path) {
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot write " + path);
  return file;
}

}  // namespace

ToolRun runTool(const std::vector<std::string>& arguments) {
  tools::ToolResult result = tools::runTool(arguments);
  return {static_cast<int>(result.exitCode), std::move(result.out), std::move(result.err)};
}

ToolRun startToolTo(int out, const std::vector<std::string>& arguments) {
  std::vector<std::string> words{std::string(EDGEFX_BINARY_DIR) + "/edgefx"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  TempDir dir;
  const std::string errPath = dir / "err";
  const int err = openForWriting(errPath);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot start the tool");
  if (child == 0) becomeTool(pointers.data(), out, err);
  close(err);

  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("cannot wait for the tool");
  ToolRun run;
  if (WIFEXITED(status)) run.exitCode = WEXITSTATUS(status);
  run.err = readFile(errPath);
  return run;
}

ToolRun startTool(const std::vector<std::string>& arguments) {
  TempDir dir;
  const std::string outPath = dir / "out";
  const int out = openForWriting(outPath);
  ToolRun run = startToolTo(out, arguments);
  close(out);
  run.out = readFile(outPath);
  return run;
}

}  // namespace edgefx::test

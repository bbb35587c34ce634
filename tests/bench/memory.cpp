#include "bench/memory.h"

#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace edgefx::bench {
namespace {

struct Status {
  double peak = 0, resident = 0, files = 0;
};

// Of this process, in bytes.
Status readStatus() {
  std::ifstream stream("/proc/self/status");
  Status status;
  for (std::string line; std::getline(stream, line);) {
    const auto read = [&](std::string_view key, double& value) {
      if (line.starts_with(key)) value = 1024 * std::stod(line.substr(key.size()));
    };
    read("VmHWM:", status.peak);
    read("VmRSS:", status.resident);
    read("RssFile:", status.files);
  }
  return status;
}

}  // namespace

size_t heapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

Growth growthOf(const std::function<void()>& work) {
  // Free memory that the heap still holds would serve the child without being seen.
  malloc_trim(0);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot make a child process");
  if (child == 0) {
    try {
      // A new process starts with its present size as peak.
      const Status before = readStatus();
      work();
      const Status after = readStatus();
      const Growth growth{after.peak - before.resident - std::max(0.0, after.files - before.files),
                          after.resident - before.resident};
      _exit(write(ends[1], &growth, sizeof growth) == sizeof growth ? 0 : 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  close(ends[1]);
  Growth growth;
  const bool isWhole = read(ends[0], &growth, sizeof growth) == sizeof growth;
  close(ends[0]);
  int state = 0;
  waitpid(child, &state, 0);
  if (!isWhole || state != 0) throw std::runtime_error("the child process that was to be measured failed");
  return growth;
}

}  // namespace edgefx::bench

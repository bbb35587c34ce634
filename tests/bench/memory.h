#pragma once

#include <cstddef>
#include <functional>

namespace edgefx::bench {

// Bytes that malloc has handed out to this program, its own overhead included.
size_t heapBytes();

struct Growth {
  double peak = 0;      // of the most memory in use at any time, pages of mapped files not counted; bytes
  double resident = 0;  // of the resident memory at the end, pages of mapped files included; bytes
};

// Runs `work` in a child process and tells how its memory grew. What `work` is to be seen holding at the end
// must outlive it. Throws std::runtime_error if the child fails.
Growth growthOf(const std::function<void()>& work);

}  // namespace edgefx::bench

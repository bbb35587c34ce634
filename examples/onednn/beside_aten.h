#pragma once

#include <string>

namespace onednn {

// The library whose matrix product (sgemm) LibTorch calls, links resolved, and what it is: "OpenBLAS" or the
// like.
std::string blasInUse();

// Runs each kernel beside LibTorch's on a few shapes larger than those of the example models, and prints
// times and largest differences. Returns whether all agree.
bool compareKernels();

}  // namespace onednn

#pragma once

namespace edgefx::test {

// Registers the operators mylib::* and fxlog::* that programs among the fixtures call, with kernels for the
// CPU. Once per process; further calls do nothing.
void registerCustomOperators();

}  // namespace edgefx::test

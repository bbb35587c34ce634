// Lowers an exported program for the kernel in this folder, and checks that it computes the same.
//   custom_library MODEL.pt2 OUT.pt2

#include "backend.h"
#include "kernel.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: custom_library MODEL.pt2 OUT.pt2\n", stderr), 2;
  try {
    custom::registerKernels();
    const edgefx::EdgeProgramManager manager = edgefx::toEdge(edgefx::loadProgram(argv[1]));
    const edgefx::EdgeProgramManager lowered = manager.toOpBackend(custom::Backend());
    size_t calls = 0;
    for (const edgefx::Node& node : lowered.exportedProgram().graph().nodes())
      calls += node.callsOperator("custom.add_relu.default") ? 1 : 0;
    std::printf("%zu calls of custom.add_relu\n", calls);

    const edgefx::VerifyReport report =
        edgefx::verifyLowering(manager.exportedProgram(), lowered.exportedProgram());
    std::fputs(report.text(true).c_str(), stdout);
    edgefx::saveProgram(lowered.exportedProgram(), argv[2]);
    return report.agrees() ? 0 : 1;
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}

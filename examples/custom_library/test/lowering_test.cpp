// A program in edgefx's text, lowered: what is expected to change changes, the rest stays, and both compute
// the same.

#include "../backend.h"
#include "../kernel.h"

#include <cstdio>
#include <string>

namespace {

constexpr const char* kProgram = R"(edgefx text 1
method "forward"(
  %x : f32[2, 3],
  %row : f32[3]
):
  %add = aten.add.Tensor(%x, %x) : f32[2, 3]
  %relu = aten.relu.default(%add) : f32[2, 3]
  %add_1 = aten.add.Tensor(%relu, %row) : f32[2, 3]
  %relu_1 = aten.relu.default(%add_1) : f32[2, 3]
  return (%relu_1,)
)";

// The backend claims it, and has no kernel for it.
constexpr const char* kDoubles = R"(edgefx text 1
method "forward"(
  %x : f64[2]
):
  %add = aten.add.Tensor(%x, %x) : f64[2]
  %relu = aten.relu.default(%add) : f64[2]
  return (%relu,)
)";

int faults = 0;

void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", what);
  faults += holds ? 0 : 1;
}

size_t calls(const edgefx::ExportedProgram& program, std::string_view name) {
  size_t count = 0;
  for (const edgefx::Node& node : program.graph().nodes()) count += node.callsOperator(name) ? 1 : 0;
  return count;
}

}  // namespace

int main() {
  custom::registerKernels();
  const edgefx::EdgeProgramManager manager(edgefx::parseProgram(kProgram));
  const edgefx::EdgeProgramManager loweredManager = manager.toOpBackend(custom::Backend());
  const edgefx::ExportedProgram& lowered = loweredManager.exportedProgram();
  expect(calls(lowered, "custom.add_relu.default") == 1, "relu(x + x) is one call of the kernel");
  expect(calls(lowered, "aten.add.Tensor") == 1, "the sum that broadcasts stays");
  expect(calls(lowered, "aten.relu.default") == 1, "and so does its relu");
  expect(edgefx::verifyLowering(manager.exportedProgram(), lowered).agrees(), "both compute the same");

  const edgefx::EdgeProgramManager doubles(edgefx::parseProgram(kDoubles));
  const std::string before = programText(doubles.exportedProgram());
  std::string refusal;
  try {
    doubles.toOpBackend(custom::Backend());
  } catch (const edgefx::LoweringError& error) {
    refusal = error.what();
  }
  std::printf("%s\n", refusal.c_str());
  expect(refusal.find("node '%relu'") != std::string::npos, "what there is no kernel for is refused by name");
  expect(refusal.find("float64[2]") != std::string::npos, "and with its shapes");
  expect(programText(doubles.exportedProgram()) == before, "and its program is what it was");
  return faults == 0 ? 0 : 1;
}

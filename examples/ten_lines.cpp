// Renames every ReLU for a kernel library of its own. The README shows the lines between the markers.
// [readme]
#include <edgefx/edgefx.h>

struct MyBackend : edgefx::OpBackend {
  std::string_view name() const override { return "my-backend"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view /*method*/) const override {
    for (edgefx::Node& node : program.graph().nodes()) {
      if (node.isCall("aten.relu.default")) node.setTarget("mylib.relu.default");
    }
    return program;
  }
};

int main(int, char** argv) {
  edgefx::EdgeProgramManager manager(edgefx::loadProgram(argv[1]));
  edgefx::saveProgram(manager.toOpBackend(MyBackend()).exportedProgram(), argv[2]);
}
// [readme]

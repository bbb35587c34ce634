// 07: a cond and its branches. They go into the delegate with it, or it stays and delegates are made inside.
//   07_control_flow MODEL.pt2

#include <edgefx/edgefx.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

class Compiler final : public edgefx::BackendDetails {
 public:
  std::string_view name() const override { return "npu"; }
  edgefx::PreprocessResult preprocess(const edgefx::ExportedProgram& program,
                                      std::span<const edgefx::CompileSpec> /*specs*/) const override {
    return {edgefx::SharedBytes::copyOf(edgefx::fxText(program.graphModule()))};
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: 07_control_flow MODEL.pt2\n", stderr), 2;
  edgefx::BackendRegistry registry;
  registry.add(std::make_unique<Compiler>());
  const edgefx::ExportedProgram program = edgefx::loadProgram(argv[1]);

  // Branches are graph modules that get_attr nodes name.
  for (const edgefx::Node& node : program.graph().nodes()) {
    for (const edgefx::GraphModule* branch : edgefx::branchesOf(node, program.graphModule())) {
      std::printf("%%%s has a branch of %zu nodes\n", std::string(node.name()).c_str(),
                  branch->graph().size());
    }
  }

  bool agrees = true;
  for (const auto mode : {edgefx::ControlFlow::Whole, edgefx::ControlFlow::Branches}) {
    const edgefx::AotiPartitioner partitioner({"npu"}, "all", mode);  // takes all that it may
    const edgefx::ExportedProgram lowered = edgefx::toBackend(program, partitioner, registry);
    std::printf("\n%s:\n%s", mode == edgefx::ControlFlow::Whole ? "whole" : "inside of the branches",
                edgefx::fxText(lowered.graphModule()).c_str());
    agrees = agrees && edgefx::verifyLowering(program, lowered).agrees();
  }
  return agrees ? 0 : 1;
}

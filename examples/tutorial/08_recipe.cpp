// 08: the whole way as data: two recipes, one for a device that takes delegates, one for a kernel library
// that takes what is left, combined and run on a program as torch.export gives it.
//   08_recipe MODEL.pt2 OUT.pt2

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
    return {edgefx::SharedBytes::copyOf(edgefx::fxText(program.graph()))};
  }
};

// Wants linear layers whole: they are not decomposed before it has seen them.
class LinearPartitioner final : public edgefx::Partitioner {
 public:
  std::string_view name() const override { return "npu-partitioner"; }
  edgefx::PartitionResult partition(const edgefx::ExportedProgram& program) const override {
    return edgefx::partitionBySupport(program, edgefx::support::operators({"aten.linear.default"}),
                                      {.spec = {"npu"}});
  }
  bool keepsWhole(const edgefx::Node& call) const override {
    return call.callsOperator("aten.linear.default");
  }
};

class Kernels final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "kernels"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view /*method*/) const override {
    edgefx::ProgramRewriter(program).retarget("aten.relu.default", "mylib.relu.default");
    return program;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: 08_recipe MODEL.pt2 OUT.pt2\n", stderr), 2;
  edgefx::BackendRegistry registry;
  registry.add(std::make_unique<Compiler>());

  const edgefx::LoweringRecipe device{.name = "npu", .partitioners = {std::make_shared<LinearPartitioner>()}};
  const edgefx::LoweringRecipe kernels{.name = "kernels",
                                       .transformPasses = {edgefx::makePass("no-ops")},
                                       .opBackends = {std::make_shared<Kernels>()},
                                       .saveTo = argv[2]};
  edgefx::EdgeProgramManager::Methods methods;
  methods.emplace_back("forward", edgefx::loadProgram(argv[1]));
  edgefx::LoweringSession session(std::move(methods), edgefx::combineRecipes({device, kernels}), registry);
  try {
    session.run();
  } catch (const edgefx::Error& error) {
    // What the stages before made is still there: session.edgeProgramManager().
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
  for (const edgefx::Stage stage :
       {edgefx::Stage::ToEdgeTransformAndLower, edgefx::Stage::TransformManager}) {
    std::printf("after %s:\n%s\n", std::string(edgefx::name(stage)).c_str(),
                edgefx::fxText(session.artifact(stage)->exportedProgram().graph()).c_str());
  }
}

// 06: what a device can run becomes a delegate, compiled by its backend; everything else stays.
//   06_partition_and_delegate MODEL.pt2 OUT.pt2

#include <edgefx/edgefx.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

// Which nodes? A partitioner may only tag, and says why it left out what it left out.
class Partitioner final : public edgefx::Partitioner {
 public:
  std::string_view name() const override { return "npu-partitioner"; }
  edgefx::PartitionResult partition(const edgefx::ExportedProgram& program) const override {
    const edgefx::OperatorSupport supported =
        edgefx::support::operators({"aten.addmm.default", "aten.permute.default", "aten.relu.default"}) &&
        edgefx::support::dtypes({edgefx::Dtype::Float32});
    return edgefx::partitionBySupport(program, supported, {.spec = {"npu"}});
  }
};

// What becomes of them? The backend gets a program of its own, weights included, and gives bytes.
class Compiler final : public edgefx::BackendDetails {
 public:
  std::string_view name() const override { return "npu"; }
  edgefx::PreprocessResult preprocess(const edgefx::ExportedProgram& program,
                                      std::span<const edgefx::CompileSpec> /*specs*/) const override {
    return {edgefx::SharedBytes::copyOf(edgefx::fxText(program.graph()))};
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: 06_partition_and_delegate MODEL.pt2 OUT.pt2\n", stderr), 2;
  edgefx::BackendRegistry registry;
  registry.add(std::make_unique<Compiler>());

  const edgefx::EdgeProgramManager manager(edgefx::loadProgram(argv[1]));
  const edgefx::EdgeProgramManager lowered = manager.toBackend(Partitioner(), registry);
  const edgefx::ExportedProgram& program = lowered.exportedProgram();
  std::printf("%s\n", edgefx::delegatedText(program).c_str());

  edgefx::DelegationReport report;
  report.methods.push_back(edgefx::reportDelegation(program));
  std::printf("%s\n", edgefx::text(report).c_str());  // how much is delegated, and why the rest is not
  edgefx::saveProgram(program, argv[2]);
  return edgefx::verifyLowering(manager.exportedProgram(), program).agrees() ? 0 : 1;
}

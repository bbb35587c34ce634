// 04: an operator backend, for a kernel library "npu" with an addmm that takes its weight transposed and a
// relu fused into it.
//   04_op_backend MODEL.pt2 OUT.pt2

#include <edgefx/edgefx.h>

#include <cstdio>
#include <string>

namespace {

class Npu final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "npu"; }

  // The program is this backend's own copy. What it returns is checked against its own signature.
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view /*method*/) const override {
    edgefx::ProgramRewriter rewriter(program);  // graph, signature, tables and metadata, changed as one
    for (edgefx::Node& relu : program.graph().nodes()) {
      edgefx::Node* const atan = soleInput(relu, "aten.relu.default");
      edgefx::Node* const addmm = atan == nullptr ? nullptr : soleInput(*atan, "aten.atan.default");
      if (addmm == nullptr || !addmm->callsOperator("aten.addmm.default") || addmm->numUsers() != 1) continue;
      edgefx::InsertionGuard guard(program.graph(), edgefx::before(relu));
      edgefx::Node& fused =
          rewriter.call("npu.addmm_atan_relu.default", {addmm->arg(0), addmm->arg(1), addmm->arg(2)});
      rewriter.replace(relu, fused, {atan, addmm});  // users, results, specs, metadata of all three
    }
    rewriter.retarget("aten.relu.default", "npu.relu.default");  // the others
    rewriter.eraseDeadNodes();
    return program;
  }

 private:
  // The first operand of a call of that operator, if nobody else reads it.
  static edgefx::Node* soleInput(const edgefx::Node& call, std::string_view name) {
    edgefx::Node* const input = call.callsOperator(name) ? call.arg(0).findNode() : nullptr;
    return input != nullptr && input->numUsers() == 1 ? input : nullptr;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: 04_op_backend MODEL.pt2 OUT.pt2\n", stderr), 2;
  try {
    const edgefx::EdgeProgramManager manager(edgefx::loadProgram(argv[1]));
    const edgefx::EdgeProgramManager lowered = manager.toOpBackend(Npu());  // `manager` stays as it is
    std::printf("%s\n", edgefx::fxText(lowered.exportedProgram().graph()).c_str());
    edgefx::saveProgram(lowered.exportedProgram(), argv[2]);
  } catch (const edgefx::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;  // names backend, method and input
  }
}

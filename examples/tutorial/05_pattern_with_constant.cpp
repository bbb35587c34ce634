// 05: the same as rules: what to look for is a pattern, and the new node reads a constant that was made for
// it.
//   05_pattern_with_constant MODEL.pt2 OUT.pt2

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>

#include <ATen/core/Tensor.h>

#include <cstdio>
#include <string>

namespace {

using edgefx::Match;
using edgefx::ProgramRewriter;
using edgefx::patterns::any;
using edgefx::patterns::constant;
using edgefx::patterns::equals;
using edgefx::patterns::op;

class Npu final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "npu"; }

  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view /*method*/) const override {
    ProgramRewriter rewriter(program);
    edgefx::RuleSet rules;

    // addmm(bias, x, permute(weight, [1, 0])) reads a packed weight instead.
    const edgefx::Pattern transposed = op({"aten.permute.default", "aten.permute_copy.default"},
                                          {constant("weight"), equals(edgefx::Arg::list({1, 0}))});
    rules.add("pack-weight", op("aten.addmm.default", any("bias"), any("x"), transposed.singleUse()),
              [](const Match& match, ProgramRewriter& rewriter) {
                const at::Tensor& weight = rewriter.tensor(match["weight"]);
                if (weight.size(0) % 2 != 0) return match.decline("the kernel takes an even number of rows");
                edgefx::Node& packed = rewriter.addConstant("weight_packed", weight.t().contiguous());
                return rewriter.replace(
                    match.root(), rewriter.call("npu.linear.default", {match["x"], packed, match["bias"]}));
              });
    rules.run(rewriter);  // in the order of the graph, until none matches

    // Each rule can be counted, switched off, and asked why it did not match.
    for (const edgefx::RuleSet::Info& rule : rules.rules())
      std::printf("rule '%s' changed %zu nodes\n", rule.name.c_str(), rule.changed);
    for (const edgefx::Node& node : program.graph().nodes()) {
      if (!node.isCall() || node.callsOperator("npu.linear.default")) continue;
      std::printf("%%%s: %s\n", std::string(node.name()).c_str(),
                  rules.explain("pack-weight", node, program).c_str());
    }
    rewriter.eraseDeadInputs();  // the weight that nobody reads now, with its spec and tensor
    return program;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: 05_pattern_with_constant MODEL.pt2 OUT.pt2\n", stderr), 2;
  const edgefx::EdgeProgramManager manager(edgefx::loadProgram(argv[1]));
  const edgefx::EdgeProgramManager lowered = manager.toOpBackend(Npu());
  std::printf("%s\n", edgefx::fxText(lowered.exportedProgram().graph()).c_str());
  edgefx::saveProgram(lowered.exportedProgram(), argv[2]);
}

#pragma once

#include <edgefx/edgefx.h>

namespace custom {

// relu(x + y), where nobody else reads the sum, becomes custom::add_relu(x, y).
class Backend final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "custom"; }

  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view /*method*/) const override {
    using edgefx::patterns::any;
    const edgefx::Pattern sum = edgefx::patterns::op("aten.add.Tensor", any("x"), any("y")).singleUse();

    edgefx::RuleSet rules;
    rules.add(
        "add-relu", edgefx::patterns::op("aten.relu.default", sum),
        [](const edgefx::Match& match, edgefx::ProgramRewriter& rewriter) {
          const edgefx::TensorMeta *x = tensorMetaOf(match["x"]), *y = tensorMetaOf(match["y"]);
          if (x == nullptr || y == nullptr || x->sizes != y->sizes)
            return match.decline("the kernel does not broadcast");  // and so the sum stays
          if (x->dtype != edgefx::Dtype::Float32 || y->dtype != edgefx::Dtype::Float32)
            throw edgefx::LoweringError(nodeFault(match.root(), "custom::add_relu is for float32 only"));
          return rewriter.replace(match.root(),
                                  rewriter.call("custom.add_relu.default", {match["x"], match["y"]}));
        });
    edgefx::ProgramRewriter rewriter(program);
    rules.run(rewriter);
    return program;
  }
};

}  // namespace custom

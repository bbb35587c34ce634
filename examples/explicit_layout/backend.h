#pragma once

#include <edgefx/backend/op_backend.h>

#include <string>

namespace nhwc {

struct Options {
  // How results get back their channels-last strides where the program had them: by memory_format arguments,
  // or by dim-order operators. As EdgeCompileConfig::skipDimOrder of the program.
  bool skipDimOrder = false;
  // Whether permutes that undo each other go; if not, one sees all that were inserted.
  bool cancels = true;
};

// Lowers convolutions and max pooling of float32 images in the top level graph to the operators of kernels.h.
// Batch norms behind convolutions are folded into their weights, and weights are permuted once, as new
// constant inputs. Programs of other dialects than Core ATen and edge stay as they are, for their operators
// have other names.
class ExplicitLayoutBackend final : public edgefx::OpBackend {
 public:
  explicit ExplicitLayoutBackend(Options options = {}) : options_(options) {}

  std::string_view name() const override {
    return options_.skipDimOrder ? "explicit_layout_skip_dim_order" : "explicit_layout";
  }
  // Throws LoweringError for a convolution or pooling that the kernels cannot compute.
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view methodName) const override;
  void addShapeRules(edgefx::ShapeRules& rules) const override;

 private:
  Options options_;
};

}  // namespace nhwc

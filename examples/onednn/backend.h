#pragma once

#include <edgefx/backend/op_backend.h>

namespace onednn {

// Lowers to the operators of kernels.h, in float32: convolutions and linear layers, whose weights it packs,
// products of matrices, and what can be done to their results at once (a batch norm, an addition, relu, gelu,
// tanh). Everything else stays as it is.
//
// Every float32 convolution of a stored weight is claimed: one that there is no kernel for (transposed, not
// of two dimensions, of sizes that are not known) is an error, as leaving it would be slow without a word.
class OneDnnBackend final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "onednn"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view methodName) const override;
  void addShapeRules(edgefx::ShapeRules& rules) const override;
};

}  // namespace onednn

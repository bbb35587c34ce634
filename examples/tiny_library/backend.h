#pragma once

#include <edgefx/backend/op_backend.h>

namespace tiny {

// Lowers to the operators of kernels.h: a linear layer (permute of a weight, then addmm) becomes tiny.linear,
// which reads a packed copy of the weight as a new constant input; atan followed by relu becomes
// tiny.atan_relu. Everything else stays as it is.
class TinyBackend final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "tiny"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view methodName) const override;
  void addShapeRules(edgefx::ShapeRules& rules) const override;
};

// Does one thing wrong: adds a placeholder and forgets to tell the graph signature what it is.
class ForgetfulBackend final : public edgefx::OpBackend {
 public:
  std::string_view name() const override { return "forgetful"; }
  edgefx::ExportedProgram lower(edgefx::ExportedProgram program, std::string_view methodName) const override;
};

}  // namespace tiny

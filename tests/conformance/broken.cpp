#include "backends.h"

namespace edgefx::conformance {
namespace {

class Broken final : public OpBackend {
 public:
  std::string_view name() const override { return "broken"; }

  ExportedProgram lower(ExportedProgram program, std::string_view /*methodName*/) const override {
    program.graph().outputNode().setArgs({Arg::tuple({})});
    return program;
  }
};

}  // namespace

std::unique_ptr<OpBackend> makeBroken() {
  return std::make_unique<Broken>();
}

}  // namespace edgefx::conformance

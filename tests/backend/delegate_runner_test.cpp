#include <edgefx/backend/backend_registry.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

// Compiles to nothing; runs a delegate as three times its argument, if it runs it at all.
class Tripling final : public BackendDetails {
 public:
  explicit Tripling(bool runs) : runs_(runs) {}

  std::string_view name() const override { return "sample"; }
  PreprocessResult preprocess(const ExportedProgram&, std::span<const CompileSpec>) const override {
    return {};
  }
  std::optional<std::vector<c10::IValue>> run(const LoweredModule& module,
                                              std::span<const c10::IValue> arguments) const override {
    if (!runs_) return BackendDetails::run(module, arguments);
    return std::vector<c10::IValue>{arguments[0].toTensor() * 3};
  }

 private:
  bool runs_;
};

// A delegate of the backend "sample", whose own program negates.
ExportedProgram negatingDelegate() {
  ProgramBuilder inner;
  Node& x = inner.userInput("x", tensorValue({2}));
  inner.userOutput(inner.call("aten.neg.default", {x}, tensorValue({2})));
  ProgramBuilder outer;
  Node& y = outer.userInput("y", tensorValue({2}));
  Node& call = callDelegate(outer.program().graphModule(), "lowered_module_0",
                            std::make_shared<const LoweredModule>(sampleLowered(inner.finish())), {y},
                            {tensorValue({2})});
  outer.userOutput(getitem(call, 0));
  return outer.finish();
}

at::Tensor runWith(const BackendRegistry& registry) {
  const ExportedProgram program = negatingDelegate();
  RunOptions options;
  options.delegateRunner = delegateRunner(registry);
  return Interpreter(program, options).run({sampleTensor({2})})[0].toTensor();
}

TEST(DelegateRunner, BackendsRunTheirDelegates) {
  BackendRegistry registry;
  registry.add(std::make_unique<Tripling>(true));
  EXPECT_TRUE(at::equal(runWith(registry), sampleTensor({2}) * 3));
}

TEST(DelegateRunner, OtherDelegatesRunTheirOwnProgram) {
  EXPECT_TRUE(at::equal(runWith(BackendRegistry()), sampleTensor({2}).neg()));
  BackendRegistry registry;
  registry.add(std::make_unique<Tripling>(false));
  EXPECT_TRUE(at::equal(runWith(registry), sampleTensor({2}).neg()));
}

}  // namespace
}  // namespace edgefx::test

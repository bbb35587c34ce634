#include <edgefx/text/program_text.h>

#include "ir/graph_testing.h"
#include "support/program_builder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

ExportedProgram chainProgram(size_t nodes) {
  ProgramBuilder builder;
  Node* at = &builder.userInput("x", tensorValue({1, 16, 32, 32}));
  Node& weight = builder.parameter("w", sampleTensor({16}));
  for (size_t i = 0; i < nodes; ++i) {
    at = &builder.call("aten.add.Tensor", {*at, weight}, tensorValue({1, 16, 32, 32}));
    at->editMeta([&](NodeMeta& meta) {
      meta.set("stack_trace", fmt::format("File \"model.py\", line {}, in forward\n    x = x + self.w", i));
      meta.set("nn_module_stack",
               fmt::format("L__self__,,Model;L__self__layers_{0},layers.{0},Layer", i / 10));
    });
  }
  builder.userOutput(*at);
  return builder.finish();
}

// Anything quadratic takes minutes.
TEST(ProgramTextSpeed, IsLinear) {
  const ExportedProgram program = chainProgram(100'000);
  const CpuTimer timer;
  const ExportedProgram again = parseProgram(programText(program));
  EXPECT_LT(timer.seconds(), 20);
  EXPECT_EQ(again.graph().size(), program.graph().size());
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>

#include "backend/test_delegates.h"
#include "support/random_program.h"
#include "support/random_tags.h"
#include "support/value_numbers.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

class ToBackendRandom : public testing::TestWithParam<int> {};

TEST_P(ToBackendRandom, GivesANamedErrorOrAProgramThatComputesTheSame) {
  constexpr uint64_t kPrograms = 300;
  const BackendRegistry registry = textBackends({"even", "odd"});
  size_t lowered = 0, refused = 0, delegates = 0;
  for (uint64_t i = 0; i < kPrograms; ++i) {
    const uint64_t seed = static_cast<uint64_t>(GetParam()) * kPrograms + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const ExportedProgram program = randomProgram(dice);
    ASSERT_EQ(render(checkProgram(program)), "");
    const ExportedProgram before = program.clone();
    const FunctionPartitioner partitioner(
        [&](const ExportedProgram& shown) { return randomTags(shown, seed); });
    try {
      const ExportedProgram after = toBackend(program, partitioner, registry);
      ASSERT_EQ(render(checkProgram(after)), "");
      ValueNumbers numbers;
      ASSERT_EQ(numbers.resultsOf(after), numbers.resultsOf(program))
          << fxText(program.graph()) << fxText(after.graph());
      for (const ConstNestedModule& nested : namedModules(after.graphModule())) {
        for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
          ASSERT_EQ(render(checkProgram(delegate.module->program)), "");
          ++delegates;
        }
        for (const Node& node : nested.module->graph().nodes()) ASSERT_NE(node.op(), NodeOp::CallModule);
      }
      const ExportedProgram again = toBackend(program, partitioner, registry);
      ASSERT_EQ(fxText(again.graph()), fxText(after.graph()));
      ++lowered;
    } catch (const LoweringError& error) {
      for (const Diagnostic& diagnostic : error.diagnostics()) {
        ASSERT_EQ(diagnostic.method, "forward") << error.what();
        ASSERT_FALSE(diagnostic.backend.empty()) << error.what();
        ASSERT_FALSE(diagnostic.node.empty()) << error.what();
      }
      ++refused;
    }
    const std::optional<Diagnostic> difference = findDifference(before, program);
    ASSERT_FALSE(difference.has_value()) << difference->render();
  }
  EXPECT_GT(lowered, kPrograms / 3);
  EXPECT_GT(refused, kPrograms / 20);
  EXPECT_GT(delegates, lowered);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ToBackendRandom, testing::Range(0, 8));

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>

#include "backend/test_delegates.h"
#include "support/random_program.h"
#include "support/value_numbers.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

// Tags runs of nodes in the order of each graph, which are always convex, or, in the wild mode, any nodes at
// all.
PartitionResult randomTags(const ExportedProgram& program, uint64_t seed) {
  Dice dice(seed);
  const bool wild = dice.percent(30);
  PartitionResult result;
  size_t numTags = 0;
  std::string tag;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (!nested.path.empty() && !dice.percent(50)) continue;
    for (const Node& node : nested.module->graph().nodes()) {
      if (node.isOutput() || node.isPlaceholder() || node.isGetAttr()) continue;
      if (getitemIndex(node)) {
        const std::string_view producer = result.tags.tagOf(node.arg(0).asNode());
        if (!producer.empty()) result.tags.tag(node, producer);
        continue;
      }
      if (wild ? dice.percent(60) : dice.percent(25))
        tag = dice.percent(25) ? "" : "t" + std::to_string(numTags++);
      if (wild && numTags > 0) tag = "t" + std::to_string(dice.below(std::min<size_t>(numTags, 3)));
      if (tag.empty()) continue;
      result.tags.tag(node, tag);
      for (const Node& input : node.inputs()) {
        if (input.isGetAttr() && (!wild || dice.percent(90))) result.tags.tag(input, tag);
      }
    }
    tag.clear();
  }
  for (const Node* node : program.graph().placeholders()) {
    const bool isState = program.signature.findInput(node->name())->target.has_value();
    if (!isState || node->numUsers() == 0 || !dice.percent(60)) continue;
    const std::string_view first = result.tags.tagOf(node->users().front());
    if (!first.empty()) result.tags.tag(*node, first);
  }
  for (size_t i = 0; i < numTags; ++i) {
    result.addSpec("t" + std::to_string(i), {i % 2 == 0 ? "even" : "odd", {{"n", std::to_string(i)}}});
  }
  return result;
}

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
        delegates += nested.module->delegates().size();
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

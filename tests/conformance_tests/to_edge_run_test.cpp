#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_dialect.h>
#include <edgefx/program/check_program.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "conformance_tests/expect_results.h"
#include "support/custom_operators.h"
#include "support/expected_results.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

// Functional programs and edge programs compute what PyTorch computed with the programs they were made of.
namespace edgefx::test {
namespace {

struct KnownProgram {
  std::string name;
  ExportedProgram program;
  std::vector<SavedCall> calls;
};

template <typename Visit>
void forEachKnownProgram(Visit&& visit) {
  registerCustomOperators();
  for (const CorpusProgram& corpus : corpusPrograms()) {
    const auto expected = expectedResults(corpus);
    if (!expected || corpus.kind != CorpusKind::Fixture || !corpus.model.empty()) continue;
    if (cannotRunHere().contains(corpus.name)) continue;
    SCOPED_TRACE(corpus.name);
    try {
      visit(KnownProgram{corpus.name, loadProgram(corpus.file), readSavedCalls(*expected)});
    } catch (const Error& error) {
      ADD_FAILURE() << corpus.name << ": " << error.what();
    }
  }
}

TEST(ToEdgeRun, FunctionalProgramsGivePytorchsResultsAndState) {
  size_t written = 0;
  forEachKnownProgram([&](KnownProgram known) {
    const bool writes = !checkDialect(known.program, OperatorSet::Aten).empty();
    const ExportedProgram made = functionalize(known.program.clone());
    for (const Diagnostic& fault : checkProgram(made)) ADD_FAILURE() << fault.render();
    for (const Diagnostic& fault : checkDialect(made, OperatorSet::Aten)) {
      if (fault.rule == "functional") ADD_FAILURE() << fault.render();
    }
    if (!writes) return;
    ++written;
    expectResults(made, known.calls, known.name);
  });
  EXPECT_GT(written, 6u);
}

TEST(ToEdgeRun, EdgeProgramsGivePytorchsResultsAndState) {
  size_t converted = 0;
  forEachKnownProgram([&](KnownProgram known) {
    const bool isDecomposed = known.name.ends_with("_core");
    for (const bool skipDimOrder : {false, true}) {
      EdgeCompileConfig config;
      config.skipDimOrder = skipDimOrder;
      const ExportedProgram edge = toEdgeDialect(functionalize(known.program.clone()), config);
      for (const Diagnostic& fault : checkProgram(edge)) ADD_FAILURE() << fault.render();
      // A matrix laid out otherwise, as the order of dimensions says, is summed in another order.
      const bool isInBfloat16 = known.name == "autocast_region_core";
      expectResults(edge, known.calls, known.name + (skipDimOrder ? "" : " (dim order)"),
                    isInBfloat16 ? Tolerance{1e-2, 1e-2} : Tolerance{});
      if (isDecomposed) ++converted;
    }
  });
  EXPECT_GT(converted, 70u);
}

// In the training form nothing but the writes keeps these from edge dialect.
TEST(ToEdgeRun, TrainingProgramsComeOutWithTheTextsOfExir) {
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  for (const std::string name : {"mutated_buffers", "user_input_mutation", "custom_op_mutate"}) {
    const ExportedProgram edge =
        toEdgeDialect(functionalize(loadProgram(fixture(name + "/program.pt2"))), config);
    const auto own = findFixture(name + "/edge.graph.txt");
    const std::string folder = own ? name : name + "_core";
    EXPECT_EQ(fxText(edge.graphModule()), readFile(fixture(folder + "/edge.graph.txt")));
    EXPECT_EQ(text(edge.signature), readFile(fixture(folder + "/edge.signature.txt")));
  }
}

}  // namespace
}  // namespace edgefx::test

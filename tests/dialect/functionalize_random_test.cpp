#include <edgefx/dialect/functionalize.h>
#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_dialect.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "backend/test_delegates.h"
#include "support/random_runnable.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

// Random programs that write in place compute the same without it, bit by bit, and keep the same state.
namespace edgefx::test {
namespace {

constexpr uint64_t kFunctionalPrograms = 600;

std::string fullText(const ExportedProgram& program) {
  return fxText(program.graphModule()) + text(program.signature);
}

bool losesParameters(const ExportedProgram& before, const ExportedProgram& after) {
  for (const auto& [name, entry] : before.stateDict()) {
    if (!after.stateDict().contains(name)) return true;
  }
  return false;
}

TEST(FunctionalizeRandom, ProgramsComputeTheSame) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  size_t written = 0;
  std::map<std::string, size_t> refused;
  for (uint64_t seed = 0; seed < kFunctionalPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const ExportedProgram program = randomRunnable(dice);
    const bool writes = !checkDialect(program, OperatorSet::Aten).empty();
    ExportedProgram made;
    try {
      made = functionalize(program.clone());
    } catch (const UnsupportedError& error) {
      EXPECT_FALSE(error.diagnostics().front().node.empty()) << error.what();
      ++refused[error.diagnostics().front().message];
      continue;
    }
    if (!writes) {
      EXPECT_EQ(fullText(made), fullText(program));
      continue;
    }
    ++written;
    ASSERT_EQ(render(checkProgram(made)), "") << fullText(program) << "\nafter\n" << fullText(made);
    ASSERT_EQ(render(checkDialect(made, OperatorSet::Aten)), "") << fullText(made);
    ASSERT_EQ(render(checkShapes(made)), "") << fullText(program) << "\nafter\n" << fullText(made);
    VerifyOptions options;
    options.tolerance = {0, 0};
    options.calls = 3;
    const VerifyReport report = verifyLowering(program, made, generateInputs(program, seed), options);
    ASSERT_TRUE(report.agrees()) << report.text() << fullText(program) << "\nafter\n" << fullText(made);
  }
  at::set_num_threads(threads);
  for (const auto& [message, count] : refused) std::printf("refused %zu times: %s\n", count, message.c_str());
  EXPECT_GT(written, kFunctionalPrograms / 10);
}

// Numbers are rounded to 16-bit operands, and copies of views are laid out anew.
TEST(FunctionalizeRandom, EdgeProgramsComputeTheSame) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  size_t compared = 0;
  for (uint64_t seed = 0; seed < kFunctionalPrograms / 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    const ExportedProgram program = randomRunnable(dice);
    for (const bool skipDimOrder : {false, true}) {
      EdgeCompileConfig config;
      config.skipDimOrder = skipDimOrder;
      ExportedProgram edge;
      try {
        edge = toEdgeDialect(functionalize(program.clone()), config);
      } catch (const UnsupportedError&) {
        continue;
      }
      ASSERT_EQ(render(checkProgram(edge)), "") << fullText(program) << "\nafter\n" << fullText(edge);
      const std::vector<Diagnostic> shapes = checkShapes(edge);
      ASSERT_EQ(render(shapes), "") << fullText(program) << "\nafter\n" << fullText(edge);
      // Where it looks as if unused parameters could be written, their state is asked for.
      if (!checkDialect(program, OperatorSet::Aten).empty() && losesParameters(program, edge)) continue;
      VerifyOptions options;
      options.tolerance = {2e-3, 2e-3};
      options.calls = 2;
      const VerifyReport report = verifyLowering(program, edge, generateInputs(program, seed), options);
      ASSERT_TRUE(report.agrees()) << report.text() << fullText(program) << "\nafter\n" << fullText(edge);
      ++compared;
    }
  }
  at::set_num_threads(threads);
  EXPECT_GT(compared, kFunctionalPrograms / 2);
}

}  // namespace
}  // namespace edgefx::test

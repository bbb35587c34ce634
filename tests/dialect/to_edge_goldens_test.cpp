#include <edgefx/dialect/to_edge.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_dialect.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "backend/test_delegates.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

// Every program that exir's to_edge was run on comes out with the same text, or it is said here why not.
namespace edgefx::test {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string>& edgeDifferences() {
  static const std::map<std::string, std::string> reasons = {
      {"cond_scalars_core",
       "exir keeps numbers of branches as tensor attributes of the graph modules, which no .pt2 file holds: "
       "they are calls of aten.full"},
      {"cond_shared_branch_one_module",
       "not decomposed; and exir takes a graph that two calls share apart into copies"},
      {"invoke_subgraph_core", "exir leaves the operators of an invoke_subgraph body ATen operators"},
      {"user_input_mutation", "not decomposed"},
      {"user_input_mutation_core",
       "exir functionalises what is functional already, which copies the new value onto the old one"},
  };
  return reasons;
}

ExportedProgram edgeOf(const CorpusProgram& program, bool skipDimOrder) {
  EdgeCompileConfig config;
  config.skipDimOrder = skipDimOrder;
  return toEdgeDialect(loadProgram(program.file), config);
}

template <typename Visit>
void forEachEdgeGolden(Visit&& visit) {
  for (const CorpusProgram& program : corpusPrograms()) {
    if (program.kind != CorpusKind::Fixture || !program.model.empty()) continue;
    const fs::path folder = program.file.parent_path();
    if (!fs::exists(folder / "edge.graph.txt")) continue;
    SCOPED_TRACE(program.name);
    visit(program, folder);
  }
}

TEST(ToEdgeGoldens, TextsAreThoseOfExir) {
  size_t compared = 0;
  forEachEdgeGolden([&](const CorpusProgram& program, const fs::path& folder) {
    const ExportedProgram edge = edgeOf(program, true);
    const std::string graph = fxText(edge.graphModule());
    const bool isSame = graph == readFile(folder / "edge.graph.txt");
    const auto difference = edgeDifferences().find(program.name);
    if (difference != edgeDifferences().end()) {
      EXPECT_FALSE(isSame) << "no longer: " << difference->second;
      return;
    }
    EXPECT_EQ(graph, readFile(folder / "edge.graph.txt"));
    EXPECT_EQ(text(edge.signature), readFile(folder / "edge.signature.txt"));
    ++compared;
  });
  EXPECT_GT(compared, 40u);
}

TEST(ToEdgeGoldens, DimOrderTextsAreThoseOfExir) {
  size_t compared = 0;
  forEachEdgeGolden([&](const CorpusProgram& program, const fs::path& folder) {
    if (edgeDifferences().contains(program.name)) return;
    const ExportedProgram edge = edgeOf(program, false);
    const fs::path file = folder / "edge_dim_order.graph.txt";
    if (fs::exists(file)) {
      EXPECT_EQ(fxText(edge.graphModule()), readFile(file));
      ++compared;
    }
    const fs::path signature = folder / "edge_dim_order.signature.txt";
    if (!fs::exists(signature)) return;
    EXPECT_EQ(text(edge.signature), readFile(signature));
  });
  EXPECT_GE(compared, 4u);
}

// What tables hold is in the fixtures' states.txt.
TEST(ToEdgeGoldens, TablesAreThoseOfExir) {
  size_t compared = 0;
  forEachEdgeGolden([&](const CorpusProgram& program, const fs::path& folder) {
    if (edgeDifferences().contains(program.name) || !fs::exists(folder / "states.txt")) return;
    std::istringstream lines(readFile(folder / "states.txt"));
    std::string title, stateDict, constants;
    std::getline(lines, title);
    if (title != "# edge") return;
    std::getline(lines, stateDict);
    std::getline(lines, constants);
    const ExportedProgram edge = edgeOf(program, true);
    const auto line = [](std::string out, const TensorTable& table) {
      for (const auto& [name, entry] : table) out += ' ' + name;
      return table.empty() ? out + ' ' : out;
    };
    EXPECT_EQ(line("state_dict:", edge.stateDict()), stateDict);
    EXPECT_EQ(line("constants:", edge.constants()), constants);
    ++compared;
  });
  EXPECT_GT(compared, 10u);
}

TEST(ToEdgeGoldens, ProgramsHoldTogether) {
  forEachEdgeGolden([&](const CorpusProgram& program, const fs::path&) {
    for (const bool skipDimOrder : {false, true}) {
      EdgeCompileConfig config;
      config.skipDimOrder = skipDimOrder;
      config.coreAtenOpsExceptionList = {"aten.linear.default", "aten.sum.default", "aten.add_.Tensor",
                                         "aten.empty_permuted.default",
                                         "aten._native_batch_norm_legit_functional.default"};
      const ExportedProgram original = loadProgram(program.file);
      const ExportedProgram edge = toEdgeDialect(original.clone(), config);
      EXPECT_EQ(render(checkProgram(edge)), "");
      EXPECT_EQ(render(checkDialect(edge, OperatorSet::Edge, config)), "");
      if (!checkShapes(original).empty()) continue;
      EXPECT_EQ(render(checkShapes(edge)), "");
    }
  });
}

TEST(ToEdgeGoldens, TheOriginalStaysAsItWas) {
  forEachEdgeGolden([&](const CorpusProgram& program, const fs::path&) {
    const ExportedProgram original = loadProgram(program.file);
    const ExportedProgram before = original.clone();
    toEdgeDialect(original.clone());
    const std::optional<Diagnostic> difference = findDifference(before, original);
    EXPECT_FALSE(difference) << difference->render();
  });
}

}  // namespace
}  // namespace edgefx::test

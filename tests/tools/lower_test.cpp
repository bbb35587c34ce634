#include <edgefx/serialization/pt2.h>

#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

const std::string kPlugin = std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so";

// Lowers to `output` with a backend of the conformance plugin.
ToolRun lower(const std::string& input, const std::string& output, const std::string& backend,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"lower",    input,   "-o",           output,
                                     "--plugin", kPlugin, "--op-backend", backend};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return runTool(arguments);
}

std::string printedModel(const std::string& file, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"print", file});
  return runTool(more).out;
}

TEST(LowerCommand, WritesWhatTheBackendReturns) {
  TempDir dir;
  for (const std::string backend : {"retarget", "addconst"}) {
    ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", backend, {"--edge"});
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(run.out, "");
    const std::string golden = "conv_bn_relu_core/op-" + backend;
    EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture(golden + ".graph.txt")));
    EXPECT_EQ(printedModel(dir / "out.pt2", {"--signature"}), readFile(fixture(golden + ".signature.txt")));
  }
}

TEST(LowerCommand, LowersNestedGraphs) {
  TempDir dir;
  ToolRun run = lower(fixture("nested_cond_core/edge.pt2"), dir / "out.pt2", "retarget", {"--edge"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture("nested_cond_core/op-retarget.graph.txt")));
}

TEST(LowerCommand, KnowsEdgeProgramsByTheirFile) {
  TempDir dir;
  ASSERT_EQ(runTool({"convert", "--edge", fixture("conv_bn_relu_core/edge.pt2"), dir / "edge.pt2"}).exitCode,
            0);
  EXPECT_EQ(lower(dir / "edge.pt2", dir / "out.pt2", "retarget").exitCode, 0);
  EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture("conv_bn_relu_core/op-retarget.graph.txt")));
}

TEST(LowerCommand, LowersAllModelsOrThoseNamed) {
  TempDir dir;
  const std::string input = fixture("multi_model/multi_edge.pt2");
  EXPECT_EQ(lower(input, dir / "all.pt2", "retarget", {"--edge"}).exitCode, 0);
  EXPECT_EQ(lower(input, dir / "one.pt2", "retarget", {"--edge", "--method", "decode"}).exitCode, 0);
  EXPECT_EQ(
      lower(input, dir / "both.pt2", "retarget", {"--edge", "--method", "decode", "--method", "prefill"})
          .exitCode,
      0);
  for (const std::string model : {"decode", "prefill"}) {
    const std::string golden = readFile(fixture("multi_model/op-retarget." + model + ".graph.txt"));
    EXPECT_EQ(printedModel(dir / "all.pt2", {"--model", model}), golden);
    EXPECT_EQ(printedModel(dir / "both.pt2", {"--model", model}), golden);
  }
  EXPECT_EQ(printedModel(dir / "one.pt2", {"--model", "decode"}),
            readFile(fixture("multi_model/op-retarget.decode.graph.txt")));
  EXPECT_EQ(printedModel(dir / "one.pt2", {"--model", "prefill"}),
            readFile(fixture("multi_model/edge.prefill.graph.txt")));
}

TEST(LowerCommand, TheOnlyModelIsMethodForward) {
  TempDir dir;
  const std::string input = fixture("conv_bn_relu_core/edge.pt2");
  for (const char* method : {"model", "forward"}) {
    EXPECT_EQ(lower(input, dir / "out.pt2", "retarget", {"--edge", "--method", method}).exitCode, 0)
        << method;
    EXPECT_EQ(loadArchive(dir / "out.pt2").models.at(0).name, "model");
  }
  ToolRun run = lower(input, dir / "none.pt2", "retarget", {"--edge", "--method", "decode"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'forward'"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "none.pt2"));
}

TEST(LowerCommand, CarriesRecordsItDoesNotKnow) {
  TempDir dir;
  const std::string input = fixture("archive_extra_files/program.pt2");
  EXPECT_EQ(lower(input, dir / "out.pt2", "retarget").exitCode, 0);
  EXPECT_EQ(loadArchive(dir / "out.pt2").foreign.size(), loadArchive(input).foreign.size());
}

TEST(LowerCommand, AnUnknownBackendExitsWith2AndListsTheOthers) {
  TempDir dir;
  ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "npu");
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'retarget', 'addconst', 'qdq'"), std::string::npos) << run.err;

  ToolRun without = runTool(
      {"lower", fixture("conv_bn_relu_core/edge.pt2"), "-o", dir / "out.pt2", "--op-backend", "retarget"});
  EXPECT_EQ(without.exitCode, 2);
  EXPECT_NE(without.err.find("none is registered"), std::string::npos) << without.err;
}

TEST(LowerCommand, AFailingBackendExitsWith4AndWritesNothing) {
  TempDir dir;
  ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "broken");
  EXPECT_EQ(run.exitCode, 4);
  EXPECT_NE(run.err.find("backend 'broken', method 'forward'"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
}

TEST(LowerCommand, APluginThatCannotBeLoadedExitsWith3) {
  TempDir dir;
  writeFile(dir / "text.so", "this is no library");
  for (const std::string& plugin : {std::string(dir / "missing.so"), std::string(dir / "text.so")}) {
    ToolRun run = runTool({"lower", fixture("conv_bn_relu_core/edge.pt2"), "-o", dir / "out.pt2", "--plugin",
                           plugin, "--op-backend", "retarget"});
    EXPECT_EQ(run.exitCode, 3);
    EXPECT_NE(run.err.find(plugin), std::string::npos) << run.err;
  }
}

TEST(LowerCommand, SeveralPluginsMayBeGiven) {
  TempDir dir;
  ToolRun run =
      lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "retarget", {"--plugin", kPlugin});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'retarget' is registered already"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace edgefx::test

#include "serialization/saved_json.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <string>

namespace edgefx::test {
namespace {

TEST(DumpCommand, WritesDot) {
  const std::string file = fixture("linear_atan_relu_core/program.pt2");
  ToolRun run = runTool({"dump", file});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out.find("digraph edgefx {\n"), 0) << run.out;
  EXPECT_NE(run.out.find("aten.atan.default"), std::string::npos) << run.out;
  EXPECT_EQ(runTool({"dump", file, "--format", "dot"}).out, run.out);
}

TEST(DumpCommand, WritesModelExplorerJsonToAFile) {
  TempDir dir;
  const std::string file = fixture("kv_cache_cond_core/edge.pt2");
  const std::string out = dir / "graphs.json";
  ToolRun run = runTool({"dump", file, "--format", "me-json", "-o", out});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out, "");
  const SavedJson json(readFile(out));
  EXPECT_EQ(json.at("/0/label"), "\"edge.pt2\"");
  EXPECT_EQ(json.at("/0/graphs/0/id"), "\"forward\"");
  EXPECT_NE(json.at("/0/graphs/2/id"), "no such member");  // the branches
  EXPECT_EQ(json.at("/0/graphs/3"), "no such member");
}

TEST(DumpCommand, TakesAllModelsOrTheOneNamed) {
  const std::string file = fixture("multi_model/multi_edge.pt2");
  const SavedJson all(runTool({"dump", file, "--format", "me-json"}).out);
  EXPECT_NE(all.at("/0/graphs/1/id"), "no such member");
  const SavedJson one(runTool({"dump", file, "--format", "me-json", "--model", "decode"}).out);
  EXPECT_EQ(one.at("/0/graphs/0/id"), "\"decode\"");
  EXPECT_EQ(one.at("/0/graphs/1"), "no such member");
}

TEST(DumpCommand, RefusesOtherFormatsModelsAndFiles) {
  const std::string file = fixture("linear_atan_relu_core/program.pt2");
  EXPECT_EQ(runTool({"dump", file, "--format", "svg"}).exitCode, 2);
  EXPECT_EQ(runTool({"dump", file, "--model", "nobody"}).exitCode, 2);
  EXPECT_EQ(runTool({"dump", "/no/such/file.pt2"}).exitCode, 3);
}

}  // namespace
}  // namespace edgefx::test

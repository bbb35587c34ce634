#include "serialization/saved_json.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::test {
namespace {

// A fixture's program, lowered by a partitioner of the conformance plugin, as a file of `dir`.
std::string loweredFile(const TempDir& dir, const std::string& file, const std::string& partitioner,
                        const std::vector<std::string>& more = {}) {
  std::string output = dir / "lowered.pt2";
  std::vector<std::string> arguments{
      "lower",         fixture(file), "-o",
      output,          "--plugin",    std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so",
      "--partitioner", partitioner};
  arguments.insert(arguments.end(), more.begin(), more.end());
  ToolRun run = runTool(arguments);
  EXPECT_EQ(run.exitCode, 0) << run.err;
  return output;
}

TEST(ReportCommand, TellsCountsSourcesAndReasons) {
  TempDir dir;
  const std::string file = loweredFile(dir, "linear_atan_relu_core/program.pt2", "addmul");
  ToolRun run = runTool({"report", file});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out,
            "method forward: 1 of 4 nodes delegated (25.0 %)\n"
            "  top level: 1 of 4 nodes delegated (25.0 %)\n"
            "    operator              delegated  not      %\n"
            "    aten.addmm.default            1    0  100.0\n"
            "    aten.atan.default             0    1    0.0\n"
            "    aten.permute.default          0    1    0.0\n"
            "    aten.relu.default             0    1    0.0\n"
            "    delegate          backend        nodes  inputs  outputs  payload bytes\n"
            "    lowered_module_0  BackendAddMul      1       2        1            337\n"
            "    not delegated  operator              source                                     reason\n"
            "    permute        aten.permute.default  torch/nn/modules/linear.py:134 in forward  it calls "
            "aten.permute.default\n"
            "    atan           aten.atan.default     programs.py:60 in forward                  it calls "
            "aten.atan.default\n"
            "    relu           aten.relu.default     programs.py:60 in forward                  it calls "
            "aten.relu.default\n");
}

TEST(ReportCommand, CountsBranchesAndDelegatesInThem) {
  TempDir dir;
  const std::string file = loweredFile(dir, "kv_cache_cond_core/edge.pt2", "branches", {"--edge"});
  ToolRun run = runTool({"report", file, "--json"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out.back(), '\n');
  EXPECT_EQ(run.out.find('\n'), run.out.size() - 1);
  EXPECT_EQ(runTool({"report", file, "--json"}).out, run.out);

  const SavedJson json(run.out);
  EXPECT_EQ(json.at("/nodes"), R"({"delegated": 10, "undelegated": 11, "percent": 47.6})");
  EXPECT_EQ(json.at("/methods/0/name"), "\"forward\"");
  const std::string modules = "/methods/0/modules";
  EXPECT_EQ(json.at(modules + "/0/nodes"), R"({"delegated": 0, "undelegated": 11, "percent": 0.0})");
  EXPECT_EQ(json.at(modules + "/0/partitions"), "[]");
  EXPECT_EQ(
      json.at(modules + "/0/operators/0"),
      R"({"name": "aten.view_copy.default", "nodes": {"delegated": 0, "undelegated": 3, "percent": 0.0}})");
  EXPECT_EQ(json.at(modules + "/0/undelegated/2/name"), "\"cond\"");
  EXPECT_EQ(json.at(modules + "/1/path"), "\"submodule_0\"");
  EXPECT_EQ(json.at(modules + "/1/nodes"), R"({"delegated": 2, "undelegated": 0, "percent": 100.0})");
  EXPECT_EQ(json.at(modules + "/2/path"), "\"submodule_1\"");
  EXPECT_EQ(json.at(modules + "/2/nodes"), R"({"delegated": 8, "undelegated": 0, "percent": 100.0})");
  EXPECT_EQ(json.at(modules + "/2/partitions/0/backend"), "\"BackendBranches\"");
  EXPECT_EQ(json.at(modules + "/2/partitions/0/inputs"), "4");
  EXPECT_EQ(json.at(modules + "/2/partitions/0/outputs"), "2");
  EXPECT_EQ(json.at(modules + "/3"), "no such member");
}

TEST(ReportCommand, BranchesThatMovedIntoADelegateAreDelegated) {
  TempDir dir;
  const std::string file = loweredFile(dir, "kv_cache_cond_core/edge.pt2", "all", {"--edge"});
  const SavedJson json(runTool({"report", file, "--json"}).out);
  EXPECT_EQ(json.at("/nodes"), R"({"delegated": 21, "undelegated": 0, "percent": 100.0})");
  EXPECT_EQ(json.at("/methods/0/modules/1"), "no such member");
  const std::string partition = "/methods/0/modules/0/partitions/0";
  EXPECT_EQ(json.at(partition + "/delegate"), "\"lowered_module_0\"");
  EXPECT_EQ(json.at(partition + "/backend"), "\"BackendAll\"");
  EXPECT_EQ(json.at(partition + "/nodes"), "21");
  EXPECT_EQ(json.at(partition + "/inputs"), "1");
  EXPECT_EQ(json.at(partition + "/outputs"), "1");
  EXPECT_EQ(runTool({"report", file, "--max-undelegated", "0"}).exitCode, 0);
}

TEST(ReportCommand, ReportsEveryMethod) {
  TempDir dir;
  const std::string file =
      loweredFile(dir, "multi_model/multi_edge.pt2", "all", {"--edge", "--method", "decode"});
  const std::string out = runTool({"report", file}).out;
  EXPECT_NE(out.find("method decode: "), std::string::npos) << out;
  EXPECT_NE(out.find("method prefill: 0 of "), std::string::npos) << out;
  EXPECT_NE(out.find("\nall methods: "), std::string::npos) << out;
}

TEST(ReportCommand, TooManyUndelegatedNodesExitWith1) {
  TempDir dir;
  const std::string file = loweredFile(dir, "kv_cache_cond_core/edge.pt2", "branches", {"--edge"});
  ToolRun enough = runTool({"report", file, "--max-undelegated", "11"});
  EXPECT_EQ(enough.exitCode, 0);
  EXPECT_EQ(enough.err, "");
  for (const bool isJson : {false, true}) {
    std::vector<std::string> arguments{"report", file};
    if (isJson) arguments.emplace_back("--json");
    const std::string wanted = runTool(arguments).out;
    arguments.insert(arguments.end(), {"--max-undelegated", "10"});
    ToolRun run = runTool(arguments);
    EXPECT_EQ(run.exitCode, 1);
    EXPECT_EQ(run.out, wanted);
    EXPECT_EQ(run.err, file + ": 11 nodes are not delegated, expected at most 10\n");
  }
}

}  // namespace
}  // namespace edgefx::test

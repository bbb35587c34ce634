#include <edgefx/serialization/pt2.h>

#include "support/lowered_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace edgefx::test {
namespace {

std::string printed(const std::string& file, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"print", file});
  return runTool(more).out;
}

TEST(ConvertCommand, WritesOldFilesAnew) {
  TempDir dir;
  ToolRun run = runTool({"convert", fixture("torch-2.6/kv_cache_cond.pt2"), dir / "new.pt2"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(printed(dir / "new.pt2"), readFile(fixture("torch-2.6/kv_cache_cond.graph.txt")));
}

TEST(ConvertCommand, KeepsAllModelsUnderTheirNames) {
  TempDir dir;
  EXPECT_EQ(runTool({"convert", fixture("multi_model/multi.pt2"), dir / "new.pt2"}).exitCode, 0);
  for (const std::string model : {"decode", "prefill"}) {
    EXPECT_EQ(printed(dir / "new.pt2", {"--model", model}),
              readFile(fixture("multi_model/" + model + ".graph.txt")));
  }
}

TEST(ConvertCommand, CarriesRecordsItDoesNotKnow) {
  TempDir dir;
  const std::string input = fixture("archive_extra_files/program.pt2");
  EXPECT_EQ(runTool({"convert", input, dir / "new.pt2"}).exitCode, 0);
  Archive before = loadArchive(input);
  Archive after = loadArchive(dir / "new.pt2");
  ASSERT_FALSE(before.foreign.empty());
  ASSERT_EQ(after.foreign.size(), before.foreign.size());
  for (size_t i = 0; i < before.foreign.size(); ++i) {
    EXPECT_EQ(after.foreign[i].name, before.foreign[i].name);
    EXPECT_EQ(after.foreign[i].bytes.text(), before.foreign[i].bytes.text());
  }
}

TEST(ConvertCommand, RemembersThatAProgramIsEdge) {
  TempDir dir;
  EXPECT_EQ(runTool({"convert", "--edge", fixture("nested_cond_core/edge.pt2"), dir / "edge.pt2"}).exitCode,
            0);
  const std::string golden = readFile(fixture("nested_cond_core/edge.graph.txt"));
  EXPECT_EQ(printed(dir / "edge.pt2"), golden);
  EXPECT_EQ(printed(dir / "edge.pt2", {"--edge"}), golden);
}

TEST(ConvertCommand, WritesTheFormOfExecuTorchAndReadsIt) {
  TempDir dir;
  saveProgram(loweredProgram(), dir / "lowered.pt2");
  const std::string before = printed(dir / "lowered.pt2");
  EXPECT_NE(before.find("executorch_call_delegate"), std::string::npos) << before;
  ToolRun run = runTool({"convert", dir / "lowered.pt2", dir / "python.bin", "--format", "exir"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_NE(readFile(dir / "python.bin").find("executorch.exir.dialects.edge.ops."), std::string::npos);
  EXPECT_EQ(printed(dir / "python.bin"), before);
  EXPECT_EQ(runTool({"convert", dir / "python.bin", dir / "back.pt2", "--format", "pt2"}).exitCode, 0);
  EXPECT_EQ(printed(dir / "back.pt2"), before);
  EXPECT_EQ(runTool({"verify", dir / "back.pt2"}).out, "ok\n");
  EXPECT_EQ(runTool({"convert", dir / "back.pt2", dir / "x", "--format", "onnx"}).exitCode, 2);
}

TEST(ConvertCommand, MayReplaceItsInput) {
  TempDir dir;
  std::filesystem::copy_file(fixture("conv_bn_relu_core/program.pt2"), dir / "model.pt2");
  const std::string before = printed(dir / "model.pt2");
  EXPECT_EQ(runTool({"convert", dir / "model.pt2", dir / "model.pt2"}).exitCode, 0);
  EXPECT_EQ(printed(dir / "model.pt2"), before);
  EXPECT_EQ(runTool({"verify", dir / "model.pt2"}).out, "ok\n");
}

TEST(ConvertCommand, AnOutputThatCannotBeWrittenExitsWith3) {
  TempDir dir;
  const std::string output = dir / "no_such_folder/out.pt2";
  ToolRun run = runTool({"convert", fixture("conv_bn_relu_core/program.pt2"), output});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find(output), std::string::npos) << run.err;
}

TEST(ConvertCommand, ADamagedInputLeavesTheOutputAlone) {
  TempDir dir;
  writeFile(dir / "bad.pt2", "damaged");
  writeFile(dir / "out.pt2", "kept");
  EXPECT_EQ(runTool({"convert", dir / "bad.pt2", dir / "out.pt2"}).exitCode, 3);
  EXPECT_EQ(readFile(dir / "out.pt2"), "kept");
}

}  // namespace
}  // namespace edgefx::test

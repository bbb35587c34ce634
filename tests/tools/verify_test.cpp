#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "support/program_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace edgefx::test {
namespace {

// Two stored tensors of shapes that the graph does not declare.
ExportedProgram brokenProgram() {
  ExportedProgram program = tinyProgram();
  program.stateDict().set("scale", sampleTensor({5}));
  program.stateDict().set("weight", sampleTensor({4, 5}), true);
  return program;
}

void saveUnchecked(const Archive& archive, const std::string& path) {
  SaveOptions options;
  options.verify = false;
  saveArchive(archive, path, options);
}

TEST(VerifyCommand, SaysOk) {
  for (const char* file :
       {"nested_cond_core/program.pt2", "multi_model/multi.pt2", "torch-2.6/kv_cache_cond.pt2"}) {
    ToolRun run = runTool({"verify", fixture(file)});
    EXPECT_EQ(run.exitCode, 0) << file;
    EXPECT_EQ(run.out, "ok\n") << file;
    EXPECT_EQ(run.err, "") << file;
  }
  EXPECT_EQ(runTool({"verify", "--edge", fixture("conv_bn_relu_core/edge.pt2")}).out, "ok\n");
}

TEST(VerifyCommand, PrintsEveryViolationOnALine) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"model", brokenProgram()});
  saveUnchecked(archive, dir / "broken.pt2");
  ToolRun run = runTool({"verify", dir / "broken.pt2"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 2) << run.out;
  EXPECT_NE(run.out.find("%p_weight"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("%b_scale"), std::string::npos) << run.out;
}

TEST(VerifyCommand, ComparesShapesOnRequest) {
  EXPECT_EQ(runTool({"verify", "--shapes", fixture("conv_bn_relu_core/program.pt2")}).out, "ok\n");
  TempDir dir;
  ExportedProgram program = tinyProgram();
  for (Node& node : program.graph().nodes()) {
    if (node.name() == "mul") node.setValue(tensorValue({1, 5}));
  }
  saveProgram(program, dir / "shapes.pt2");
  EXPECT_EQ(runTool({"verify", dir / "shapes.pt2"}).out, "ok\n");
  const ToolRun run = runTool({"verify", dir / "shapes.pt2", "--shapes"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_NE(run.out.find(
                "node '%mul': the call of 'aten.mul.Tensor' gives float32[1, 4], but its recorded value is "
                "float32[1, 5]"),
            std::string::npos)
      << run.out;
}

TEST(VerifyCommand, NamesTheModelAmongSeveral) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"good", tinyProgram()});
  archive.models.push_back({"bad", brokenProgram()});
  saveUnchecked(archive, dir / "two.pt2");

  ToolRun both = runTool({"verify", dir / "two.pt2"});
  EXPECT_EQ(both.exitCode, 1);
  EXPECT_NE(both.out.find("method 'bad'"), std::string::npos) << both.out;
  EXPECT_EQ(both.out.find("'good'"), std::string::npos) << both.out;
  EXPECT_EQ(runTool({"verify", dir / "two.pt2", "--model", "good"}).out, "ok\n");
  EXPECT_EQ(runTool({"verify", dir / "two.pt2", "--model", "bad"}).exitCode, 1);

  ToolRun unknown = runTool({"verify", dir / "two.pt2", "--model", "ugly"});
  EXPECT_EQ(unknown.exitCode, 2);
  EXPECT_NE(unknown.err.find("good"), std::string::npos) << unknown.err;
}

TEST(VerifyCommand, FindsDamageInWeights) {
  TempDir dir;
  saveProgram(tinyProgram(), dir / "good.pt2");
  std::string bytes = readFile(dir / "good.pt2");
  const float first = -1;  // of the weight, see sampleTensor
  const float second = -0.75;
  std::string weight(reinterpret_cast<const char*>(&first), sizeof first);
  weight.append(reinterpret_cast<const char*>(&second), sizeof second);
  const size_t at = bytes.find(weight);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  writeFile(dir / "damaged.pt2", bytes);
  ToolRun run = runTool({"verify", dir / "damaged.pt2"});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_EQ(run.out, "");
}

TEST(VerifyCommand, OtherCommandsRefuseABrokenProgramButPrintShowsIt) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"model", brokenProgram()});
  saveUnchecked(archive, dir / "broken.pt2");
  ToolRun converted = runTool({"convert", dir / "broken.pt2", dir / "out.pt2"});
  EXPECT_EQ(converted.exitCode, 1);
  EXPECT_NE(converted.err.find("%b_scale"), std::string::npos) << converted.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));

  ToolRun printed = runTool({"print", dir / "broken.pt2"});
  EXPECT_EQ(printed.exitCode, 0);
  EXPECT_NE(printed.out.find("%b_scale"), std::string::npos);
}

}  // namespace
}  // namespace edgefx::test

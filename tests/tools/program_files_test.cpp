#include <edgefx/program/compare_programs.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>
#include <edgefx/text/program_text.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <string>

namespace edgefx::test {
namespace {

// A file with the text of a program of the corpus.
std::string textFile(const TempDir& dir, const std::string& name = "conv_bn_relu_core/program.pt2") {
  const std::string file = dir / "model.txt";
  EXPECT_EQ(runTool({"convert", fixture(name), file, "--format", "text"}).err, "");
  return file;
}

TEST(TextFiles, HoldAllThatAProgramHas) {
  TempDir dir;
  const std::string file = textFile(dir, "multi_model/multi.pt2");
  ToolRun back = runTool({"convert", file, dir / "back.pt2"});
  EXPECT_EQ(back.exitCode, 0) << back.err;
  const Archive before = loadArchive(fixture("multi_model/multi.pt2")), after = loadArchive(dir / "back.pt2");
  ASSERT_EQ(after.models.size(), before.models.size());
  for (size_t i = 0; i < before.models.size(); ++i) {
    EXPECT_EQ(after.models[i].name, before.models[i].name);
    const auto difference = findContentDifference(before.models[i].program, after.models[i].program);
    EXPECT_FALSE(difference.has_value()) << difference->render();
  }
}

TEST(TextFiles, AreReadByEveryCommand) {
  TempDir dir;
  const std::string file = textFile(dir), pt2 = fixture("conv_bn_relu_core/program.pt2");
  EXPECT_EQ(runTool({"print", file}).out, readFile(fixture("conv_bn_relu_core/graph.txt")));
  EXPECT_EQ(runTool({"print", file, "--signature"}).out,
            readFile(fixture("conv_bn_relu_core/signature.txt")));
  EXPECT_EQ(runTool({"verify", file}).out, "ok\n");
  EXPECT_EQ(runTool({"report", file}).out, runTool({"report", pt2}).out);
  EXPECT_EQ(runTool({"run", file}).out, runTool({"run", pt2}).out);
  EXPECT_EQ(runTool({"compare", pt2, file}).exitCode, 0);
  const ToolRun lowered =
      runTool({"lower", file, "-o", dir / "lowered.pt2", "--edge", "--plugin",
               std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so", "--op-backend", "retarget"});
  EXPECT_EQ(lowered.exitCode, 0) << lowered.err;
}

TEST(TextFiles, ArePrinted) {
  TempDir dir;
  saveProgram(loweredProgram(), dir / "lowered.pt2");
  const ToolRun printed = runTool({"print", dir / "lowered.pt2", "--text", "--bytes", "1000000"});
  EXPECT_EQ(printed.exitCode, 0) << printed.err;
  EXPECT_EQ(printed.out.find("edgefx text 1\n"), 0u);
  EXPECT_EQ(runTool({"print", dir / "lowered.pt2", "--text", "-o", dir / "p.txt", "--bytes", "1000000"}).out,
            "");
  EXPECT_EQ(readFile(dir / "p.txt"), printed.out);
  EXPECT_EQ(runTool({"print", dir / "p.txt", "--text", "--bytes", "1000000"}).out, printed.out);
  const ToolRun one = runTool({"print", fixture("multi_model/multi.pt2"), "--text", "--model", "decode"});
  EXPECT_NE(one.out.find("method \"decode\"("), std::string::npos);
  EXPECT_EQ(one.out.find("method \"prefill\"("), std::string::npos);
}

TEST(TextFiles, LongBytesAreLeftOutOfWhatIsPrinted) {
  TempDir dir;
  saveProgram(tinyProgram(), dir / "tiny.pt2");
  EXPECT_EQ(runTool({"print", dir / "tiny.pt2", "--text", "-o", dir / "short.txt", "--bytes", "8"}).exitCode,
            0);
  const ToolRun verified = runTool({"verify", dir / "short.txt"});
  EXPECT_EQ(verified.exitCode, 3);
  EXPECT_NE(verified.err.find("were left out"), std::string::npos) << verified.err;
}

TEST(TextFiles, DamagedOnesEndWithTheirPlace) {
  TempDir dir;
  const std::string file = textFile(dir);
  std::string text = readFile(file);
  text.insert(text.find("aten."), "!");
  writeFile(file, text);
  for (const std::string command : {"print", "verify", "report", "run"}) {
    const ToolRun run = runTool({command, file});
    EXPECT_EQ(run.exitCode, 3) << command;
    EXPECT_NE(run.err.find(file + ":"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("expected what the node calls"), std::string::npos) << run.err;
  }
}

TEST(TextFiles, AreChecked) {
  TempDir dir;
  writeFile(dir / "bad.txt", "edgefx text 1\nmethod m(%x : f32[2], %y parameter \"gone\"):\n  return (%x)\n");
  EXPECT_EQ(runTool({"verify", dir / "bad.txt"}).exitCode, 1);
  EXPECT_EQ(runTool({"convert", dir / "bad.txt", dir / "bad.pt2"}).exitCode, 1);
  EXPECT_EQ(runTool({"print", dir / "bad.txt"}).exitCode, 0);
  EXPECT_EQ(runTool({"print", dir / "bad.txt", "--model", "other"}).exitCode, 2);
  EXPECT_EQ(runTool({"convert", dir / "bad.txt", dir / "no_such_folder/x", "--format", "text"}).exitCode, 1);
}

TEST(TextFiles, OutputsThatCannotBeWrittenExitWith3) {
  TempDir dir;
  const ToolRun run = runTool({"print", textFile(dir), "-o", dir / "no_such_folder/x"});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find("no_such_folder"), std::string::npos) << run.err;
}

TEST(TextFiles, ForeignRecordsAreLeftOutWithAWarning) {
  TempDir dir;
  std::string warned;
  const WarningHandler before = setWarningHandler([&](const Warning& warning) { warned += warning.message; });
  runTool({"convert", fixture("archive_extra_files/program.pt2"), dir / "x.txt", "--format", "text"});
  setWarningHandler(before);
  EXPECT_NE(warned.find("are left out"), std::string::npos) << warned;
}

TEST(PrintCommand, ReadsFxText) {
  TempDir dir;
  const std::string graph = fixture("nested_cond_core/graph.txt");
  EXPECT_EQ(runTool({"print", "--from-fx-text", graph}).out, readFile(graph));
  const ToolRun text = runTool({"print", "--from-fx-text", graph, "--text"});
  EXPECT_EQ(text.exitCode, 0) << text.err;
  EXPECT_NE(text.out.find("submodule \"true_graph_0\"("), std::string::npos) << text.out;
  writeFile(dir / "bad.txt", "graph():\n    %x : [num_users=7] = placeholder[target=x]\n");
  const ToolRun bad = runTool({"print", "--from-fx-text", dir / "bad.txt"});
  EXPECT_EQ(bad.exitCode, 3);
  EXPECT_NE(bad.err.find("bad.txt:2:5: expected 7 users"), std::string::npos) << bad.err;
  EXPECT_EQ(runTool({"print", "--from-fx-text", dir / "missing.txt"}).exitCode, 3);
}

}  // namespace
}  // namespace edgefx::test

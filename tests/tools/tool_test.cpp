#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/version.h>

#include "support/program_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace edgefx::test {
namespace {

const std::string kProgram = fixture("conv_bn_relu_core/program.pt2");

const std::string kConformancePlugin = std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so";

TEST(Tool, RunsEveryCommandAsAProcess) {
  TempDir dir;
  const std::string edge = dir / "edge.pt2";
  ToolRun converted = startTool({"convert", "--edge", fixture("conv_bn_relu_core/edge.pt2"), edge});
  EXPECT_EQ(converted.exitCode, 0);
  EXPECT_EQ(converted.out + converted.err, "");

  const std::string lowered = dir / "lowered.pt2";
  ToolRun lower =
      startTool({"lower", edge, "-o", lowered, "--plugin", kConformancePlugin, "--op-backend", "retarget"});
  EXPECT_EQ(lower.exitCode, 0);
  EXPECT_EQ(lower.out, "");
  EXPECT_NE(lower.err.find("experimental"), std::string::npos) << lower.err;

  ToolRun verified = startTool({"verify", lowered});
  EXPECT_EQ(verified.exitCode, 0);
  EXPECT_EQ(verified.out, "ok\n");
  EXPECT_EQ(verified.err, "");

  ToolRun printed = startTool({"print", lowered});
  EXPECT_EQ(printed.exitCode, 0);
  EXPECT_EQ(printed.out, readFile(fixture("conv_bn_relu_core/op-retarget.graph.txt")));
  EXPECT_EQ(printed.err, "");

  ToolRun report = startTool({"report", lowered, "--max-undelegated", "0"});
  EXPECT_EQ(report.exitCode, 1);
  EXPECT_EQ(report.out.find("method forward: 0 of "), 0u) << report.out;
  EXPECT_NE(report.err.find("expected at most 0"), std::string::npos) << report.err;
}

TEST(Tool, EndsWithTheExitCodeOfTheFault) {
  TempDir dir;
  SaveOptions unchecked;
  unchecked.verify = false;
  ExportedProgram broken = tinyProgram();
  broken.stateDict().set("scale", sampleTensor({5}));
  saveProgram(broken, dir / "broken.pt2", unchecked);

  EXPECT_EQ(startTool({"verify", dir / "broken.pt2"}).exitCode, 1);
  EXPECT_EQ(startTool({"print", kProgram, "--model", "decode"}).exitCode, 2);
  EXPECT_EQ(startTool({"print", dir / "missing.pt2"}).exitCode, 3);
  ToolRun lower = startTool(
      {"lower", kProgram, "-o", dir / "out.pt2", "--plugin", kConformancePlugin, "--op-backend", "broken"});
  EXPECT_EQ(lower.exitCode, 4);
  EXPECT_NE(lower.err.find("backend 'broken', method 'forward'"), std::string::npos) << lower.err;
}

TEST(Tool, TellsItsVersion) {
  ToolRun run = startTool({"--version"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.out, "edgefx " + std::string(kVersion) + "\n");
  EXPECT_EQ(run.err, "");
}

TEST(Tool, HelpTellsExitCodesAndCommands) {
  ToolRun run = runTool({"--help"});
  EXPECT_EQ(run.exitCode, 0);
  for (const char* part :
       {"print", "verify", "convert", "lower", "report", "Exit codes:", "cannot be written", "Example:"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << " in: " << run.out;
  }
}

TEST(Tool, EveryCommandHasAnExample) {
  const std::string readme = readFile(dataDir() / "../../README.md");
  for (const std::string command : {"print", "verify", "convert", "lower", "report"}) {
    ToolRun run = runTool({command, "--help"});
    EXPECT_EQ(run.exitCode, 0) << command;
    EXPECT_NE(run.out.find("Example:\n  edgefx " + command), std::string::npos) << run.out;
    // Reports name operators alike in both dialects.
    if (command != "report") {
      EXPECT_NE(run.out.find("--edge"), std::string::npos) << run.out;
    }
    EXPECT_NE(readme.find("\nedgefx " + command + " "), std::string::npos) << command;
  }
}

TEST(Tool, WrongArgumentsExitWith2) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"frobnicate"},
                                                    {"print"},
                                                    {"print", kProgram, "--no-such-option"},
                                                    {"print", kProgram, "another"},
                                                    {"convert", kProgram},
                                                    {"lower", kProgram, "-o", "x.pt2"},
                                                    {"report"},
                                                    {"report", kProgram, "--max-undelegated", "-1"},
                                                    {"report", kProgram, "--max-undelegated", "few"}}) {
    ToolRun run = runTool(arguments);
    EXPECT_EQ(run.exitCode, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(run.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(run.err, "") << testing::PrintToString(arguments);
  }
}

TEST(Tool, UnreadableFilesExitWith3AndAreNamed) {
  TempDir dir;
  writeFile(dir / "text.pt2", "this is no archive");
  writeFile(dir / "empty.pt2", "");
  writeFile(dir / "cut.pt2", readFile(kProgram).substr(0, 2000));
  const std::string newer = (corpusRoots()[1] / "version_major_newer.pt2").string();
  for (const std::string& file : {std::string(dir / "missing.pt2"), std::string(dir / "text.pt2"),
                                  std::string(dir / "empty.pt2"), std::string(dir / "cut.pt2"), newer}) {
    for (const char* command : {"print", "verify", "report"}) {
      ToolRun run = runTool({command, file});
      EXPECT_EQ(run.exitCode, 3) << command << ' ' << file;
      EXPECT_EQ(run.out, "");
      EXPECT_NE(run.err.find(file), std::string::npos) << run.err;
    }
  }
}

TEST(Tool, AFullDiskBehindStdoutIsReported) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  ToolRun run = startToolTo(full, {"print", kProgram});
  close(full);
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find("cannot write to stdout"), std::string::npos) << run.err;
}

TEST(Tool, AClosedStdoutIsReportedOnlyIfNeeded) {
  ToolRun run = startToolTo(-1, {"print", kProgram});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find("cannot write to stdout"), std::string::npos) << run.err;

  TempDir dir;
  EXPECT_EQ(startToolTo(-1, {"convert", kProgram, dir / "out.pt2"}).exitCode, 0);
  EXPECT_EQ(runTool({"verify", dir / "out.pt2"}).out, "ok\n");
}

TEST(Tool, AReaderThatHasGoneIsNoNews) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  ToolRun run = startToolTo(ends[1], {"print", kProgram});
  close(ends[1]);
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_EQ(run.err, "");
}

}  // namespace
}  // namespace edgefx::test

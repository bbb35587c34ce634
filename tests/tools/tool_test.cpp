#include <edgefx/version.h>

#include "support/test_data.h"
#include "tools/run_tool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace edgefx::test {
namespace {

const std::string kProgram = fixture("conv_bn_relu_core/program.pt2");

TEST(Tool, TellsItsVersion) {
  ToolRun run = runTool({"--version"});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.out, "edgefx " + std::string(kVersion) + "\n");
  EXPECT_EQ(run.err, "");
}

TEST(Tool, HelpTellsExitCodesAndCommands) {
  ToolRun run = runTool({"--help"});
  EXPECT_EQ(run.exitCode, 0);
  for (const char* part :
       {"print", "verify", "convert", "lower", "Exit codes:", "cannot be written", "Example:"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << " in: " << run.out;
  }
}

TEST(Tool, EveryCommandHasAnExample) {
  for (const char* command : {"print", "verify", "convert", "lower"}) {
    ToolRun run = runTool({command, "--help"});
    EXPECT_EQ(run.exitCode, 0) << command;
    EXPECT_NE(run.out.find("Example:\n  edgefx " + std::string(command)), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("--edge"), std::string::npos) << run.out;
  }
}

TEST(Tool, WrongArgumentsExitWith2) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"frobnicate"},
                                                    {"print"},
                                                    {"print", kProgram, "--no-such-option"},
                                                    {"print", kProgram, "another"},
                                                    {"convert", kProgram},
                                                    {"lower", kProgram, "-o", "x.pt2"}}) {
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
    for (const char* command : {"print", "verify"}) {
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
  ToolRun run = runToolTo(full, {"print", kProgram});
  close(full);
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find("cannot write to stdout"), std::string::npos) << run.err;
}

TEST(Tool, AClosedStdoutIsReportedOnlyIfNeeded) {
  ToolRun run = runToolTo(-1, {"print", kProgram});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find("cannot write to stdout"), std::string::npos) << run.err;

  TempDir dir;
  EXPECT_EQ(runToolTo(-1, {"convert", kProgram, dir / "out.pt2"}).exitCode, 0);
  EXPECT_EQ(runTool({"verify", dir / "out.pt2"}).out, "ok\n");
}

TEST(Tool, AReaderThatHasGoneIsNoNews) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  ToolRun run = runToolTo(ends[1], {"print", kProgram});
  close(ends[1]);
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_EQ(run.err, "");
}

}  // namespace
}  // namespace edgefx::test

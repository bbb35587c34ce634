#include <edgefx/passes/standard.h>

#include "support/test_data.h"
#include "tools/run_tool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace edgefx::test {
namespace {

// Two copies that do nothing, and a node that nobody uses.
constexpr std::string_view kWasteful = R"(edgefx text 1

method "forward"(
  %x : f32[2]
):
  %clone = aten.clone.default(%x) : f32[2]
  %neg = aten.neg.default(%clone) : f32[2]
  %unused = aten.tanh.default(%neg) : f32[2]
  return (%neg)
)";

// Writes into a constant, which has no functional form.
constexpr std::string_view kWritesConstant = R"(edgefx text 1

method "forward"(
  %c : f32[2] constant_tensor "c",
  %x : f32[2]
):
  %unused = aten.neg.default(%x) : f32[2]
  %add_ = aten.add_.Tensor(%c, %x) : f32[2]
  return (%add_)

constants {
  "c" = f32[2] [1.0, 2.0]
}
)";

std::string fileWith(const TempDir& dir, std::string_view text) {
  const std::string file = dir / "in.txt";
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

TEST(OptCommand, RunsPassesInOrderAndWritesPt2) {
  TempDir dir;
  const ToolRun run =
      runTool({"opt", fileWith(dir, kWasteful), "-o", dir / "out.pt2", "--passes", "no-ops,dead-code"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(
      runTool({"print", dir / "out.pt2"}).out,
      "graph():\n"
      "    %x : [num_users=1] = placeholder[target=x]\n"
      "    %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%x,), kwargs "
      "= {})\n"
      "    return (neg,)\n");
}

TEST(OptCommand, WritesTextThatItReadsAgain) {
  TempDir dir;
  const std::string out = dir / "out.txt";
  EXPECT_EQ(runTool({"opt", fileWith(dir, kWasteful), "-o", out, "--passes", "dead-code", "--text"}).exitCode,
            0);
  EXPECT_EQ(runTool({"opt", out, "-o", dir / "again.txt", "--passes", "dead-code", "--text"}).exitCode, 0);
  EXPECT_EQ(readFile(out), readFile(dir / "again.txt"));
  EXPECT_EQ(readFile(out).find("unused"), std::string::npos);
}

TEST(OptCommand, PrintsAfterAllOrAfterChange) {
  TempDir dir;
  const std::string in = fileWith(dir, kWasteful);
  const auto printed = [&](const char* option) {
    return runTool({"opt", in, "-o", dir / "out.pt2", "--passes", "fuse-views,dead-code", option}).out;
  };
  const std::string all = printed("--print-ir-after-all"), changed = printed("--print-ir-after-change");
  EXPECT_NE(all.find("# method \"forward\" after 'fuse-views' (no change)\ngraph():"), std::string::npos)
      << all;
  EXPECT_NE(all.find("# method \"forward\" after 'dead-code'\ngraph():"), std::string::npos) << all;
  EXPECT_EQ(changed.find("fuse-views"), std::string::npos) << changed;
  EXPECT_TRUE(all.ends_with(changed)) << changed;
}

TEST(OptCommand, TimesEveryPass) {
  TempDir dir;
  const ToolRun run = runTool({"opt", fileWith(dir, kWasteful), "-o", dir / "out.pt2", "--passes",
                               "no-ops,dead-code", "--pass-timing"});
  EXPECT_NE(run.out.find(" ms  no-ops"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find(" ms  dead-code"), std::string::npos) << run.out;
  EXPECT_TRUE(run.out.ends_with(" ms  in all\n")) << run.out;
}

TEST(OptCommand, WritesATreeOfPrograms) {
  TempDir dir;
  EXPECT_EQ(runTool({"opt", fileWith(dir, kWasteful), "-o", dir / "out.pt2", "--passes", "no-ops,dead-code",
                     "--print-ir-tree", dir / "tree"})
                .exitCode,
            0);
  const std::string first = dir / "tree/forward/1-no-ops.txt", second = dir / "tree/forward/2-dead-code.txt";
  EXPECT_NE(readFile(first).find("%unused"), std::string::npos);
  EXPECT_EQ(readFile(second).find("%unused"), std::string::npos);
  EXPECT_EQ(runTool({"verify", second}).out, "ok\n");
}

TEST(OptCommand, FoldersOfMethodsStayInTheTree) {
  TempDir dir;
  const std::string text(kWasteful);
  const std::string body = text.substr(text.find("\"forward\"") + 9);
  const std::string in = fileWith(
      dir, "edgefx text 1\nmethod \"..\"" + body + "method \"a/b\"" + body + "method \"a_b\"" + body);
  const ToolRun run = runTool(
      {"opt", in, "-o", dir / "out.txt", "--text", "--passes", "no-ops", "--print-ir-tree", dir / "tree"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  for (const char* folder : {"%2E%2E", "a%2Fb", "a_b"}) {
    EXPECT_TRUE(std::filesystem::exists(dir / ("tree/" + std::string(folder) + "/1-no-ops.txt"))) << folder;
  }
}

TEST(OptCommand, APipeIsWrittenToNotReplaced) {
  TempDir dir;
  const std::string in = fileWith(dir, kWasteful), pipe = dir / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_NE(reader, -1);
  EXPECT_EQ(runTool({"opt", in, "-o", pipe, "--text", "--passes", "dead-code"}).exitCode, 0);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::string begin(12, '\0');
  EXPECT_EQ(::read(reader, begin.data(), begin.size()), 12);
  EXPECT_EQ(begin, "edgefx text ");
  ::close(reader);
}

TEST(OptCommand, AFailureLeavesAReproducerThatFailsAgain) {
  TempDir dir;
  const std::string reproducer = dir / "reproducer.txt";
  const ToolRun run = runTool({"opt", fileWith(dir, kWritesConstant), "-o", dir / "out.pt2", "--passes",
                               "dead-code,functionalize,no-ops", "--reproducer", reproducer});
  EXPECT_EQ(run.exitCode, 4);
  EXPECT_NE(run.err.find("functionalize"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(reproducer), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
  const std::string text = readFile(reproducer);
  EXPECT_TRUE(text.starts_with("# edgefx opt " + reproducer + " -o OUT.pt2 --passes functionalize,no-ops\n"))
      << text;
  EXPECT_EQ(text.find("%unused"), std::string::npos);  // the passes before have run
  const ToolRun again =
      runTool({"opt", reproducer, "-o", dir / "out.pt2", "--passes", "functionalize,no-ops"});
  EXPECT_EQ(again.exitCode, 4);
  EXPECT_NE(again.err.find("functionalize"), std::string::npos) << again.err;
}

TEST(OptCommand, OnlyTheModelNamedIsChanged) {
  TempDir dir;
  const std::string in = fixture("multi_model/multi.pt2");
  EXPECT_EQ(runTool({"opt", in, "-o", dir / "out.pt2", "--passes", "functionalize,decompose,to-edge",
                     "--model", "decode"})
                .exitCode,
            0);
  EXPECT_EQ(runTool({"print", dir / "out.pt2", "--model", "prefill"}).out,
            runTool({"print", in, "--model", "prefill"}).out);
  EXPECT_NE(runTool({"print", dir / "out.pt2", "--model", "decode"}).out,
            runTool({"print", in, "--model", "decode"}).out);
}

TEST(OptCommand, ListsItsPasses) {
  const std::string out = runTool({"opt", "--list-passes"}).out;
  for (const std::string& name : standardPassNames())
    EXPECT_NE(out.find(name + '\n'), std::string::npos) << name;
  EXPECT_NE(out.find("to-edge\n"), std::string::npos);
}

TEST(OptCommand, FaultyArgumentsAreRefused) {
  TempDir dir;
  const std::string in = fileWith(dir, kWasteful);
  const ToolRun unknown = runTool({"opt", in, "-o", dir / "out.pt2", "--passes", "dead-code,deader"});
  EXPECT_EQ(unknown.exitCode, 2);
  EXPECT_NE(unknown.err.find("there is no pass 'deader'; there are 'common-subexpressions'"),
            std::string::npos)
      << unknown.err;
  EXPECT_EQ(runTool({"opt", in, "--passes", "dead-code"}).exitCode, 2);
  EXPECT_EQ(runTool({"opt", in, "-o", dir / "out.pt2", "--model", "decode"}).exitCode, 2);
  EXPECT_EQ(runTool({"opt", dir / "none.pt2", "-o", dir / "out.pt2"}).exitCode, 3);
}

}  // namespace
}  // namespace edgefx::test

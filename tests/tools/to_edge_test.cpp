#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::test {
namespace {

TEST(ToEdgeCommand, WritesTheEdgeProgramAndSaysThatItIsOne) {
  TempDir dir;
  const ToolRun run = runTool(
      {"to-edge", fixture("nested_cond_core/program.pt2"), "-o", dir / "edge.pt2", "--skip-dim-order"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(run.out + run.err, "");
  EXPECT_EQ(runTool({"print", dir / "edge.pt2"}).out, readFile(fixture("nested_cond_core/edge.graph.txt")));
  EXPECT_EQ(runTool({"verify", dir / "edge.pt2", "--shapes"}).out, "ok\n");
}

TEST(ToEdgeCommand, DimOrderIsTheDefault) {
  TempDir dir;
  EXPECT_EQ(runTool({"to-edge", fixture("io_pytree_core/program.pt2"), "-o", dir / "edge.pt2"}).exitCode, 0);
  EXPECT_NE(runTool({"print", dir / "edge.pt2"}).out.find("dim_order_ops._to_dim_order_copy"),
            std::string::npos);
}

TEST(ToEdgeCommand, BringsAllModelsToEdgeDialect) {
  TempDir dir;
  const ToolRun run = runTool({"to-edge", fixture("multi_model/multi.pt2"), "-o", dir / "edge.pt2"});
  ASSERT_EQ(run.exitCode, 0) << run.err;
  for (const std::string model : {"decode", "prefill"}) {
    const std::string text = runTool({"print", dir / "edge.pt2", "--model", model}).out;
    EXPECT_NE(text.find("edge._ops.aten.mm.default"), std::string::npos) << text;
    EXPECT_EQ(text.find("aten.linear"), std::string::npos) << text;
  }
}

TEST(ToEdgeCommand, OperatorsWithoutAWayAreNamedUnlessExcepted) {
  TempDir dir;
  const std::string input = fixture("conv_bn_relu_train_core/program.pt2");
  const ToolRun refused = runTool({"to-edge", input, "-o", dir / "edge.pt2"});
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_NE(refused.err.find("'aten._native_batch_norm_legit_functional.default'"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("method 'forward'"), std::string::npos) << refused.err;
  const std::string op = "aten._native_batch_norm_legit_functional.default";
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--exception", op}, {"--preserve", op}, {"--any-operator"}}) {
    std::vector<std::string> arguments{"to-edge", input, "-o", dir / "edge.pt2"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    EXPECT_EQ(runTool(arguments).exitCode, 0) << option.front();
  }
}

}  // namespace
}  // namespace edgefx::test

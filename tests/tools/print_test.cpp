#include <edgefx/program/delegated_text.h>
#include <edgefx/serialization/pt2.h>

#include "support/lowered_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::test {
namespace {

TEST(PrintCommand, PrintsGraphsAsPythonDoes) {
  ToolRun run = runTool({"print", fixture("nested_cond_core/program.pt2")});
  EXPECT_EQ(run.exitCode, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.out, readFile(fixture("nested_cond_core/graph.txt")));
}

TEST(PrintCommand, PrintsTheSignatureAsTheWritingTorchDoes) {
  EXPECT_EQ(runTool({"print", "--signature", fixture("conv_bn_relu_core/program.pt2")}).out,
            readFile(fixture("conv_bn_relu_core/signature.txt")));
  EXPECT_EQ(runTool({"print", fixture("torch-2.6/kv_cache_cond.pt2"), "--signature"}).out,
            readFile(fixture("torch-2.6/kv_cache_cond.signature.txt")));
}

TEST(PrintCommand, PrintsEdgePrograms) {
  const std::string file = fixture("conv_bn_relu_core/edge.pt2");
  EXPECT_EQ(runTool({"print", file, "--edge"}).out, readFile(fixture("conv_bn_relu_core/edge.graph.txt")));
  EXPECT_EQ(runTool({"print", file, "--edge", "--signature"}).out,
            readFile(fixture("conv_bn_relu_core/edge.signature.txt")));
  EXPECT_EQ(runTool({"print", file}).out.find("edge._ops"), std::string::npos);
}

TEST(PrintCommand, OfSeveralModelsOneMustBeNamed) {
  const std::string file = fixture("multi_model/multi.pt2");
  EXPECT_EQ(runTool({"print", file, "--model", "decode"}).out,
            readFile(fixture("multi_model/decode.graph.txt")));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"print", file}, {"print", file, "--model", "forward"}}) {
    ToolRun run = runTool(arguments);
    EXPECT_EQ(run.exitCode, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err.find("decode"), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("prefill"), std::string::npos) << run.err;
  }
}

TEST(PrintCommand, ShowsWhatDelegatesHold) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"one", loweredProgram()});
  archive.models.push_back({"two", branchedLoweredProgram()});
  saveArchive(archive, dir / "lowered.pt2");
  for (const auto& [name, program] : archive.models) {
    ToolRun run = runTool({"print", dir / "lowered.pt2", "--delegates", "--model", name});
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(run.out, delegatedText(program));
  }
  EXPECT_EQ(runTool({"print", dir / "lowered.pt2", "--model", "two"}).out.find("backend_id"),
            std::string::npos);
}

TEST(PrintCommand, DelegatesAndSignatureExcludeEachOther) {
  ToolRun run = runTool({"print", fixture("conv_bn_relu_core/edge.pt2"), "--delegates", "--signature"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("--delegates"), std::string::npos) << run.err;
}

TEST(PrintCommand, PrintsEveryProgramOfTheCorpus) {
  size_t compared = 0;
  for (const CorpusProgram& program : corpusPrograms()) {
    if (program.kind == CorpusKind::Case) continue;
    SCOPED_TRACE(program.name);
    std::vector<std::string> arguments{"print", program.file};
    if (!program.model.empty()) arguments.insert(arguments.end(), {"--model", program.model});
    ToolRun graph = runTool(arguments);
    EXPECT_EQ(graph.err, "");
    EXPECT_EQ(graph.out, readFile(program.graphText));
    arguments.emplace_back("--signature");
    EXPECT_EQ(runTool(arguments).out, readFile(program.signatureText));
    ++compared;
  }
  EXPECT_GE(compared, 80u);
}

}  // namespace
}  // namespace edgefx::test

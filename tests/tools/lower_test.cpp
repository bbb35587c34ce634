#include <edgefx/serialization/pt2.h>

#include "support/test_data.h"
#include "tools/run_tool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

const std::string kPlugin = std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so";

// Lowers to `output` with a backend of the conformance plugin.
ToolRun lower(const std::string& input, const std::string& output, const std::string& backend,
              const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"lower",    input,   "-o",           output,
                                     "--plugin", kPlugin, "--op-backend", backend};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return runTool(arguments);
}

// Lowers to `output` with the conformance plugin's registry.
ToolRun lowerBy(const std::string& input, const std::string& output, const std::vector<std::string>& steps) {
  std::vector<std::string> arguments{"lower", input, "-o", output, "--edge", "--plugin", kPlugin};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  return runTool(arguments);
}

std::string printedModel(const std::string& file, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"print", file});
  return runTool(more).out;
}

TEST(LowerCommand, WritesWhatTheBackendReturns) {
  TempDir dir;
  for (const std::string backend : {"retarget", "addconst"}) {
    ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", backend, {"--edge"});
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(run.out, "");
    const std::string golden = "conv_bn_relu_core/op-" + backend;
    EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture(golden + ".graph.txt")));
    EXPECT_EQ(printedModel(dir / "out.pt2", {"--signature"}), readFile(fixture(golden + ".signature.txt")));
  }
}

TEST(LowerCommand, LowersNestedGraphs) {
  TempDir dir;
  ToolRun run = lower(fixture("nested_cond_core/edge.pt2"), dir / "out.pt2", "retarget", {"--edge"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture("nested_cond_core/op-retarget.graph.txt")));
}

TEST(LowerCommand, KnowsEdgeProgramsByTheirFile) {
  TempDir dir;
  ASSERT_EQ(runTool({"convert", "--edge", fixture("conv_bn_relu_core/edge.pt2"), dir / "edge.pt2"}).exitCode,
            0);
  EXPECT_EQ(lower(dir / "edge.pt2", dir / "out.pt2", "retarget").exitCode, 0);
  EXPECT_EQ(printedModel(dir / "out.pt2"), readFile(fixture("conv_bn_relu_core/op-retarget.graph.txt")));
}

TEST(LowerCommand, LowersAllModelsOrThoseNamed) {
  TempDir dir;
  const std::string input = fixture("multi_model/multi_edge.pt2");
  EXPECT_EQ(lower(input, dir / "all.pt2", "retarget", {"--edge"}).exitCode, 0);
  EXPECT_EQ(lower(input, dir / "one.pt2", "retarget", {"--edge", "--method", "decode"}).exitCode, 0);
  EXPECT_EQ(
      lower(input, dir / "both.pt2", "retarget", {"--edge", "--method", "decode", "--method", "prefill"})
          .exitCode,
      0);
  for (const std::string model : {"decode", "prefill"}) {
    const std::string golden = readFile(fixture("multi_model/op-retarget." + model + ".graph.txt"));
    EXPECT_EQ(printedModel(dir / "all.pt2", {"--model", model}), golden);
    EXPECT_EQ(printedModel(dir / "both.pt2", {"--model", model}), golden);
  }
  EXPECT_EQ(printedModel(dir / "one.pt2", {"--model", "decode"}),
            readFile(fixture("multi_model/op-retarget.decode.graph.txt")));
  EXPECT_EQ(printedModel(dir / "one.pt2", {"--model", "prefill"}),
            readFile(fixture("multi_model/edge.prefill.graph.txt")));
}

TEST(LowerCommand, TheOnlyModelIsMethodForward) {
  TempDir dir;
  const std::string input = fixture("conv_bn_relu_core/edge.pt2");
  for (const char* method : {"model", "forward"}) {
    EXPECT_EQ(lower(input, dir / "out.pt2", "retarget", {"--edge", "--method", method}).exitCode, 0)
        << method;
    EXPECT_EQ(loadArchive(dir / "out.pt2").models.at(0).name, "model");
  }
  ToolRun run = lower(input, dir / "none.pt2", "retarget", {"--edge", "--method", "decode"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'forward'"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "none.pt2"));
}

TEST(LowerCommand, CarriesRecordsItDoesNotKnow) {
  TempDir dir;
  const std::string input = fixture("archive_extra_files/program.pt2");
  EXPECT_EQ(lower(input, dir / "out.pt2", "retarget").exitCode, 0);
  EXPECT_EQ(loadArchive(dir / "out.pt2").foreign.size(), loadArchive(input).foreign.size());
}

TEST(LowerCommand, AnUnknownBackendExitsWith2AndListsTheOthers) {
  TempDir dir;
  ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "npu");
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'retarget', 'addconst', 'qdq'"), std::string::npos) << run.err;

  ToolRun without = runTool(
      {"lower", fixture("conv_bn_relu_core/edge.pt2"), "-o", dir / "out.pt2", "--op-backend", "retarget"});
  EXPECT_EQ(without.exitCode, 2);
  EXPECT_NE(without.err.find("none is registered"), std::string::npos) << without.err;
}

TEST(LowerCommand, AFailingBackendExitsWith4AndWritesNothing) {
  TempDir dir;
  ToolRun run = lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "broken");
  EXPECT_EQ(run.exitCode, 4);
  EXPECT_NE(run.err.find("backend 'broken', method 'forward'"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
}

TEST(LowerCommand, APluginThatCannotBeLoadedExitsWith3) {
  TempDir dir;
  writeFile(dir / "text.so", "this is no library");
  for (const std::string& plugin : {std::string(dir / "missing.so"), std::string(dir / "text.so")}) {
    ToolRun run = runTool({"lower", fixture("conv_bn_relu_core/edge.pt2"), "-o", dir / "out.pt2", "--plugin",
                           plugin, "--op-backend", "retarget"});
    EXPECT_EQ(run.exitCode, 3);
    EXPECT_NE(run.err.find(plugin), std::string::npos) << run.err;
  }
}

TEST(LowerCommand, SeveralPluginsMayBeGiven) {
  TempDir dir;
  ToolRun run =
      lower(fixture("conv_bn_relu_core/edge.pt2"), dir / "out.pt2", "retarget", {"--plugin", kPlugin});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'retarget' is registered already"), std::string::npos) << run.err;
}

TEST(LowerCommand, MovesWhatPartitionersTagIntoDelegates) {
  TempDir dir;
  const std::vector<std::pair<std::string, std::string>> goldens = {
      {"conv_bn_relu_core", "addmul"},     {"linear_atan_relu_core", "addmul"},
      {"mlp_int8_core", "addmul"},         {"diamond_core", "two"},
      {"kv_cache_cond_core", "all"},       {"kv_cache_cond_core", "branches"},
      {"user_input_mutation_core", "two"}, {"cond_dynamic_core", "branches"},
  };
  for (const auto& [name, partitioner] : goldens) {
    SCOPED_TRACE(name + ' ' + partitioner);
    ToolRun run = lowerBy(fixture(name + "/edge.pt2"), dir / "out.pt2", {"--partitioner", partitioner});
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(run.out + run.err, "");
    const std::string golden = name + "/backend-" + partitioner;
    EXPECT_EQ(printedModel(dir / "out.pt2", {"--delegates"}), readFile(fixture(golden + ".graph.txt")));
    EXPECT_EQ(printedModel(dir / "out.pt2", {"--signature"}), readFile(fixture(golden + ".signature.txt")));
    EXPECT_EQ(runTool({"verify", dir / "out.pt2"}).out, "ok\n");
  }
}

TEST(LowerCommand, PartitionersRunBeforeOpBackendsWhateverTheirOrder) {
  TempDir dir;
  const std::string input = fixture("linear_atan_relu_core/edge.pt2");
  std::string wanted = readFile(fixture("linear_atan_relu_core/backend-addmul.graph.txt"));
  for (const std::string op : {"atan", "relu"}) {
    const std::string aten = "._ops.aten." + op + ".default";
    ASSERT_NE(wanted.find(aten), std::string::npos);
    wanted.replace(wanted.find(aten), aten.size(), "._ops.op_backend_test." + op + ".default");
  }
  for (const std::vector<std::string>& steps :
       {std::vector<std::string>{"--partitioner", "addmul", "--op-backend", "retarget"},
        {"--op-backend", "retarget", "--partitioner", "addmul"}}) {
    ToolRun run = lowerBy(input, dir / "out.pt2", steps);
    EXPECT_EQ(run.exitCode, 0) << run.err;
    EXPECT_EQ(printedModel(dir / "out.pt2", {"--delegates"}), wanted);
  }
  // What is delegated already is out of an operator backend's reach.
  EXPECT_EQ(lowerBy(input, dir / "all.pt2", {"--op-backend", "retarget", "--partitioner", "all"}).exitCode,
            0);
  EXPECT_EQ(printedModel(dir / "all.pt2", {"--delegates"}),
            readFile(fixture("linear_atan_relu_core/backend-all.graph.txt")));
}

TEST(LowerCommand, SeveralPartitionersRunInTheOrderGiven) {
  TempDir dir;
  const std::string input = fixture("linear_atan_relu_core/edge.pt2");
  EXPECT_EQ(lowerBy(input, dir / "one.pt2", {"--partitioner", "addmul", "--partitioner", "all"}).exitCode, 0);
  const std::string both = printedModel(dir / "one.pt2", {"--delegates"});
  EXPECT_NE(both.find("backend_id: BackendAddMul"), std::string::npos) << both;
  EXPECT_NE(both.find("backend_id: BackendAll"), std::string::npos) << both;
  // The other way round nothing is left for the second.
  EXPECT_EQ(lowerBy(input, dir / "two.pt2", {"--partitioner", "all", "--partitioner", "addmul"}).exitCode, 0);
  EXPECT_EQ(printedModel(dir / "two.pt2", {"--delegates"}),
            readFile(fixture("linear_atan_relu_core/backend-all.graph.txt")));
}

TEST(LowerCommand, SeveralOpBackendsRunInTheOrderGiven) {
  TempDir dir;
  const std::string input = fixture("conv_bn_relu_core/edge.pt2");
  // One looks for calls of relu, the other takes them away.
  EXPECT_EQ(
      lowerBy(input, dir / "one.pt2", {"--op-backend", "addconst", "--op-backend", "retarget"}).exitCode, 0);
  EXPECT_EQ(
      lowerBy(input, dir / "two.pt2", {"--op-backend", "retarget", "--op-backend", "addconst"}).exitCode, 0);
  EXPECT_NE(printedModel(dir / "one.pt2").find("op_backend_scale"), std::string::npos);
  EXPECT_NE(printedModel(dir / "one.pt2").find("op_backend_test.relu"), std::string::npos);
  EXPECT_EQ(printedModel(dir / "two.pt2"), readFile(fixture("conv_bn_relu_core/op-retarget.graph.txt")));
}

TEST(LowerCommand, PartitionsOnlyTheMethodsNamed) {
  TempDir dir;
  const std::string input = fixture("multi_model/multi_edge.pt2");
  ToolRun run = lowerBy(input, dir / "out.pt2", {"--partitioner", "addmul", "--method", "decode"});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  EXPECT_EQ(printedModel(dir / "out.pt2", {"--delegates", "--model", "decode"}),
            readFile(fixture("multi_model/backend-addmul_decode_only.decode.graph.txt")));
  EXPECT_EQ(printedModel(dir / "out.pt2", {"--model", "prefill"}),
            readFile(fixture("multi_model/edge.prefill.graph.txt")));
}

TEST(LowerCommand, WritesPayloadsAlone) {
  TempDir dir;
  const std::string folder = dir / "a/payloads";
  ToolRun run = lowerBy(fixture("kv_cache_cond_core/edge.pt2"), dir / "out.pt2",
                        {"--partitioner", "branches", "--payloads", folder});
  EXPECT_EQ(run.exitCode, 0) << run.err;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"model.submodule_0.lowered_module_0.bin",
                                             "model.submodule_1.lowered_module_0.bin"}));
  // The backend's payload is the text of the graph.
  EXPECT_NE(readFile(folder + "/model.submodule_1.lowered_module_0.bin").find("%aten_addmm_default"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(dir / "out.pt2"));
}

TEST(LowerCommand, PayloadsThatCannotBeWrittenExitWith3) {
  TempDir dir;
  writeFile(dir / "file", "kept");
  ToolRun run = lowerBy(fixture("linear_atan_relu_core/edge.pt2"), dir / "out.pt2",
                        {"--partitioner", "all", "--payloads", dir / "file"});
  EXPECT_EQ(run.exitCode, 3);
  EXPECT_NE(run.err.find(dir / "file"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
}

TEST(LowerCommand, AnUnknownPartitionerExitsWith2AndListsTheOthers) {
  TempDir dir;
  ToolRun run = lowerBy(fixture("linear_atan_relu_core/edge.pt2"), dir / "out.pt2", {"--partitioner", "npu"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("'npu'"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("'addmul', 'branches', 'two'"), std::string::npos) << run.err;
  // An operator backend is no partitioner.
  EXPECT_EQ(lowerBy(fixture("linear_atan_relu_core/edge.pt2"), dir / "out.pt2", {"--partitioner", "retarget"})
                .exitCode,
            2);
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
}

TEST(LowerCommand, AFailingPartitionerExitsWith4AndWritesNothing) {
  TempDir dir;
  const std::string payloads = dir / "payloads";
  ToolRun run = lowerBy(fixture("kv_cache_cond_core/edge.pt2"), dir / "out.pt2",
                        {"--partitioner", "all_no_get_attr", "--payloads", payloads});
  EXPECT_EQ(run.exitCode, 4);
  EXPECT_NE(run.err.find("method 'forward'"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("is outside of the partition"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
  EXPECT_FALSE(std::filesystem::exists(payloads));
}

TEST(LowerCommand, NeedsAPartitionerOrAnOpBackend) {
  TempDir dir;
  ToolRun run = lowerBy(fixture("linear_atan_relu_core/edge.pt2"), dir / "out.pt2", {});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("--partitioner or --op-backend is required"), std::string::npos) << run.err;
  EXPECT_FALSE(std::filesystem::exists(dir / "out.pt2"));
}

}  // namespace
}  // namespace edgefx::test

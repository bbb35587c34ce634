#include <edgefx/ir/fx_text.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/serialization/pt2.h>

#include "serialization/equal_programs.h"
#include "serialization/expect_error.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

class LoweredRoundTrip : public testing::Test {
 protected:
  // Saves, loads and compares; what is saved again has the same records. Returns the loaded program.
  ExportedProgram expectKept(const ExportedProgram& program) {
    saveProgram(program, dir_ / "saved.pt2");
    ExportedProgram loaded = loadProgram(dir_ / "saved.pt2", {}, {.checkWeights = true});
    expectEqualPrograms(program, loaded);
    std::filesystem::create_directory(dir_ / "again");
    saveProgram(loaded, dir_ / "again/saved.pt2");
    EXPECT_TRUE(readFile(dir_ / "saved.pt2") == readFile(dir_ / "again/saved.pt2"));
    saveProgram(program, dir_ / "again/saved.pt2");
    EXPECT_TRUE(readFile(dir_ / "saved.pt2") == readFile(dir_ / "again/saved.pt2"));
    return loaded;
  }

  TempDir dir_;
};

TEST_F(LoweredRoundTrip, ADelegateAtTheTop) {
  ExportedProgram program = loweredProgram();
  ExportedProgram loaded = expectKept(program);
  const LoweredModule* module =
      findLoweredModule(loaded.graphModule(), *loaded.graph().find("executorch_call_delegate"));
  ASSERT_NE(module, nullptr);
  EXPECT_EQ(module->program.dialect, Dialect::Edge);
}

TEST_F(LoweredRoundTrip, DelegatesInBranchesAndInDelegates) {
  ExportedProgram loaded = expectKept(branchedLoweredProgram());
  std::vector<std::string> paths;
  for (const DelegatePayload& payload : delegatePayloads(loaded, "forward")) paths.push_back(payload.path);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"lowered_module_0", "lowered_module_1",
                                      "lowered_module_1.true_graph_0.lowered_module_0",
                                      "true_graph_0.lowered_module_0", "false_graph_0.lowered_module_0"}));
}

TEST_F(LoweredRoundTrip, RandomPrograms) {
  for (uint64_t seed = 0; seed < 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    expectKept(randomLoweredProgram(seed));
  }
}

// Delegates may hang unnamed, be named without being called, and their get_attr nodes may have any name.
TEST_F(LoweredRoundTrip, DelegatesThatNobodyCalls) {
  ExportedProgram program = loweredProgram();
  LoweredModuleRef module = program.graphModule().delegates().front().module;
  addLoweredModule(program.graphModule(), "unnamed", module);
  addLoweredModule(program.graphModule(), "named", module);
  {
    Graph& graph = program.graph();
    InsertionGuard guard(graph, before(graph.outputNode()));
    graph.getAttr("named", "another").setName("any name.1");
  }
  ExportedProgram loaded = expectKept(program);
  EXPECT_NE(loaded.graph().find("any name.1"), nullptr);
  EXPECT_NE(loaded.graphModule().findDelegate("unnamed"), nullptr);
}

// Lowering the condition of a cond puts the call of a delegate between the cond and the get_attr nodes of its
// branches, where files have nothing.
TEST_F(LoweredRoundTrip, DelegatesBetweenBranchesAndTheirCall) {
  ExportedProgram program = branchedLoweredProgram();
  Graph& graph = program.graph();
  Node& cond = *graph.find("cond");
  Node& last = *graph.find("lowered_module_1");
  for (const char* name : {"true_graph_0", "false_graph_0"}) {
    graph.find(name)->moveBefore(last);
    graph.find(name)->editMeta([&](NodeMeta& meta) { meta.set("stack_trace", name); });
  }
  ASSERT_TRUE(last.isBefore(cond));
  expectKept(program);
  graph.find("true_graph_0")->setMeta(nullptr);
  expectKept(program);
}

// Programs of delegates return lists, and their placeholders have metadata; no file of torch's has either.
TEST_F(LoweredRoundTrip, ListsOfResultsAndMetadataOfPlaceholders) {
  for (Dialect dialect : {Dialect::Aten, Dialect::Edge}) {
    ExportedProgram program = tinyProgram();
    if (dialect == Dialect::Edge) wrapAsEdge(program);
    Graph& graph = program.graph();
    graph.outputNode().setArgs({Arg::list({*graph.find("relu")})});
    expectKept(program);
    graph.find("x")->editMeta([](NodeMeta& meta) { meta.set("stack_trace", "of x"); });
    graph.outputNode().editMeta([](NodeMeta& meta) { meta.set("stack_trace", "of output"); });
    expectKept(program);
  }
}

TEST_F(LoweredRoundTrip, ModelsShareADelegate) {
  Archive archive;
  archive.models.push_back({"decode", loweredProgram()});
  archive.models.push_back({"prefill", archive.models[0].program.clone()});
  saveArchive(archive, dir_ / "two.pt2");
  Archive loaded = loadArchive(dir_ / "two.pt2");
  expectEqualArchives(archive, loaded);
  EXPECT_EQ(loaded.models[0].program.graphModule().delegates()[0].module,
            loaded.models[1].program.graphModule().delegates()[0].module);
  EXPECT_EQ(loaded.models[0].program.stateDict().find("weight")->storage().data(),
            loaded.models[1].program.stateDict().find("weight")->storage().data());
  expectEqualPrograms(archive.models[1].program, loadProgram(dir_ / "two.pt2", "prefill"));
  saveArchive(archive, dir_ / "two.pt2");
  expectEqualArchives(archive, loadArchive(dir_ / "two.pt2"));
}

// Tags say which delegate is to take a node; no file has them.
TEST_F(LoweredRoundTrip, TagsAreGone) {
  ExportedProgram program = loweredProgram();
  program.graph().find("mul")->editMeta(
      [](NodeMeta& meta) { meta.setDelegationTag(std::make_shared<const std::string>("tag0")); });
  saveProgram(program, dir_ / "saved.pt2");
  EXPECT_EQ(loadProgram(dir_ / "saved.pt2").graph().find("mul")->meta().delegationTag(), "");
}

TEST_F(LoweredRoundTrip, VerifiersOfAnEdgeProgram) {
  ExportedProgram program = loweredProgram();
  program.verifiers = {"EDGE", "OTHER"};
  EXPECT_EQ(expectKept(program).verifiers, program.verifiers);
}

TEST_F(LoweredRoundTrip, PayloadsAreMappedAndAligned) {
  ExportedProgram program = loweredProgram();
  saveProgram(program, dir_ / "saved.pt2");
  ExportedProgram loaded = loadProgram(dir_ / "saved.pt2");
  const LoweredModule& module = *loaded.graphModule().delegates().front().module;
  const auto* weight = loaded.stateDict().find("weight")->storage().data();
  const auto distance = [&](std::span<const std::byte> bytes) {
    return reinterpret_cast<intptr_t>(bytes.data()) - reinterpret_cast<intptr_t>(weight);
  };
  const auto size = static_cast<intptr_t>(std::filesystem::file_size(dir_ / "saved.pt2"));
  for (std::span<const std::byte> bytes :
       {module.processedBytes.bytes(), module.namedData[0].bytes.bytes()}) {
    EXPECT_LT(std::abs(distance(bytes)), size) << "not in the mapping of the file";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
  }
  EXPECT_EQ(module.namedData[0].bytes.bytes().data(), module.namedData[1].bytes.bytes().data());
}

}  // namespace
}  // namespace edgefx::test

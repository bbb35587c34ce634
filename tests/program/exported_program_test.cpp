#include <edgefx/ir/fx_text.h>
#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace edgefx {
namespace {

using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

static_assert(std::is_nothrow_move_constructible_v<ExportedProgram>);
static_assert(std::is_nothrow_move_assignable_v<ExportedProgram>);
static_assert(!std::is_copy_constructible_v<ExportedProgram>);

TEST(RangeConstraint, PrintsAsPythonDoes) {
  EXPECT_EQ(text(RangeConstraint{"s0", 2, 8}), "VR[2, 8]");
  EXPECT_EQ(text(RangeConstraint{"s0", 2, {}}), "VR[2, int_oo]");
  EXPECT_EQ(text(RangeConstraint{"u0", {}, {}}), "VR[-int_oo, int_oo]");
  EXPECT_EQ(text(RangeConstraint{"u0", {}, -1}), "VR[-int_oo, -1]");
}

TEST(ExportedProgram, TakesAGraphModule) {
  auto module = std::make_unique<GraphModule>();
  const GraphModule* const given = module.get();
  const ExportedProgram program(std::move(module));
  EXPECT_EQ(&program.graphModule(), given);
  EXPECT_TRUE(program.stateDict().empty());
  EXPECT_THROW(ExportedProgram(std::unique_ptr<GraphModule>()), UsageError);
}

TEST(ExportedProgram, StartsEmpty) {
  ExportedProgram program;
  EXPECT_TRUE(program.isValid());
  EXPECT_EQ(program.graph().size(), 0u);
  EXPECT_TRUE(program.stateDict().empty());
  EXPECT_TRUE(program.constants().empty());
}

TEST(ExportedProgram, MovesLeaveAnInvalidProgram) {
  ExportedProgram program = tinyProgram();
  const Node* x = program.graph().find("x");
  ExportedProgram moved = std::move(program);
  EXPECT_FALSE(program.isValid());  // NOLINT: what a moved-from program still answers
  EXPECT_TRUE(moved.isValid());
  EXPECT_EQ(moved.graph().find("x"), x);
  program = std::move(moved);
  EXPECT_TRUE(program.isValid());
  EXPECT_TRUE(program.stateDict().contains("weight"));
}

ExportedProgram filledProgram() {
  ExportedProgram program = tinyProgram();
  program.constants().set("c", sampleTensor({2}));
  program.rangeConstraints = {{"s0", 2, 8}};
  program.namedTupleFields = {{"Pair", {"a", "b"}}};
  program.opsetVersion = {{"aten", 11}};
  program.schemaVersion = {8, 9};
  program.torchVersion = "2.9.0";
  program.verifiers = {"TRAINING"};
  program.guardsCode = {"L['x'].size()[0] <= 8"};
  program.dialect = Dialect::Training;
  program.exampleInputs = SharedBytes::copyOf("bytes");
  program.unknownMembers["/graph_module"] = "\"new\": 1";
  program.argumentNames["mylib.scale.default"] = {"image"};
  return program;
}

TEST(ExportedProgram, CloneHoldsEverything) {
  const ExportedProgram program = filledProgram();
  const ExportedProgram copy = program.clone();
  EXPECT_EQ(fxText(copy.graphModule()), fxText(program.graphModule()));
  EXPECT_EQ(copy.signature, program.signature);
  EXPECT_EQ(copy.rangeConstraints, program.rangeConstraints);
  EXPECT_EQ(copy.moduleCallGraph, program.moduleCallGraph);
  EXPECT_EQ(copy.namedTupleFields, program.namedTupleFields);
  EXPECT_EQ(copy.opsetVersion, program.opsetVersion);
  EXPECT_EQ(copy.schemaVersion, program.schemaVersion);
  EXPECT_EQ(copy.torchVersion, program.torchVersion);
  EXPECT_EQ(copy.verifiers, program.verifiers);
  EXPECT_EQ(copy.guardsCode, program.guardsCode);
  EXPECT_EQ(copy.dialect, program.dialect);
  EXPECT_EQ(copy.exampleInputs.text(), "bytes");
  EXPECT_EQ(copy.unknownMembers, program.unknownMembers);
  EXPECT_EQ(copy.argumentNames, program.argumentNames);
  EXPECT_EQ(copy.graph().find("x")->value(), program.graph().find("x")->value());
  for (const char* name : {"weight", "scale"}) {
    ASSERT_TRUE(copy.stateDict().contains(name));
    EXPECT_EQ(copy.stateDict().find(name)->storage().data(),
              program.stateDict().find(name)->storage().data());
  }
  EXPECT_TRUE(copy.constants().contains("c"));
}

TEST(ExportedProgram, WritesToACloneStayThere) {
  ExportedProgram program = filledProgram();
  program.graph().find("relu")->editMeta([](NodeMeta& meta) { meta.set("stack_trace", "here"); });
  const std::string graphBefore = fxText(program.graphModule());
  const GraphSignature signatureBefore = program.signature;
  const auto callsBefore = program.moduleCallGraph;

  ExportedProgram copy = program.clone();
  copy.rename(*copy.graph().find("x"), "y");
  Node& relu = *copy.graph().find("relu");
  relu.setTarget("aten.gelu.default");
  relu.setValue(tensorValue({9}));
  relu.editMeta([](NodeMeta& meta) { meta.set("stack_trace", "there"); });
  copy.signature.inputs[0].target = "other";
  copy.moduleCallGraph[0].signature->inSpec = "changed";
  copy.rangeConstraints[0].max = 3;
  copy.stateDict().find("weight")->isParameter = false;
  copy.stateDict().erase("scale");
  copy.constants().set("d", sampleTensor({1}));

  EXPECT_EQ(fxText(program.graphModule()), graphBefore);
  EXPECT_EQ(program.signature, signatureBefore);
  EXPECT_EQ(program.moduleCallGraph, callsBefore);
  EXPECT_EQ(program.rangeConstraints[0].max, 8);
  EXPECT_EQ(program.graph().find("relu")->value()->tensor()->sizes, (std::vector<SymInt>{1, 4}));
  EXPECT_EQ(program.graph().find("relu")->meta().stackTrace(), "here");
  EXPECT_TRUE(program.stateDict().find("weight")->isParameter);
  EXPECT_TRUE(program.stateDict().contains("scale"));
  EXPECT_FALSE(program.constants().contains("d"));
}

SpecArg named(std::string name) {
  SpecArg arg;
  arg.name = std::move(name);
  return arg;
}

TEST(ExportedProgram, RenameReachesSignatureAndModuleCalls) {
  test::ProgramBuilder builder;
  Node& state = builder.userInput("state", tensorValue({2}));
  Node& add = builder.call("aten.add.Tensor", {state, 1}, tensorValue({2}));
  builder.result(OutputKind::UserInputMutation, add, "state");
  builder.userOutput(state);
  ExportedProgram program = builder.finish();
  program.moduleCallGraph.push_back(
      {"sub", ModuleCallSignature{{named("state")}, {named("add")}, "", "", {}}});

  EXPECT_EQ(program.rename(state, "cache"), "cache");
  EXPECT_EQ(state.name(), "cache");
  EXPECT_EQ(program.signature.inputs[0].arg.name, "cache");
  EXPECT_EQ(program.signature.outputs[0].target, "cache");
  EXPECT_EQ(program.signature.outputs[1].arg.name, "cache");
  EXPECT_EQ(program.moduleCallGraph[1].signature->inputs[0].name, "cache");

  program.rename(add, "total");
  EXPECT_EQ(program.signature.outputs[0].arg.name, "total");
  EXPECT_EQ(program.moduleCallGraph[1].signature->outputs[0].name, "total");
}

// A placeholder without users is renamed all the same.
TEST(ExportedProgram, RenameReachesUnusedPlaceholders) {
  test::ProgramBuilder builder;
  Node& unused = builder.userInput("unused", tensorValue({2}));
  ExportedProgram program = builder.finish();
  program.rename(unused, "other");
  EXPECT_EQ(program.signature.inputs[0].arg.name, "other");
}

TEST(ExportedProgram, RenameMakesTheNameUnique) {
  ExportedProgram program = tinyProgram();
  EXPECT_EQ(program.rename(*program.graph().find("x"), "relu"), "relu_1");
  EXPECT_EQ(program.signature.inputs[2].arg.name, "relu_1");
  EXPECT_EQ(program.signature.outputs[0].arg.name, "relu");
}

TEST(ExportedProgram, RenameRefusesNodesOfOtherGraphs) {
  ExportedProgram program = tinyProgram();
  ExportedProgram copy = program.clone();
  EXPECT_THROW(program.rename(*copy.graph().find("x"), "y"), UsageError);
  EXPECT_NE(copy.graph().find("x"), nullptr);
}

}  // namespace
}  // namespace edgefx

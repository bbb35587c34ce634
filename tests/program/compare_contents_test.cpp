#include <edgefx/program/compare_programs.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace edgefx::test {
namespace {

std::string contentDifference(const ExportedProgram& before, const ExportedProgram& after) {
  const std::optional<Diagnostic> found = findContentDifference(before, after);
  return found ? found->message.substr(0, found->message.find(':')) : "";
}

TEST(CompareContents, ProgramsMadeApartAreTheSame) {
  EXPECT_EQ(contentDifference(tinyProgram(), tinyProgram()), "");
  EXPECT_EQ(contentDifference(branchedLoweredProgram(), branchedLoweredProgram()), "");
}

TEST(CompareContents, FindsEveryDifference) {
  const std::vector<std::pair<std::string, std::function<void(ExportedProgram&)>>> changes = {
      {"the name of a node changed", [](auto& p) { p.graph().find("mul")->rename("other"); }},
      {"the target of a node changed",
       [](auto& p) { p.graph().find("relu")->setTarget("aten.tanh.default"); }},
      {"the arguments of a node changed",
       [](auto& p) { p.graph().find("mul")->setArg(1, *p.graph().find("linear")); }},
      {"the arguments of a node changed", [](auto& p) { p.graph().find("relu")->setArgs({}); }},
      {"the keyword arguments of a node changed",
       [](auto& p) { p.graph().find("relu")->setKwarg("k", 0.0); }},
      {"the value of a node changed",
       [](auto& p) {
         p.graph().find("relu")->setValue(tensorValue({1, 5}));
       }},
      {"the value of a node changed", [](auto& p) { p.graph().find("relu")->setValue(nullptr); }},
      {"the metadata of a node changed",
       [](auto& p) { p.graph().find("relu")->editMeta([](NodeMeta& meta) { meta.setDebugHandle(1); }); }},
      {"a node was removed", [](auto& p) { p.graph().erase(p.graph().outputNode()); }},
      {"the nested graph modules changed",
       [](auto& p) { p.graphModule().addChild("a", std::make_unique<GraphModule>()); }},
      {"the module's metadata changed", [](auto& p) { p.graphModule().metadata.emplace_back("a", "b"); }},
      {"the graph signature changed", [](auto& p) { p.signature.inputs[0].target = "other"; }},
      {"the graph signature changed", [](auto& p) { p.signature.outputs[0].arg.value = -0.0; }},
      {"the range constraints changed",
       [](auto& p) {
         p.rangeConstraints.push_back({"s0", 1, 2});
       }},
      {"the module call graph changed", [](auto& p) { p.moduleCallGraph.clear(); }},
      {"the opset versions changed", [](auto& p) { p.opsetVersion.clear(); }},
      {"the schema version changed", [](auto& p) { p.schemaVersion.minor = 1; }},
      {"the dialect changed", [](auto& p) { p.dialect = Dialect::Edge; }},
      {"the example inputs changed", [](auto& p) { p.exampleInputs = SharedBytes::copyOf("x"); }},
      {"the state dict changed", [](auto& p) { p.stateDict().find("scale")->tensor()[0] = -0.5; }},
      {"the state dict changed", [](auto& p) { p.stateDict().find("scale")->isParameter = true; }},
      {"the state dict changed", [](auto& p) { p.stateDict().find("weight")->setRequiresGrad(false); }},
      {"the state dict changed", [](auto& p) { p.stateDict().set("new", at::ones({1})); }},
      {"the table of constants changed", [](auto& p) { p.constants().set("new", at::ones({1})); }},
  };
  for (const auto& [message, change] : changes) {
    ExportedProgram changed = tinyProgram();
    change(changed);
    EXPECT_EQ(contentDifference(tinyProgram(), changed), message);
  }
}

TEST(CompareContents, FindsMemoryThatIsNoLongerShared) {
  const auto program = [](bool isShared) {
    ExportedProgram made = tinyProgram();
    const at::Tensor first = sampleTensor({4});
    made.constants().set("a", first);
    made.constants().set("b", isShared ? first : sampleTensor({4}));
    return made;
  };
  EXPECT_EQ(contentDifference(program(true), program(true)), "");
  EXPECT_EQ(contentDifference(program(true), program(false)), "the table of constants changed");
  EXPECT_EQ(contentDifference(program(false), program(true)), "the table of constants changed");
}

TEST(CompareContents, TellsSymbolsByTextAndHint) {
  const auto program = [](const char* expression, SymHint hint) {
    ProgramBuilder builder;
    builder.userInput("x", tensorValue({SymInt(Symbolic{SymExpr::parse(expression), hint})}));
    return builder.finish();
  };
  EXPECT_EQ(contentDifference(program("s0", int64_t{3}), program("s0", int64_t{3})), "");
  EXPECT_EQ(contentDifference(program("s0", int64_t{3}), program("s0", int64_t{4})),
            "the value of a node changed");
  EXPECT_EQ(contentDifference(program("s0", {}), program("Symbol('s0')", {})), "the value of a node changed");
}

TEST(CompareContents, FindsDelegatesThatAreOtherOnes) {
  const auto change = [](const std::function<void(LoweredModule&)>& edit) {
    ExportedProgram program = loweredProgram();
    LoweredModule module = sampleLowered(tinyProgram());
    edit(module);
    program.graphModule().removeDelegate("lowered_module_0");
    addLoweredModule(program.graphModule(), "lowered_module_0",
                     std::make_shared<LoweredModule>(std::move(module)));
    return program;
  };
  const ExportedProgram before = change([](LoweredModule&) {});
  EXPECT_EQ(contentDifference(before, change([](LoweredModule&) {})), "");
  EXPECT_EQ(contentDifference(before, change([](LoweredModule& m) { m.backendId = "b"; })),
            "the backend of a delegate changed");
  EXPECT_EQ(contentDifference(before, change([](LoweredModule& m) { m.processedBytes = {}; })),
            "the payload of a delegate changed");
  EXPECT_EQ(contentDifference(before, change([](LoweredModule& m) { m.compileSpecs.clear(); })),
            "the compile specs of a delegate changed");
  EXPECT_EQ(contentDifference(before, change([](LoweredModule& m) { m.debugHandleMap.clear(); })),
            "the debug handles of a delegate changed");
  EXPECT_EQ(contentDifference(before, change([](LoweredModule& m) { m.namedData.clear(); })),
            "the named data of a delegate changed");
  EXPECT_EQ(
      contentDifference(before, change([](LoweredModule& m) { m.program.graph().find("mul")->rename("n"); })),
      "the name of a node changed");
}

}  // namespace
}  // namespace edgefx::test

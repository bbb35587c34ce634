#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/passes/standard.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

PassRef toTanh(std::string_view name = "to-tanh") {
  return graphPass(name, [](GraphModule& module) {
    for (Node& node : module.graph().nodes()) {
      if (node.callsOperator("aten.relu.default")) node.setTarget("aten.tanh.default");
    }
    return true;
  });
}
PassRef failing() {
  return programPass("failing", [](ExportedProgram& program) -> bool {
    program.graph().find("relu")->setTarget("aten.neg.default");
    throw UnsupportedError(Diagnostic("not this one"));
  });
}

EdgeProgramManager managerOfTwo() {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("prefill", tinyProgram());
  methods.emplace_back("decode", countingProgram());
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  config.preserveOps = {"aten.linear.default"};
  return EdgeProgramManager(std::move(methods), config, {{"max_len", ConstantValue(int64_t{128})}},
                            std::make_shared<const EtRecord>());
}

std::string lastOp(const EdgeProgramManager& manager, std::string_view method) {
  return std::string(manager.exportedProgram(method).graph().find("relu")->target().op());
}

std::string texts(const EdgeProgramManager& manager) {
  std::string all;
  for (const std::string& method : manager.methods()) all += test::snapshot(manager.exportedProgram(method));
  return all;
}

TEST(Transform, EM6_PassesRunOnEveryMethod) {
  const EdgeProgramManager manager = managerOfTwo();
  const std::string before = texts(manager);
  for (const EdgeProgramManager& made :
       {manager.transform({toTanh()}), manager.transform(PassManager({toTanh()}))}) {
    EXPECT_EQ(lastOp(made, "prefill"), "tanh");
    EXPECT_EQ(lastOp(made, "decode"), "tanh");
    EXPECT_EQ(made.constantMethods(), manager.constantMethods());
    EXPECT_EQ(made.compileConfig(), manager.compileConfig());
    EXPECT_EQ(made.etRecord(), manager.etRecord());
    EXPECT_EQ(made.methods(), manager.methods());
  }
  EXPECT_EQ(texts(manager), before);
}

TEST(Transform, EM6_AnotherConfigMayBeGiven) {
  EdgeCompileConfig config;
  config.checkIrValidity = false;
  EXPECT_EQ(managerOfTwo().transform({toTanh()}, config).compileConfig(), config);
}

TEST(Transform, EM7_AMapChangesTheMethodsItNames) {
  const EdgeProgramManager manager = managerOfTwo();
  const EdgeProgramManager made =
      manager.transform(EdgeProgramManager::PassesOfMethod{{"decode", {toTanh()}}});
  EXPECT_EQ(lastOp(made, "decode"), "tanh");
  EXPECT_EQ(&made.exportedProgram("prefill"), &manager.exportedProgram("prefill"));
}

TEST(Transform, EM7_W17_AMapIsCheckedBeforeAnythingRuns) {
  const EdgeProgramManager manager = managerOfTwo();
  size_t ran = 0;
  const PassRef counting = programPass("counting", [&](ExportedProgram&) {
    ++ran;
    return false;
  });
  using Map = EdgeProgramManager::PassesOfMethod;
  const auto unknown = caught<UsageError>([&] {
    manager.transform(Map{{"prefill", {counting}}, {"forward", {counting}}});
  });
  EXPECT_CONTAINS(std::string(unknown.what()), "no method 'forward'; the manager has 'prefill', 'decode'");
  EXPECT_THROW(manager.transform(Map{{"decode", {counting}}, {"decode", {counting}}}), UsageError);
  EXPECT_THROW(manager.transform(Map{{"prefill", {counting}}, {"decode", {nullptr}}}), UsageError);
  EXPECT_THROW(manager.transform({counting, nullptr}), UsageError);
  EXPECT_EQ(ran, 0u);
}

TEST(Transform, EM7_NoPassesChangeNothing) {
  const EdgeProgramManager manager = managerOfTwo();
  for (const EdgeProgramManager& made :
       {manager.transform(PassManager()), manager.transform(std::vector<PassRef>{}),
        manager.transform(EdgeProgramManager::PassesOfMethod{}),
        manager.transform(EdgeProgramManager::PassesOfMethod{{"decode", {}}})}) {
    for (const std::string& method : manager.methods()) {
      EXPECT_EQ(&made.exportedProgram(method), &manager.exportedProgram(method));
    }
  }
}

TEST(Transform, EM8_TheSameProgramIfNothingWasModified) {
  const EdgeProgramManager manager = managerOfTwo();
  const EdgeProgramManager made = manager.transform({makePass("dead-code"), toTanh("a")});
  EXPECT_NE(&made.exportedProgram("decode"), &manager.exportedProgram("decode"));
  const EdgeProgramManager again = made.transform({makePass("dead-code"), toTanh("a")});
  EXPECT_EQ(&again.exportedProgram("decode"), &made.exportedProgram("decode"));
}

TEST(Transform, EM8_W6_NothingChangesIfAPassFails) {
  const EdgeProgramManager manager = managerOfTwo();
  const std::string before = texts(manager);
  const auto error = caught<UnsupportedError>([&] {
    manager.transform(EdgeProgramManager::PassesOfMethod{{"decode", {toTanh(), failing()}}});
  });
  EXPECT_EQ(error.diagnostics().front().method, "decode");
  EXPECT_EQ(error.diagnostics().front().pass, "failing");
  EXPECT_EQ(texts(manager), before);
}

TEST(Transform, EM10_WeightsAreShared) {
  const EdgeProgramManager manager = managerOfTwo();
  const EdgeProgramManager made = manager.transform({toTanh()});
  EXPECT_EQ(made.exportedProgram("prefill").stateDict().find("weight")->storage().data(),
            manager.exportedProgram("prefill").stateDict().find("weight")->storage().data());
}

TEST(Transform, ObserversAreToldTheMethod) {
  std::vector<std::string> methods;
  PassObserver observer;
  observer.afterPass = [&](const PassEvent& event) { methods.emplace_back(event.method); };
  managerOfTwo().transform(PassManager({toTanh()}).observe(observer));
  EXPECT_EQ(methods, (std::vector<std::string>{"prefill", "decode"}));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <utility>

namespace edgefx::test {
namespace {

EdgeProgramManager::Methods twoMethods() {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("prefill", tinyProgram());
  methods.emplace_back("decode", countingProgram());
  return methods;
}

TEST(EdgeProgramManager, EM3_KeepsMethodsInOrder) {
  EdgeProgramManager manager(twoMethods());
  EXPECT_EQ(manager.methods(), (std::vector<std::string>{"prefill", "decode"}));
  EXPECT_EQ(snapshot(manager.exportedProgram("prefill")), snapshot(manager.exportedProgram("prefill")));
  EXPECT_NE(manager.exportedProgram("decode").graph().find("b_count"), nullptr);
  EXPECT_TRUE(manager.constantMethods().empty());
  EXPECT_EQ(manager.etRecord(), nullptr);
}

TEST(EdgeProgramManager, EM1_ConfigDefaults) {
  EdgeCompileConfig config = EdgeProgramManager(tinyProgram()).compileConfig();
  EXPECT_TRUE(config.checkIrValidity);
  EXPECT_FALSE(config.skipDimOrder);
  EXPECT_TRUE(config.coreAtenOpsExceptionList.empty());
  EXPECT_TRUE(config.preserveOps.empty());
}

TEST(EdgeProgramManager, EM2_ASingleProgramIsMethodForward) {
  ExportedProgram program = tinyProgram();
  const std::string text = snapshot(program);
  EdgeProgramManager manager(std::move(program));
  EXPECT_EQ(manager.methods(), (std::vector<std::string>{"forward"}));
  EXPECT_EQ(snapshot(manager.exportedProgram()), text);
}

TEST(EdgeProgramManager, EM3_MayBeEmpty) {
  EdgeProgramManager manager(EdgeProgramManager::Methods{});
  EXPECT_TRUE(manager.methods().empty());
  EXPECT_CONTAINS(caught<UsageError>([&] { manager.exportedProgram(); }).what(),
                  "'forward': the manager has none");
  EXPECT_TRUE(manager.toOpBackend(editing([](ExportedProgram&) {})).methods().empty());
}

TEST(EdgeProgramManager, EM4_AnUnknownMethodListsTheKnownOnes) {
  EdgeProgramManager manager(twoMethods());
  UsageError error = caught<UsageError>([&] { manager.exportedProgram("forward"); });
  EXPECT_CONTAINS(error.what(), "no method 'forward'; the manager has 'prefill', 'decode'");
}

TEST(EdgeProgramManager, RefusesTwoMethodsOfOneName) {
  EdgeProgramManager::Methods methods = twoMethods();
  methods.emplace_back("prefill", tinyProgram());
  EXPECT_CONTAINS(caught<UsageError>([&] { EdgeProgramManager manager(std::move(methods)); }).what(),
                  "'prefill'");
}

TEST(EdgeProgramManager, RefusesEmptyNames) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("", tinyProgram());
  EXPECT_THROW(EdgeProgramManager(std::move(methods)), UsageError);
  EXPECT_THROW(EdgeProgramManager(tinyProgram(), {}, {{"", 1}}), UsageError);
}

TEST(EdgeProgramManager, RefusesAProgramThatWasMovedFrom) {
  ExportedProgram program = tinyProgram();
  ExportedProgram taken = std::move(program);
  EXPECT_CONTAINS(caught<UsageError>([&] { EdgeProgramManager manager(std::move(program)); }).what(),
                  "'forward'");
}

TEST(EdgeProgramManager, W21_RefusesAConstantMethodOfAMethodsName) {
  UsageError error = caught<UsageError>([&] {
    EdgeProgramManager(twoMethods(), {}, {{"eos", 2}, {"decode", 1}});
  });
  EXPECT_CONTAINS(error.what(), "'decode'");
  EXPECT_THROW(EdgeProgramManager(twoMethods(), {}, {{"eos", 2}, {"eos", 2}}), UsageError);
}

TEST(EdgeProgramManager, CopiesShareThePrograms) {
  EdgeProgramManager manager(twoMethods(), {}, {{"eos", 2}});
  EdgeProgramManager copy = manager;
  EXPECT_EQ(&copy.exportedProgram("decode"), &manager.exportedProgram("decode"));
  EXPECT_EQ(copy.constantMethods(), manager.constantMethods());
}

TEST(EdgeProgramManager, ProgramsOutliveTheManagerTheyCameFrom) {
  auto first = std::make_unique<EdgeProgramManager>(twoMethods());
  EdgeProgramManager copy = *first;
  const std::string text = snapshot(first->exportedProgram("decode"));
  first.reset();
  EXPECT_EQ(snapshot(copy.exportedProgram("decode")), text);
}

}  // namespace
}  // namespace edgefx::test

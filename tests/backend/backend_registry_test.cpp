#include <edgefx/backend/backend_registry.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

std::unique_ptr<OpBackend> named(std::string name) {
  return std::make_unique<FunctionBackend>([](ExportedProgram program, std::string_view) { return program; },
                                           std::move(name));
}

TEST(BackendRegistry, FindsByNameInOrderOfRegistration) {
  BackendRegistry registry;
  registry.add(named("zeta"));
  registry.add(named("alpha"));

  EXPECT_EQ(registry.opBackendNames(), (std::vector<std::string>{"zeta", "alpha"}));
  ASSERT_NE(registry.findOpBackend("alpha"), nullptr);
  EXPECT_EQ(registry.findOpBackend("alpha")->name(), "alpha");
  EXPECT_EQ(&registry.opBackend("zeta"), registry.findOpBackend("zeta"));
  EXPECT_EQ(registry.findOpBackend("beta"), nullptr);
}

TEST(BackendRegistry, UnknownNameListsTheKnownOnes) {
  BackendRegistry registry;
  EXPECT_CONTAINS(caught<UsageError>([&] { registry.opBackend("npu"); }).what(), "'npu': none is registered");
  registry.add(named("zeta"));
  registry.add(named("alpha"));
  EXPECT_CONTAINS(caught<UsageError>([&] { registry.opBackend("npu"); }).what(),
                  "'npu'; registered are 'zeta', 'alpha'");
}

TEST(BackendRegistry, RefusesNullEmptyAndTakenNames) {
  BackendRegistry registry;
  registry.add(named("npu"));
  const OpBackend* first = registry.findOpBackend("npu");
  EXPECT_THROW(registry.add(std::unique_ptr<OpBackend>()), UsageError);
  EXPECT_THROW(registry.add(named("")), UsageError);
  EXPECT_CONTAINS(caught<UsageError>([&] { registry.add(named("npu")); }).what(),
                  "'npu' is registered already");
  EXPECT_EQ(registry.opBackendNames().size(), 1u);
  EXPECT_EQ(registry.findOpBackend("npu"), first);
}

TEST(BackendRegistry, TakesOverAllOfAnotherOrNone) {
  BackendRegistry registry;
  registry.add(named("npu"));
  BackendRegistry clashing;
  clashing.add(named("dsp"));
  clashing.add(named("npu"));
  EXPECT_THROW(registry.addAll(std::move(clashing)), UsageError);
  EXPECT_EQ(registry.opBackendNames(), (std::vector<std::string>{"npu"}));

  BackendRegistry others;
  others.add(named("dsp"));
  others.add(named("gpu"));
  registry.addAll(std::move(others));
  EXPECT_EQ(registry.opBackendNames(), (std::vector<std::string>{"npu", "dsp", "gpu"}));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/op_backend.h>
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

  EXPECT_EQ(registry.names(), (std::vector<std::string>{"zeta", "alpha"}));
  ASSERT_NE(registry.find("alpha"), nullptr);
  EXPECT_EQ(registry.find("alpha")->name(), "alpha");
  EXPECT_EQ(&registry.backend("zeta"), registry.find("zeta"));
  EXPECT_EQ(registry.find("beta"), nullptr);
}

TEST(BackendRegistry, UnknownNameListsTheKnownOnes) {
  BackendRegistry registry;
  EXPECT_CONTAINS(errorOf<UsageError>([&] { registry.backend("npu"); }).what(), "'npu': none is registered");
  registry.add(named("zeta"));
  registry.add(named("alpha"));
  EXPECT_CONTAINS(errorOf<UsageError>([&] { registry.backend("npu"); }).what(),
                  "'npu'; registered are 'zeta', 'alpha'");
}

TEST(BackendRegistry, RefusesNullEmptyAndTakenNames) {
  BackendRegistry registry;
  registry.add(named("npu"));
  const OpBackend* first = registry.find("npu");
  EXPECT_THROW(registry.add(nullptr), UsageError);
  EXPECT_THROW(registry.add(named("")), UsageError);
  EXPECT_CONTAINS(errorOf<UsageError>([&] { registry.add(named("npu")); }).what(),
                  "'npu' is registered already");
  EXPECT_EQ(registry.names().size(), 1u);
  EXPECT_EQ(registry.find("npu"), first);
}

TEST(BackendRegistry, TakesOverAllOfAnotherOrNone) {
  BackendRegistry registry;
  registry.add(named("npu"));
  BackendRegistry clashing;
  clashing.add(named("dsp"));
  clashing.add(named("npu"));
  EXPECT_THROW(registry.addAll(std::move(clashing)), UsageError);
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"npu"}));

  BackendRegistry others;
  others.add(named("dsp"));
  others.add(named("gpu"));
  registry.addAll(std::move(others));
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"npu", "dsp", "gpu"}));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/plugin.h>
#include <edgefx/support/error.h>

#include "backend/plugin_entry.h"
#include "backend/test_backends.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

namespace edgefx::test {
namespace {

const std::filesystem::path kConformance =
    std::filesystem::path(EDGEFX_BINARY_DIR) / "libedgefx_conformance.so";

void addOne(BackendRegistry& registry) {
  registry.add(
      std::make_unique<FunctionBackend>([](ExportedProgram program, std::string_view) { return program; }));
}

TEST(Plugin, LoadsALibraryAndRegistersItsBackends) {
  BackendRegistry registry;
  addOne(registry);
  loadPlugin(kConformance, registry);
  EXPECT_EQ(registry.opBackendNames(),
            (std::vector<std::string>{"npu", "retarget", "addconst", "qdq", "broken"}));
}

TEST(Plugin, LoadedTwiceIsRefusedAndChangesNothing) {
  BackendRegistry registry;
  loadPlugin(kConformance, registry);
  UsageError error = caught<UsageError>([&] { loadPlugin(kConformance, registry); });
  EXPECT_CONTAINS(error.what(), "libedgefx_conformance.so");
  EXPECT_CONTAINS(error.what(), "'retarget' is registered already");
  EXPECT_EQ(registry.opBackendNames().size(), 4u);
}

TEST(Plugin, ABareFileNameIsTakenFromTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(EDGEFX_BINARY_DIR);
  BackendRegistry registry;
  loadPlugin("libedgefx_conformance.so", registry);
  std::filesystem::current_path(before);
  EXPECT_NE(registry.findOpBackend("retarget"), nullptr);
}

TEST(Plugin, FilesThatAreNoPluginAreNamed) {
  TempDir dir;
  writeFile(dir / "text.so", "this is no library");
  BackendRegistry registry;
  for (const std::filesystem::path& path :
       {dir / "missing.so", dir / "text.so", dir.path(), std::filesystem::path()}) {
    Error error = caught<Error>([&] { loadPlugin(path, registry); });
    EXPECT_EQ(error.diagnostics()[0].file, path.string());
    EXPECT_CONTAINS(error.what(), "cannot open the plugin");
  }
  EXPECT_TRUE(registry.opBackendNames().empty());
}

TEST(Plugin, ALibraryWithoutEntryPointIsNamed) {
  BackendRegistry registry;
  for (const char* library : {"/usr/lib/x86_64-linux-gnu/libz.so", "/lib/x86_64-linux-gnu/libm.so.6"}) {
    if (!std::filesystem::exists(library)) continue;
    Error error = caught<Error>([&] { loadPlugin(library, registry); });
    EXPECT_EQ(error.diagnostics()[0].file, library);
    EXPECT_CONTAINS(error.what(), "without the entry point edgefxPlugin");
  }
}

TEST(Plugin, AnotherAbiIsRefusedBeforeAnythingElseIsRead) {
  BackendRegistry registry;
  Plugin plugin = makePlugin(addOne);
  plugin.abi = kPluginAbi + 1;
  plugin.edgefxVersion = reinterpret_cast<const char*>(1);
  plugin.torchVersion = reinterpret_cast<const char*>(1);
  Error error = caught<Error>([&] { detail::admitPlugin(plugin, "libnpu.so", registry); });
  EXPECT_CONTAINS(error.what(), "file 'libnpu.so': expected a plugin of ABI 4, found ABI 5");
  EXPECT_TRUE(registry.opBackendNames().empty());
}

TEST(Plugin, AnotherVersionOfTheLibrariesIsRefused) {
  BackendRegistry registry;
  Plugin plugin = makePlugin(addOne);
  plugin.edgefxVersion = "99.1.0";
  EXPECT_CONTAINS(caught<Error>([&] { detail::admitPlugin(plugin, "libnpu.so", registry); }).what(),
                  "found one built with 99.1.0");
  plugin = makePlugin(addOne);
  plugin.torchVersion = "2.14.1";
  EXPECT_CONTAINS(caught<Error>([&] { detail::admitPlugin(plugin, "libnpu.so", registry); }).what(),
                  "expected a plugin built with LibTorch 1.");
  plugin.torchVersion = nullptr;
  EXPECT_THROW(detail::admitPlugin(plugin, "libnpu.so", registry), Error);
  EXPECT_TRUE(registry.opBackendNames().empty());
}

TEST(Plugin, AnotherPatchOfTheLibrariesIsFine) {
  BackendRegistry registry;
  Plugin plugin = makePlugin(addOne);
  const std::string sameMinor = std::to_string(kVersionMajor) + '.' + std::to_string(kVersionMinor) + ".999";
  plugin.edgefxVersion = sameMinor.c_str();
  detail::admitPlugin(plugin, "libnpu.so", registry);
  EXPECT_EQ(registry.opBackendNames().size(), 1u);
}

TEST(Plugin, AFailureToRegisterNamesTheLibraryAndRegistersNothing) {
  BackendRegistry registry;
  auto failing = [](BackendRegistry& own) {
    addOne(own);
    throw std::runtime_error("no device found");
  };
  Error error = caught<Error>([&] { detail::admitPlugin(makePlugin(failing), "libnpu.so", registry); });
  EXPECT_CONTAINS(error.what(), "file 'libnpu.so'");
  EXPECT_CONTAINS(error.what(), "no device found");
  EXPECT_TRUE(registry.opBackendNames().empty());

  auto throwingNumber = [](BackendRegistry&) { throw 42; };
  EXPECT_THROW(detail::admitPlugin(makePlugin(throwingNumber), "libnpu.so", registry), Error);
}

TEST(Plugin, AnErrorOfEdgefxKeepsItsType) {
  BackendRegistry registry;
  auto failing = [](BackendRegistry& own) {
    addOne(own);
    addOne(own);
  };
  UsageError error =
      caught<UsageError>([&] { detail::admitPlugin(makePlugin(failing), "libnpu.so", registry); });
  EXPECT_EQ(error.diagnostics()[0].file, "libnpu.so");
  EXPECT_CONTAINS(error.what(), "'npu' is registered already");
  EXPECT_TRUE(registry.opBackendNames().empty());
}

TEST(Plugin, ANameThatTheHostHasTakenRegistersNothing) {
  BackendRegistry registry;
  addOne(registry);
  auto two = [](BackendRegistry& own) {
    own.add(std::make_unique<FunctionBackend>(
        [](ExportedProgram program, std::string_view) { return program; }, "dsp"));
    addOne(own);
  };
  EXPECT_THROW(detail::admitPlugin(makePlugin(two), "libnpu.so", registry), UsageError);
  EXPECT_EQ(registry.opBackendNames(), (std::vector<std::string>{"npu"}));
}

}  // namespace
}  // namespace edgefx::test

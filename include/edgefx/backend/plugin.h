#pragma once

#include <edgefx/backend/backend_registry.h>
#include <edgefx/version.h>

#include <torch/version.h>

#include <cstdint>
#include <filesystem>

// Marks the one symbol that a plugin exports.
#define EDGEFX_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace edgefx {

// Raised whenever a plugin built against older headers would break.
inline constexpr uint32_t kPluginAbi = 4;

// What a plugin's entry point `edgefxPlugin` returns. Make one with makePlugin. The ABI number stays first
// for ever.
struct Plugin {
  uint32_t abi;
  const char* edgefxVersion;  // of the headers it was built with
  const char* torchVersion;
  void (*registerBackends)(BackendRegistry& registry);
};

// Loads a shared library that was built with edgefx_add_plugin and lets it register its backends and
// partitioners. It stays loaded until the process ends, since programs may name its operators. Throws Error
// naming the library if it cannot be opened, has no entry point, or was built for another ABI or another
// minor version of edgefx or LibTorch, and UsageError if the name of a backend is taken. What the plugin
// itself throws reaches the caller, with the library attached, or nested in an Error. `registry` is unchanged
// in each case.
//
//   EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
//     return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
//       registry.add(std::make_unique<MyBackend>());
//     });
//   }
void loadPlugin(const std::filesystem::path& library, BackendRegistry& registry);

// Hidden: a plugin must not be given the host's copy, which tells the host's versions.
[[gnu::visibility("hidden")]] inline Plugin makePlugin(void (*registerBackends)(BackendRegistry& registry)) {
  return {kPluginAbi, kVersion.data(), TORCH_VERSION, registerBackends};
}

}  // namespace edgefx

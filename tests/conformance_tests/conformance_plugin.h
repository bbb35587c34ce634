#pragma once

#include <edgefx/backend/plugin.h>

#include <filesystem>
#include <string_view>

namespace edgefx::test {

// The backends and partitioners of the conformance plugin, which is loaded as users load theirs.
inline const BackendRegistry& conformanceRegistry() {
  static const BackendRegistry& registry = *[] {
    auto* loaded = new BackendRegistry();
    loadPlugin(std::filesystem::path(EDGEFX_BINARY_DIR) / "libedgefx_conformance.so", *loaded);
    return loaded;
  }();
  return registry;
}

inline const OpBackend& conformanceBackend(std::string_view name) {
  return conformanceRegistry().opBackend(name);
}

}  // namespace edgefx::test

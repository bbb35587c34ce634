#include <edgefx/backend/plugin.h>

#include "backend.h"

#include <memory>

// The same backend for the command line: edgefx lower IN -o OUT --plugin libcortex_m.so --op-backend cortex-m
EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin(
      [](edgefx::BackendRegistry& registry) { registry.add(std::make_unique<cortex_m::Backend>()); });
}

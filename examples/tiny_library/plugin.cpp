#include <edgefx/backend/plugin.h>

#include "backend.h"
#include "kernels.h"

#include <memory>

// The same backends for the command line: edgefx lower IN -o OUT --plugin libtiny.so --op-backend tiny
EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
    tiny::registerOperators();  // so that the tool can run what it lowered
    registry.add(std::make_unique<tiny::TinyBackend>());
    registry.add(std::make_unique<tiny::ForgetfulBackend>());
  });
}

#include <edgefx/backend/plugin.h>

#include "backend.h"
#include "kernels.h"

#include <memory>

// The same backend for the command line: edgefx lower IN -o OUT --plugin libonednn.so --op-backend onednn
EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
    onednn::registerOperators();  // so that the tool can run what it lowered
    registry.add(std::make_unique<onednn::OneDnnBackend>());
  });
}

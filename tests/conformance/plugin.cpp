#include <edgefx/backend/plugin.h>

#include "backends.h"
#include "partitioners.h"

EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
    registry.add(edgefx::conformance::makeRetarget());
    registry.add(edgefx::conformance::makeAddconst());
    registry.add(edgefx::conformance::makeQdq());
    registry.add(edgefx::conformance::makeBroken());
    edgefx::conformance::registerPartitioners(registry);
  });
}

#include <edgefx/backend/plugin.h>

#include "backend.h"
#include "kernels.h"

#include <memory>

// The same for the command line: edgefx lower IN -o OUT --plugin libexplicit_layout.so --op-backend
// explicit_layout
EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
    nhwc::registerOperators();  // so that the tool can run what it lowered
    registry.add(std::make_unique<nhwc::ExplicitLayoutBackend>());
    registry.add(std::make_unique<nhwc::ExplicitLayoutBackend>(nhwc::Options{.skipDimOrder = true}));
  });
}

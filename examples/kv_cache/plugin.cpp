#include <edgefx/backend/plugin.h>

#include "cond_partitioner.h"

#include <memory>

// The same for the command line:
//   edgefx lower IN -o OUT --plugin libkv_cache.so --partitioner npu-cond-whole
EDGEFX_PLUGIN_EXPORT edgefx::Plugin edgefxPlugin() {
  return edgefx::makePlugin([](edgefx::BackendRegistry& registry) {
    using edgefx::ControlFlow;
    registry.add(std::make_unique<npu::Compiler>());
    for (const ControlFlow mode : {ControlFlow::Whole, ControlFlow::Branches})
      registry.add(std::make_unique<npu::CondPartitioner>(mode));
    registry.add(std::make_unique<npu::CondPartitioner>(ControlFlow::Whole, true));
  });
}

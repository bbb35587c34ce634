#include "dialect/debug_handles.h"

#include <edgefx/ir/node_queries.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

void addDebugHandles(GraphModule& top) {
  std::vector<GraphModule*> modules{&top};
  std::unordered_set<const GraphModule*> seen{&top};
  for (size_t i = 0; i < modules.size(); ++i) {
    GraphModule& module = *modules[i];
    for (const Node& node : module.graph().nodes()) {
      if (!node.isGetAttr()) continue;
      GraphModule* const child = module.findChild(node.targetText());
      if (child != nullptr && seen.insert(child).second) modules.push_back(child);
    }
  }
  int64_t last = 0;
  for (const GraphModule* module : modules) {
    for (const Node& node : module->graph().nodes())
      last = std::max(last, node.meta().debugHandle().value_or(0));
  }
  for (GraphModule* module : modules) {
    for (Node& node : module->graph().nodes()) {
      if (node.isPlaceholder() || node.isOutput() || node.meta().debugHandle()) continue;
      const int64_t handle = ++last;
      node.editMeta([handle](NodeMeta& meta) { meta.setDebugHandle(handle); });
    }
  }
}

}  // namespace edgefx::detail

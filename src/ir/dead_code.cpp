#include <edgefx/ir/dead_code.h>

#include "ir/impurity.h"

#include <string_view>
#include <unordered_set>
#include <vector>

namespace edgefx {
namespace {

// Name of the direct child on the way to `path`.
std::string_view firstStep(std::string_view path) {
  return path.substr(0, path.find('.'));
}

bool namesChild(const Node& node) {
  return node.isGetAttr() || node.op() == NodeOp::CallModule;
}

template <typename Test>
size_t eraseDeadNodes(GraphModule& module, Test&& isImpure) {
  Graph& graph = module.graph();
  size_t erased = 0;
  // Children that lost a node that named them. The names point into the graph's text, which erasing leaves
  // alone.
  std::unordered_set<std::string_view> dropped;
  Node* before = nullptr;
  for (Node* node = graph.back(); node != nullptr; node = before) {
    before = node->prev();
    if (node->numUsers() != 0 || node->isPlaceholder() || node->isOutput()) continue;
    if (isImpure(*node, module)) continue;
    if (namesChild(*node)) dropped.insert(firstStep(node->targetText()));
    graph.erase(*node);
    ++erased;
  }
  if (!dropped.empty()) {
    for (const Node& node : graph.nodes()) {
      if (namesChild(node)) dropped.erase(firstStep(node.targetText()));
    }
    module.removeChildrenIf([&](const GraphModule::Child& child) { return dropped.contains(child.name); });
  }
  return erased;
}

template <typename Test>
size_t eraseInTree(GraphModule& top, Test&& isImpure) {
  size_t erased = 0;
  std::vector<GraphModule*> pending{&top};
  std::unordered_set<const GraphModule*> reached{&top};
  while (!pending.empty()) {
    GraphModule& module = *pending.back();
    pending.pop_back();
    erased += eraseDeadNodes(module, isImpure);
    for (const Node& node : module.graph().nodes()) {
      if (!namesChild(node)) continue;
      GraphModule* child = module.findChild(node.targetText());
      if (child != nullptr && reached.insert(child).second) pending.push_back(child);
    }
  }
  return erased;
}

}  // namespace

size_t eliminateDeadCode(GraphModule& module, const ImpurityTest& isImpure) {
  if (isImpure) return eraseInTree(module, isImpure);
  detail::ImpurityTester tester;
  return eraseInTree(
      module, [&tester](const Node& node, const GraphModule& owner) { return tester.isImpure(node, owner); });
}

}  // namespace edgefx

#include "program/edge_dialect.h"

#include <edgefx/program/exported_program.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_map>

namespace edgefx {

using detail::staysAten;

bool detail::staysAten(Target target) {
  static constexpr std::string_view kNames[] = {"aten.sym_size.int",
                                                "aten.sym_stride.int",
                                                "aten.sym_numel.default",
                                                "aten._local_scalar_dense.default",
                                                "aten.sym_constrain_range.default",
                                                "aten.sym_constrain_range_for_size.default",
                                                "aten._assert_scalar.default",
                                                "aten._assert_async.msg",
                                                "aten.scalar_tensor.default"};
  if (target.ns() == "executorch_prim") return true;
  return std::find(std::begin(kNames), std::end(kNames), target.name()) != std::end(kNames);
}

namespace {

// Asking a target for its edge form costs an allocation and a lock; a program has few distinct ones.
class EdgeTargets {
 public:
  Target of(Target target) {
    const void* key = target.fxText().data();
    auto found = edge_.find(key);
    if (found == edge_.end()) found = edge_.emplace(key, staysAten(target) ? target : target.toEdge()).first;
    return found->second;
  }

 private:
  std::unordered_map<const void*, Target> edge_;  // by interned text
};

void wrapGraph(Graph& graph, EdgeTargets& targets) {
  static const Target getitem("operator.getitem");
  // Backwards, so that a getitem of a getitem goes first.
  for (Node* node = graph.back(); node != nullptr;) {
    Node* before = node->prev();
    if (node->isCall(getitem) && node->numUsers() == 0) {
      graph.erase(*node);
    } else if (node->isCall() && node->target().kind() == TargetKind::Operator) {
      node->setTarget(targets.of(node->target()));
    }
    node = before;
  }
}

}  // namespace

Target operatorIn(const ExportedProgram& program, std::string_view name) {
  return program.dialect == Dialect::Edge ? Target::edge(name) : Target(name);
}

void wrapAsEdge(ExportedProgram& program) {
  EdgeTargets targets;
  std::vector<GraphModule*> pending = {&program.graphModule()};
  while (!pending.empty()) {
    GraphModule& module = *pending.back();
    pending.pop_back();
    wrapGraph(module.graph(), targets);
    for (const GraphModule::Child& child : module.children()) pending.push_back(child.module.get());
  }
  program.dialect = Dialect::Edge;
}

}  // namespace edgefx

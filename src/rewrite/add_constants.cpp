#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/program_rewriter.h>

#include "rewrite/calls_of_graphs.h"
#include "rewrite/input_place.h"
#include "support/fail.h"
#include "support/text_hash.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

// Constants for many uses at once and for nested graphs.
namespace edgefx {

using detail::CallsOfGraph;
using detail::fail;

std::vector<Node*> ProgramRewriter::addConstants(std::vector<std::pair<std::string, at::Tensor>> named) {
  std::vector<StoredTensor> stored;
  for (auto& [name, tensor] : named) {
    if (name.empty()) fail<UsageError>("a new input needs a name");
    if (!tensor.defined()) fail<UsageError>("'{}' is an undefined tensor", name);
    stored.emplace_back(std::move(tensor));
  }
  std::vector<InputSpec>& specs = program_.signature.inputs;
  Graph& graph = program_.graph();
  const std::vector<Node*> placeholders = graph.placeholders();
  if (placeholders.size() != specs.size()) {
    fail<UsageError>("cannot add inputs to a program with {} placeholders and {} input specs",
                     placeholders.size(), specs.size());
  }
  std::unordered_set<std::string, detail::TextHash, std::equal_to<>> taken;
  for (const InputSpec& spec : specs) {
    taken.insert(spec.arg.name);
    if (spec.target) taken.insert(*spec.target);
  }
  const detail::InputPlace place = detail::placeOfStoredInputs(program_);
  const InsertionGuard guard(graph, place.point);
  std::vector<Node*> nodes;
  std::vector<InputSpec> made;
  for (size_t i = 0; i < named.size(); ++i) {
    const auto isTaken = [&](const std::string& candidate) {
      return taken.contains(candidate) || program_.stateDict().contains(candidate) ||
             program_.constants().contains(candidate);
    };
    std::string name = graph.uniqueName(named[i].first);
    const std::string base = name;
    for (size_t k = 1; isTaken(name); ++k) name = graph.uniqueName(base + '_' + std::to_string(k));
    InputSpec spec;
    spec.kind = InputKind::ConstantTensor;
    spec.target = name;
    spec.arg.name = name;
    Node& node = graph.placeholder(name, name);
    node.setValue(ValueMeta::of(TensorMeta(*stored[i].meta())));
    program_.constants().set(name, std::move(stored[i]));
    taken.insert(std::move(name));
    made.push_back(std::move(spec));
    nodes.push_back(&node);
  }
  specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(place.position),
               std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  return nodes;
}

// From the top level graph to a nested one: the calls on each level, and the graph that goes on.
struct ProgramRewriter::WayDown {
  std::vector<CallsOfGraph> levels;
  std::vector<GraphModule*> modules;  // one more than levels, the program's own first
};

ProgramRewriter::WayDown ProgramRewriter::findWayDown(GraphModule& module, std::string_view name) const {
  // Found from the program's own list of modules.
  std::unordered_map<const GraphModule*, GraphModule*> parents;
  for (const NestedModule& nested : namedModules(program_.graphModule())) {
    parents.emplace(nested.module, nested.parent);
  }
  WayDown way;
  way.modules.push_back(&module);
  while (way.modules.back() != &program_.graphModule()) {
    const auto parent = parents.find(way.modules.back());
    if (parent == parents.end() || parent->second == nullptr) {
      fail<UsageError>("the graph module for constant '{}' is not one that the program's nodes name", name);
    }
    way.modules.push_back(parent->second);
  }
  std::ranges::reverse(way.modules);

  // Every call is looked at before anything changes.
  for (size_t i = 0; i + 1 < way.modules.size(); ++i) {
    way.levels.push_back(detail::findCallsOf(*way.modules[i + 1], *way.modules[i]));
  }
  for (const CallsOfGraph& level : way.levels) {
    for (const Node* call : level.calls) {
      if (detail::takesMoreOperands(*call)) continue;
      fail<UsageError>("constant '{}' cannot be passed to a graph by '%{}', a call of {}", name, call->name(),
                       call->target().name());
    }
  }
  return way;
}

Node& ProgramRewriter::passDown(const WayDown& way, Node& value) {
  Node* at = &value;
  for (size_t i = 0; i < way.levels.size(); ++i) {
    for (Node* call : way.levels[i].calls) detail::appendOperand(*call, *at);
    Node* inner = nullptr;
    for (GraphModule* graph : way.levels[i].graphs) {
      Node& placeholder = detail::appendPlaceholder(graph->graph(), *at);
      if (graph == way.modules[i + 1]) inner = &placeholder;
    }
    at = inner;
  }
  return *at;
}

Node& ProgramRewriter::addConstantFor(GraphModule& module, std::string_view name, at::Tensor tensor) {
  const WayDown way = findWayDown(module, name);
  return passDown(way, addInput(InputKind::ConstantTensor, false, name, std::move(tensor), false));
}

Node& ProgramRewriter::passDown(GraphModule& module, Node& placeholder) {
  if (!placeholder.isPlaceholder() || &placeholder.graph() != &program_.graph()) {
    fail<UsageError>("expected a placeholder of the program, found '%{}'", placeholder.name());
  }
  return passDown(findWayDown(module, placeholder.name()), placeholder);
}

}  // namespace edgefx

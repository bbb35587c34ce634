#include <edgefx/dialect/rename_as_traced.h>
#include <edgefx/program/lowered_module.h>

#include "ir/graph_builder.h"
#include "ir/snake_case.h"
#include "support/fail.h"

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

bool namesModule(const Node& node) {
  return node.isGetAttr() || node.op() == NodeOp::CallModule;
}

// New names of a module's children and delegates by their old ones, in the order of being named.
class ModuleNames {
 public:
  explicit ModuleNames(const GraphModule& module) {
    // Paths into a child need it under its name.
    for (const Node& node : module.graph().nodes()) {
      const size_t dot = namesModule(node) ? node.targetText().find('.') : std::string_view::npos;
      if (dot == std::string_view::npos) continue;
      const std::string child(node.targetText().substr(0, dot));
      names_.emplace(child, child);
    }
    const std::map<std::string, std::string, std::less<>> kept = names_;
    for (const Node& node : module.graph().nodes()) {
      if (!namesModule(node) || names_.contains(node.targetText())) continue;
      const std::string old(node.targetText());
      const bool isDelegate = module.findDelegate(old) != nullptr;
      if (!isDelegate && (old.find('.') != std::string::npos || module.findChild(old) == nullptr)) continue;
      std::string made;
      do {
        made = (isDelegate ? "lowered_module_" : "submodule_") + std::to_string(count_++);
      } while (kept.contains(made));
      names_.emplace(old, std::move(made));
    }
  }

  void apply(GraphModule& module) const {
    for (Node& node : module.graph().nodes()) {
      if (!namesModule(node)) continue;
      const auto found = names_.find(node.targetText());
      if (found != names_.end()) node.setTargetText(found->second);
    }
    module.removeChildrenIf([&](const GraphModule::Child& child) { return !names_.contains(child.name); });
    std::vector<std::string> old;
    for (const GraphModule::Child& child : module.children()) {
      if (names_.find(child.name)->second != child.name) old.push_back(child.name);
    }
    std::vector<std::unique_ptr<GraphModule>> taken = module.takeChildren(old);
    std::vector<GraphModule::Delegate> delegates;
    for (const GraphModule::Delegate& delegate : module.delegates()) {
      const auto found = names_.find(delegate.name);
      if (found != names_.end() && found->second != delegate.name) delegates.push_back(delegate);
    }
    for (const GraphModule::Delegate& delegate : delegates) module.removeDelegate(delegate.name);
    for (size_t i = 0; i < old.size(); ++i) {
      module.addChild(names_.find(old[i])->second, std::move(taken[i]));
    }
    for (GraphModule::Delegate& delegate : delegates) {
      delegate.name = names_.find(delegate.name)->second;
      module.addDelegate(std::move(delegate));
    }
  }

 private:
  std::map<std::string, std::string, std::less<>> names_;
  size_t count_ = 0;
};

// Takes names in FX's way, in a graph that holds nothing else.
class TraceNames {
 public:
  std::string_view take(std::string_view candidate) {
    return graph_.placeholder(candidate, candidate).name();
  }

 private:
  Graph graph_;
};

// Tracing names an ATen operator by its packet.
std::string traceCandidate(const Node& node) {
  if (node.isPlaceholder()) return std::string(node.name());
  if (!node.isCall()) return std::string(node.targetText());
  const Target target = node.target();
  if (target.kind() == TargetKind::Operator) return detail::snakeCase(target.op());
  return std::string(target.nameCandidate());
}

void renameNodes(Graph& graph) {
  TraceNames names;
  std::vector<Node*> order;
  order.reserve(graph.size());
  for (Node& node : graph.nodes()) {
    order.push_back(&node);
    const std::string_view name = names.take(traceCandidate(node));
    if (name != node.name()) node.setName(name);
  }
  detail::GraphBuilder builder(graph);
  builder.setOrder(order);  // of users, too
  builder.forgetErasedNames();
}

void checkCounts(size_t nodes, std::string_view what, size_t specs, std::string_view side) {
  if (nodes == specs) return;
  detail::fail<VerificationError>("the graph has {} {}, but the signature {} {} specs", nodes, what, specs,
                                  side);
}

}  // namespace

void renameAsTraced(ExportedProgram& program) {
  const std::vector<const Node*> inputs = std::as_const(program).graph().placeholders();
  const Node& output = program.graph().outputNode();
  const std::span<const Argument> results =
      output.args().empty() ? std::span<const Argument>() : output.args()[0].items();
  GraphSignature& signature = program.signature;
  checkCounts(inputs.size(), "placeholders", signature.inputs.size(), "input");
  checkCounts(results.size(), "results", signature.outputs.size(), "output");
  std::vector<std::pair<const Node*, std::string>> old;
  for (const Node* input : inputs) old.emplace_back(input, input->name());
  for (const Argument& result : results) {
    if (const Node* node = result.findNode()) old.emplace_back(node, node->name());
  }
  for (const NestedModule& nested : namedModules(program.graphModule())) {
    ModuleNames(*nested.module).apply(*nested.module);
    renameNodes(nested.module->graph());
  }
  std::unordered_map<std::string_view, std::string_view> renamed;
  for (const auto& [node, name] : old) {
    if (name != node->name()) renamed.emplace(name, node->name());
  }
  const auto rename = [&](std::string& name) {
    const auto found = renamed.find(name);
    if (found != renamed.end()) name = found->second;
  };
  for (InputSpec& spec : signature.inputs) rename(spec.arg.name);
  for (OutputSpec& spec : signature.outputs) {
    rename(spec.arg.name);
    const bool namesInput =
        spec.kind == OutputKind::UserInputMutation || spec.kind == OutputKind::GradientToUserInput;
    if (namesInput && spec.target) rename(*spec.target);
  }
  for (ModuleCallEntry& entry : program.moduleCallGraph) {
    if (!entry.signature) continue;
    for (SpecArg& arg : entry.signature->inputs) rename(arg.name);
    for (SpecArg& arg : entry.signature->outputs) rename(arg.name);
  }
}

}  // namespace edgefx

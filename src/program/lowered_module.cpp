#include <edgefx/program/lowered_module.h>

#include "ir/impurity.h"

#include <algorithm>

namespace edgefx {

namespace {

bool holdsImpureNode(const ExportedProgram& program) {
  detail::ImpurityTester tester;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isPlaceholder() && !node.isOutput() && tester.isImpure(node, program.graphModule()))
      return true;
  }
  return false;
}

}  // namespace

void addLoweredModule(GraphModule& owner, std::string_view name, LoweredModuleRef module) {
  const bool isImpure = module != nullptr && holdsImpureNode(module->program);
  addLoweredModule(owner, name, std::move(module), isImpure);
}

void addLoweredModule(GraphModule& owner, std::string_view name, LoweredModuleRef module, bool isImpure) {
  const auto writes = [](const OutputSpec& spec) { return isMutation(spec.kind); };
  const bool hasEffect =
      isImpure || (module != nullptr && std::ranges::any_of(module->program.signature.outputs, writes));
  owner.addDelegate({std::string(name), std::move(module), hasEffect});
}

bool callsDelegate(const Node& node) {
  return node.isCall() && node.target().kind() == TargetKind::HigherOrder &&
         node.target().name() == "executorch_call_delegate";
}

const LoweredModule* findLoweredModule(const GraphModule& owner, const Node& node) {
  const Node* named = &node;
  if (callsDelegate(node)) {
    const Argument* first = node.findArg(0);
    named = first == nullptr ? nullptr : first->findNode();
  }
  if (named == nullptr || !named->isGetAttr()) return nullptr;
  const GraphModule::Delegate* found = owner.findDelegate(named->targetText());
  return found == nullptr ? nullptr : found->module.get();
}

}  // namespace edgefx

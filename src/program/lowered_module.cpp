#include <edgefx/program/lowered_module.h>

#include "ir/impurity.h"

#include <algorithm>

namespace edgefx {

namespace {

// Whether a call of the program writes state, or holds a node that is there for its effect.
bool hasEffect(const ExportedProgram& program) {
  const bool writes = std::ranges::any_of(program.signature.outputs,
                                          [](const OutputSpec& spec) { return isMutation(spec.kind); });
  if (writes) return true;
  detail::ImpurityTester tester;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isPlaceholder() && !node.isOutput() && tester.isImpure(node, program.graphModule()))
      return true;
  }
  return false;
}

}  // namespace

void addLoweredModule(GraphModule& owner, std::string_view name, LoweredModuleRef module) {
  const bool effect = module != nullptr && hasEffect(module->program);
  owner.addDelegate({std::string(name), std::move(module), effect});
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

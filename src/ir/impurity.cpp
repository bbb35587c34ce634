#include "ir/impurity.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace edgefx::detail {
namespace {

// Operators with an effect that their schemas do not tell; all begin with '_' or "sym_".
constexpr std::array<std::string_view, 11> kEffectfulOperators = {
    "_assert_async",
    "_assert_scalar",
    "_assert_tensor_metadata",
    "_functional_assert_async",
    "_functional_assert_scalar",
    "_print",
    "_record_function_enter",
    "_record_function_enter_new",
    "_record_function_exit",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
};

constexpr std::array<std::string_view, 15> kEffectfulFunctions = {
    "builtins.print",
    "operator.setitem",
    "torch._C._set_grad_enabled",
    "torch._assert",
    "torch._assert_async",
    "torch._functorch.predispatch._vmap_decrement_nesting",
    "torch._functorch.predispatch._vmap_increment_nesting",
    "torch._functorch.predispatch.lazy_load_decompositions",
    "torch.amp._enter_autocast",
    "torch.amp._exit_autocast",
    "torch.amp.autocast_mode._enter_autocast",
    "torch.amp.autocast_mode._exit_autocast",
    "torch.autograd.grad_mode._enter_inference_mode",
    "torch.autograd.grad_mode._exit_inference_mode",
    "torch.set_grad_enabled",
};

constexpr std::array<std::string_view, 4> kEffectfulHigherOrder = {
    "call_torchbind", "print", "triton_kernel_wrapper_mutation", "with_effects"};

bool contains(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// Nothing if the branches of the call decide.
std::optional<bool> ownImpurity(Target target) {
  switch (target.kind()) {
    case TargetKind::Function:
      return contains(kEffectfulFunctions, target.name());
    case TargetKind::HigherOrder:
      if (contains(kEffectfulHigherOrder, target.name())) return true;
      // They write into clones and return them.
      if (target.name().starts_with("auto_functionalized")) return false;
      return std::nullopt;
    case TargetKind::Operator:
    case TargetKind::EdgeOperator:
    case TargetKind::Packet:
      break;
  }
  const bool mayBeListed = target.op().starts_with('_') || target.op().starts_with("sym_");
  if (mayBeListed && contains(kEffectfulOperators, target.op())) return true;
  const OperatorInfo* info = findOperator(target);
  return info != nullptr && (info->isMutable || info->isRandom || info->numReturns == 0);
}

// Nothing if the branches of the node decide.
std::optional<bool> ownImpurity(const Node& node, const GraphModule& owner) {
  switch (node.op()) {
    case NodeOp::Placeholder:
    case NodeOp::Output:
      return true;
    case NodeOp::GetAttr:
      return false;
    case NodeOp::CallModule:
      if (owner.findChild(node.targetText()) == nullptr) return true;
      return std::nullopt;
    case NodeOp::CallFunction:
      break;
  }
  if (node.target().kind() == TargetKind::HigherOrder && node.target().name() == "executorch_call_delegate") {
    const Argument* const first = node.findArg(0);
    const Node* const named = first == nullptr ? nullptr : first->findNode();
    const GraphModule::Delegate* const delegate =
        named == nullptr ? nullptr : owner.findDelegate(named->targetText());
    return delegate != nullptr && delegate->hasEffect;
  }
  if (writesUndeclared(node)) return true;
  const std::optional<bool> own = ownImpurity(node.target());
  // A call that returns nothing is there for its effect, whatever it calls.
  const bool returnsNothing =
      node.value() != nullptr && std::holds_alternative<ValueMeta::None>(node.value()->data);
  if (own && returnsNothing) return true;
  return own;
}

std::vector<const GraphModule*> modulesCalledBy(const Node& node, const GraphModule& owner) {
  std::vector<const GraphModule*> modules = branchesOf(node, owner);
  if (node.op() == NodeOp::CallModule) modules.push_back(owner.findChild(node.targetText()));
  return modules;
}

}  // namespace

bool ImpurityTester::isImpure(const Node& node, const GraphModule& owner) {
  if (const std::optional<bool> own = ownImpurity(node, owner)) return *own;
  const std::vector<const GraphModule*> modules = modulesCalledBy(node, owner);
  return std::any_of(modules.begin(), modules.end(),
                     [this](const GraphModule* module) { return holdsImpureNode(*module); });
}

// Depth first with a stack of its own, for the depth of nesting comes from files.
bool ImpurityTester::holdsImpureNode(const GraphModule& module) {
  if (const auto found = known_.find(&module); found != known_.end()) return found->second;
  std::vector<Frame> stack;
  stack.push_back({&module, module.graph().front(), {}});
  while (!stack.empty()) {
    Frame& frame = stack.back();
    bool isImpure = false;
    if (!frame.called.empty()) {
      const GraphModule* called = frame.called.back();
      frame.called.pop_back();
      const auto found = known_.find(called);
      if (found == known_.end()) {
        stack.push_back({called, called->graph().front(), {}});
        continue;
      }
      isImpure = found->second;
    } else if (frame.next != nullptr) {
      const Node& node = *frame.next;
      frame.next = node.next();
      if (node.isPlaceholder() || node.isOutput()) continue;
      if (const std::optional<bool> own = ownImpurity(node, *frame.module)) {
        isImpure = *own;
      } else {
        frame.called = modulesCalledBy(node, *frame.module);
      }
    } else {
      known_.emplace(frame.module, false);
      stack.pop_back();
    }
    if (isImpure) {  // so is everything that led here
      for (const Frame& outer : stack) known_.emplace(outer.module, true);
      return true;
    }
  }
  return false;
}

}  // namespace edgefx::detail

namespace edgefx {

bool isImpure(const Node& node, const GraphModule& owner) {
  return detail::ImpurityTester().isImpure(node, owner);
}

}  // namespace edgefx

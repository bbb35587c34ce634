#include "run/written_inputs.h"

#include <edgefx/ir/operators.h>

#include <numeric>

namespace edgefx::detail {
namespace {

class WriteFinder {
 public:
  explicit WriteFinder(const GraphPlan& plan)
      : plan_(plan),
        group_(plan.placeholders.size()),
        isWritten_(plan.placeholders.size(), false),
        root_(plan.numSlots, kNoSlot) {
    std::iota(group_.begin(), group_.end(), uint32_t{0});
    for (uint32_t i = 0; i < plan.inputSlots.size(); ++i) root_[plan.inputSlots[i]] = i;
  }

  std::vector<bool> find() {
    for (const Step& step : plan_.steps) visit(step);
    std::vector<bool> written(group_.size());
    for (uint32_t i = 0; i < group_.size(); ++i) written[i] = isWritten_[groupOf(i)];
    return written;
  }

 private:
  void visit(const Step& step) {
    const std::span<const Operand> operands = plan_.operandsOf(step);
    switch (step.kind) {
      case StepKind::Operator:
      case StepKind::WithEffects:
        for (size_t i = 0; i < operands.size(); ++i) {
          const Operand& operand = operands[i];
          if (writesUndeclared(*step.node, i)) markWritten(operand);
          const c10::AliasInfo* alias =
              operand.declared == nullptr ? nullptr : operand.declared->alias_info();
          if (alias == nullptr) continue;
          if (alias->isWrite()) markWritten(operand);
          makeView(step, operand);
        }
        return;
      case StepKind::Function:
      case StepKind::AutoFunctionalized:
        return;
      case StepKind::Getitem:
      case StepKind::Delegate:
      case StepKind::Graph:
      case StepKind::Cond:
      case StepKind::WhileLoop:
      case StepKind::Map:
      case StepKind::Scan:
      case StepKind::Subgraph:
      case StepKind::Autocast:
        break;
    }
    for (const Operand& operand : operands) makeView(step, operand);
    if (step.delegate != nullptr && step.delegate->hasEffect) {
      for (const Operand& operand : operands) markWritten(operand);
    }
    for (const GraphPlan* called : step.graphs) {
      const size_t skipped = operands.size() - called->placeholders.size();
      for (size_t i = 0; i < called->placeholders.size(); ++i) {
        if (!called->writesInput[i]) continue;
        markWritten(operands[skipped + i]);
      }
    }
  }

  void markWritten(const Operand& operand) {
    forEachRoot(operand, [&](uint32_t root) { isWritten_[groupOf(root)] = true; });
  }

  // The result of the step may be a view of the operand.
  void makeView(const Step& step, const Operand& operand) {
    forEachRoot(operand, [&](uint32_t root) {
      uint32_t& of = root_[step.result];
      if (of == kNoSlot) {
        of = root;
      } else {
        join(of, root);
      }
    });
  }

  template <typename Visit>
  void forEachRoot(const Operand& operand, Visit&& visit) {
    if (operand.slot != kNoSlot) {
      if (root_[operand.slot] != kNoSlot) visit(root_[operand.slot]);
      return;
    }
    if (operand.tree == nullptr) return;
    for (const Argument& item : operand.tree->items()) {
      const Node* node = item.findNode();
      if (node != nullptr && root_[plan_.slots[*node]] != kNoSlot) visit(root_[plan_.slots[*node]]);
    }
  }

  uint32_t groupOf(uint32_t placeholder) {
    while (group_[placeholder] != placeholder) {
      group_[placeholder] = group_[group_[placeholder]];
      placeholder = group_[placeholder];
    }
    return placeholder;
  }

  void join(uint32_t a, uint32_t b) {
    a = groupOf(a);
    b = groupOf(b);
    if (a == b) return;
    group_[b] = a;
    if (isWritten_[b]) isWritten_[a] = true;
  }

  const GraphPlan& plan_;
  std::vector<uint32_t> group_;  // union-find over the placeholders
  std::vector<bool> isWritten_;  // of the group's first
  std::vector<uint32_t> root_;   // of each slot the placeholder that it may be a view of
};

}  // namespace

std::vector<bool> writtenInputs(const GraphPlan& plan) {
  return WriteFinder(plan).find();
}

}  // namespace edgefx::detail

#include "run/graph_planner.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/operators.h>

#include "ir/convert_argument.h"
#include "run/written_inputs.h"
#include "support/fail.h"

#include <algorithm>
#include <limits>

namespace edgefx::detail {
namespace {

// No node of the graph gives such a value: the expression is evaluated in each run.
class NoLeaves : public LeafValues {
 public:
  c10::IValue node(const Node&) const override { fail<InternalError>("a constant argument holds a node"); }
  c10::IValue symbolic(const SymExpr&) const override {
    fail<InternalError>("a constant argument holds a symbol");
  }
};

bool isConstant(const Argument& argument) {
  std::vector<const Argument*> pending{&argument};
  while (!pending.empty()) {
    const Argument& at = *pending.back();
    pending.pop_back();
    if (at.isNode() || at.kind() == ArgumentKind::Symbolic) return false;
    for (const Argument& item : at.items()) pending.push_back(&item);
    if (at.kind() == ArgumentKind::Dict) {
      for (auto [key, value] : at.asDict()) pending.push_back(&value);
    }
  }
  return true;
}

// Kinds whose values pass to kernels as they are if they are of that kind already.
bool takesTensor(const c10::Argument& declared) {
  const c10::Type* type = declared.type().get();
  if (type->kind() == c10::TypeKind::OptionalType) {
    type = type->castRaw<c10::OptionalType>()->getElementType().get();
  }
  return type->kind() == c10::TypeKind::TensorType;
}

class GraphPlanner {
 public:
  GraphPlanner(GraphPlan& plan, const PlansByModule& plans, const ReportMissing& reportMissing)
      : plan_(plan), plans_(plans), reportMissing_(reportMissing), slots_(plan.slots) {
    slots_ = NodeMap<uint32_t>(graph(), kNoSlot);
  }

  void run() {
    for (const Node& node : graph().nodes()) {
      try {
        visit(node);
      } catch (Error& error) {
        Diagnostic known;
        known.graph = plan_.path;
        known.node = node.name();
        known.nodeText = node.text();
        error.fillIn(known);
        throw;
      }
    }
    findDead();
    plan_.writesInput = writtenInputs(plan_);
  }

 private:
  const Graph& graph() const { return plan_.module->graph(); }

  void visit(const Node& node) {
    switch (node.op()) {
      case NodeOp::Placeholder:
        plan_.placeholders.push_back(&node);
        plan_.inputSlots.push_back(giveSlot(node));
        return;
      case NodeOp::GetAttr:
        checkAttribute(node);
        return;
      case NodeOp::Output:
        addResults(node);
        return;
      case NodeOp::CallModule:
        planModuleCall(node);
        return;
      case NodeOp::CallFunction:
        planCall(node);
        return;
    }
  }

  void checkAttribute(const Node& node) const {
    if (plan_.module->findChild(node.targetText()) != nullptr) return;
    if (plan_.module->findDelegate(node.targetText()) != nullptr) return;
    fail<VerificationError>("expected a graph module or a delegate of that name, found nothing");
  }

  void addResults(const Node& node) {
    const Argument& value = node.arg(0);
    plan_.returnsSequence = value.isSequence();
    if (value.isSequence()) {
      for (const Argument& item : value.items()) plan_.results.push_back(operand(item, nullptr));
    } else {
      plan_.results.push_back(operand(value, nullptr));
    }
  }

  uint32_t giveSlot(const Node& node) { return slots_[node] = plan_.numSlots++; }

  Step& addStep(const Node& node, StepKind kind) {
    Step& step = plan_.steps.emplace_back();
    step.node = &node;
    step.kind = kind;
    step.firstOperand = static_cast<uint32_t>(plan_.operands.size());
    return step;
  }

  // The operands were appended.
  void finish(Step& step) {
    step.numOperands = static_cast<uint32_t>(plan_.operands.size()) - step.firstOperand;
    step.result = giveSlot(*step.node);
  }

  Operand operand(const Argument& argument, const c10::Argument* declared) const {
    Operand made;
    made.declared = declared;
    if (const Node* node = argument.findNode()) {
      made.slot = slots_[*node];
      if (made.slot == kNoSlot) {
        fail<VerificationError>("expected a value, found '{}', which names a graph module or comes later",
                                node->name());
      }
      made.kind =
          declared == nullptr || takesTensor(*declared) ? Operand::Kind::Slot : Operand::Kind::Converted;
    } else if (isConstant(argument)) {
      made.constant = toIValue(argument, NoLeaves());
      if (declared != nullptr) made.constant = convertArgument(std::move(made.constant), *declared);
    } else {
      made.kind = Operand::Kind::Tree;
      made.tree = &argument;
      checkTree(argument);
    }
    return made;
  }

  void checkTree(const Argument& argument) const {
    for (const Argument& item : argument.items()) operand(item, nullptr);
  }

  void append(const Argument& argument) { plan_.operands.push_back(operand(argument, nullptr)); }
  void appendAll(std::span<const Argument> arguments) {
    for (const Argument& argument : arguments) append(argument);
  }

  // Appends the items of a list of operands and returns their number.
  uint32_t appendItems(const Node& node, size_t position) {
    const Argument& list = node.arg(position);
    if (!list.isSequence()) {
      fail<VerificationError>("expected a list of operands as argument {}, found {}", position,
                              name(list.kind()));
    }
    appendAll(list.items());
    return static_cast<uint32_t>(list.items().size());
  }

  const GraphPlan& graphAt(const Node& node, size_t position) const {
    const Argument& argument = node.arg(position);
    const Node* named = argument.findNode();
    const GraphModule* module =
        named != nullptr && named->isGetAttr() ? plan_.module->findChild(named->targetText()) : nullptr;
    if (module == nullptr) {
      fail<VerificationError>("expected a get_attr node that names a graph module as argument {}, found {}",
                              position,
                              named != nullptr ? named->text() : std::string(name(argument.kind())));
    }
    return *plans_.at(module);
  }

  void expectArgs(const Node& node, size_t count) const {
    if (node.args().size() < count) {
      fail<VerificationError>("expected at least {} arguments, found {}", count, node.args().size());
    }
  }

  void checkTakes(const GraphPlan& called, size_t given) const {
    if (called.placeholders.size() == given) return;
    fail<VerificationError>("expected {} operands for graph '{}', found {}", called.placeholders.size(),
                            called.path, given);
  }

  void planModuleCall(const Node& node) {
    const GraphModule* module = plan_.module->findChild(node.targetText());
    if (module == nullptr) fail<VerificationError>("expected a graph module of that name, found none");
    Step& step = addStep(node, StepKind::Graph);
    appendAll(node.args());
    step.graphs.push_back(plans_.at(module));
    checkTakes(*step.graphs.front(), node.args().size());
    finish(step);
  }

  void planCall(const Node& node) {
    const Target target = node.target();
    switch (target.kind()) {
      case TargetKind::Operator:
      case TargetKind::EdgeOperator:
      case TargetKind::Packet:
        return planOperator(node, StepKind::Operator, target, node.args());
      case TargetKind::HigherOrder:
        return planHigherOrder(node);
      case TargetKind::Function:
        return planFunction(node);
    }
  }

  void planOperator(const Node& node, StepKind kind, Target target, std::span<const Argument> args) {
    std::optional<BoundCall> bound = bindCall(target, args, node.kwargs());
    if (!bound) reportMissing_(node, target.fxText());
    Step& step = addStep(node, kind);
    if (bound) {
      const std::vector<c10::Argument>& declared = bound->kernel.schema->arguments();
      for (size_t i = 0; i < declared.size(); ++i) {
        const Argument* given = bound->arguments[i];
        if (given != nullptr) {
          plan_.operands.push_back(operand(*given, &declared[i]));
        } else {
          plan_.operands.push_back({.constant = defaultArgument(declared[i]), .declared = &declared[i]});
        }
      }
      step.numResults = static_cast<uint32_t>(bound->kernel.schema->returns().size());
      step.kernel = std::move(bound->kernel);
    }
    finish(step);
  }

  void planFunction(const Node& node) {
    if (getitemIndex(node)) {
      Step& step = addStep(node, StepKind::Getitem);
      appendAll(node.args());
      return finish(step);
    }
    const PythonFunction function = findPythonFunction(node.target().name());
    if (function == nullptr || !node.kwargs().empty()) {
      reportMissing_(node, node.target().fxText());
    }
    Step& step = addStep(node, StepKind::Function);
    step.function = function;
    appendAll(node.args());
    finish(step);
  }

  void planHigherOrder(const Node& node) {
    const std::string_view name = node.target().name();
    if (name == "cond") {
      expectArgs(node, 4);
      Step& step = addStep(node, StepKind::Cond);
      append(node.arg(0));
      step.graphs = {&graphAt(node, 1), &graphAt(node, 2)};
      const uint32_t given = appendItems(node, 3);
      for (const GraphPlan* branch : step.graphs) checkTakes(*branch, given);
      finish(step);
    } else if (name == "while_loop") {
      planWhileLoop(node);
    } else if (name == "map_impl") {
      expectArgs(node, 3);
      Step& step = addStep(node, StepKind::Map);
      step.graphs = {&graphAt(node, 0)};
      step.numFirst = appendItems(node, 1);
      checkTakes(*step.graphs.front(), step.numFirst + appendItems(node, 2));
      finish(step);
    } else if (name == "scan" && node.args().size() == 4) {
      Step& step = addStep(node, StepKind::Scan);
      step.graphs = {&graphAt(node, 0)};
      step.numFirst = appendItems(node, 1);
      step.numSecond = appendItems(node, 2);
      checkTakes(*step.graphs.front(), step.numFirst + step.numSecond + appendItems(node, 3));
      finish(step);
    } else if (name == "invoke_subgraph") {
      planSubgraph(node, StepKind::Subgraph, 0, 2);
    } else if (name == "wrap_with_set_grad_enabled") {
      planSubgraph(node, StepKind::Subgraph, 1, 2);
    } else if (name == "wrap_with_autocast") {
      planSubgraph(node, StepKind::Autocast, 4, 5);
    } else if (name == "executorch_call_delegate") {
      planDelegate(node);
    } else if (name == "auto_functionalized_v2" || name == "auto_functionalized") {
      planAutoFunctionalized(node);
    } else if (name == "with_effects") {
      planWithEffects(node);
    } else {
      reportMissing_(node, node.target().fxText());
      finish(addStep(node, StepKind::Subgraph));
    }
  }

  void planWhileLoop(const Node& node) {
    expectArgs(node, 3);
    Step& step = addStep(node, StepKind::WhileLoop);
    step.graphs = {&graphAt(node, 0), &graphAt(node, 1)};
    step.numFirst = appendItems(node, 2);
    const uint32_t given = step.numFirst + (node.args().size() > 3 ? appendItems(node, 3) : 0);
    for (const GraphPlan* graph : step.graphs) checkTakes(*graph, given);
    if (step.graphs[1]->results.size() != step.numFirst) {
      fail<VerificationError>("expected as many results of graph '{}' as values carried, {}, found {}",
                              step.graphs[1]->path, step.numFirst, step.graphs[1]->results.size());
    }
    finish(step);
  }

  void planSubgraph(const Node& node, StepKind kind, size_t graphPosition, size_t firstOperand) {
    expectArgs(node, firstOperand);
    Step& step = addStep(node, kind);
    step.graphs = {&graphAt(node, graphPosition)};
    if (kind == StepKind::Autocast) {
      // What comes before the graph: device, dtype, whether it is on, whether casts are cached.
      step.numFirst = static_cast<uint32_t>(graphPosition);
      appendAll(node.args().first(graphPosition));
    }
    appendAll(node.args().subspan(firstOperand));
    checkTakes(*step.graphs.front(), node.args().size() - firstOperand);
    finish(step);
  }

  void planDelegate(const Node& node) {
    expectArgs(node, 1);
    const Node* named = node.arg(0).findNode();
    const GraphModule::Delegate* delegate =
        named != nullptr && named->isGetAttr() ? plan_.module->findDelegate(named->targetText()) : nullptr;
    if (delegate == nullptr) {
      fail<VerificationError>("expected a get_attr node that names a delegate as argument 0");
    }
    Step& step = addStep(node, StepKind::Delegate);
    step.delegate = delegate;
    appendAll(node.args().subspan(1));
    finish(step);
  }

  // args: the operator; kwargs: see runAutoFunctionalized.
  void planAutoFunctionalized(const Node& node) {
    expectArgs(node, 1);
    const Target target = node.arg(0).asOperator();
    std::optional<Kernel> kernel = findKernel(target);
    if (!kernel) reportMissing_(node, target.fxText());
    Step& step = addStep(node, StepKind::AutoFunctionalized);
    step.kernel = std::move(kernel);
    for (auto [key, value] : node.kwargs()) append(value);
    finish(step);
  }

  void planWithEffects(const Node& node) {
    expectArgs(node, 2);
    if (node.arg(1).kind() != ArgumentKind::Operator) {
      fail<VerificationError>("expected an operator as argument 1, found {}", name(node.arg(1).kind()));
    }
    planOperator(node, StepKind::WithEffects, node.arg(1).asOperator(), node.args().subspan(2));
  }

  void findDead() {
    std::vector<uint32_t> last(plan_.numSlots, kNoSlot);  // step that uses the slot last
    std::vector<const Argument*> pending;
    auto use = [&](const Operand& used, uint32_t step) {
      if (used.slot != kNoSlot) last[used.slot] = step;
      if (used.tree == nullptr) return;
      pending.push_back(used.tree);
      while (!pending.empty()) {
        const Argument& at = *pending.back();
        pending.pop_back();
        if (const Node* node = at.findNode()) last[slots_[*node]] = step;
        for (const Argument& item : at.items()) pending.push_back(&item);
      }
    };
    const auto numSteps = static_cast<uint32_t>(plan_.steps.size());
    for (uint32_t i = 0; i < numSteps; ++i) {
      const Step& step = plan_.steps[i];
      last[step.result] = i;
      for (const Operand& used : plan_.operandsOf(step)) use(used, i);
    }
    for (const Operand& used : plan_.results) use(used, numSteps);

    std::vector<uint32_t> count(numSteps + 1, 0);
    for (uint32_t step : last) {
      if (step != kNoSlot) ++count[step];
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < numSteps; ++i) {
      plan_.steps[i].firstDead = first;
      first += count[i];
    }
    plan_.deadSlots.resize(first);
    for (uint32_t slot = 0; slot < last.size(); ++slot) {
      if (last[slot] == kNoSlot) {
        plan_.deadInputs.push_back(slot);
      } else if (last[slot] < numSteps) {
        Step& step = plan_.steps[last[slot]];
        plan_.deadSlots[step.firstDead + step.numDead++] = slot;
      }
    }
  }

  GraphPlan& plan_;
  const PlansByModule& plans_;
  const ReportMissing& reportMissing_;
  NodeMap<uint32_t>& slots_;
};

}  // namespace

void planGraph(GraphPlan& plan, const PlansByModule& plans, const ReportMissing& reportMissing) {
  GraphPlanner(plan, plans, reportMissing).run();
}

}  // namespace edgefx::detail

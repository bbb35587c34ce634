#include "run/session.h"

#include <edgefx/ir/sym_value.h>

#include "run/widened_call.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <new>
#include <utility>

namespace edgefx::detail {
namespace {

constexpr int kDeepestCall = 200;

}  // namespace

class Session::FrameLeaves : public LeafValues {
 public:
  FrameLeaves(const Frame& frame, const SymbolValues& symbols) : frame_(frame), symbols_(symbols) {}

  c10::IValue node(const Node& node) const override { return frame_.slots[frame_.plan.slots[node]]; }
  c10::IValue symbolic(const SymExpr& expression) const override {
    const std::optional<SymValue> value = evaluate(expression, [&](std::string_view symbol) {
      const auto found = symbols_.find(symbol);
      return found == symbols_.end() ? std::nullopt : std::optional<int64_t>(found->second);
    });
    if (!value) fail<UsageError>("the value of '{}' is not known", expression.text());
    return std::visit([](auto number) { return c10::IValue(number); }, *value);
  }

 private:
  const Frame& frame_;
  const SymbolValues& symbols_;
};

Values Session::runGraph(const GraphPlan& plan, Values inputs) {
  if (depth_ >= kDeepestCall)
    fail<UnsupportedError>("graphs call each other more than {} deep", kDeepestCall);
  if (inputs.size() != plan.placeholders.size()) {
    fail<UsageError>("expected {} operands for graph '{}', got {}", plan.placeholders.size(), plan.path,
                     inputs.size());
  }
  ++depth_;
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  } leave{depth_};

  Frame frame{plan, Values(plan.numSlots)};
  for (size_t i = 0; i < inputs.size(); ++i) frame.slots[plan.inputSlots[i]] = std::move(inputs[i]);
  inputs.clear();
  const bool isTapped = host_.isTapped();
  if (isTapped) {
    for (size_t i = 0; i < plan.placeholders.size(); ++i) {
      host_.tap(plan, *plan.placeholders[i], frame.slots[plan.inputSlots[i]]);
    }
  }
  for (uint32_t slot : plan.deadInputs) frame.slots[slot] = c10::IValue();

  for (const Step& step : plan.steps) {
    execute(step, frame);
    if (isTapped) host_.tap(plan, *step.node, frame.slots[step.result]);
    for (uint32_t i = 0; i < step.numDead; ++i) {
      frame.slots[plan.deadSlots[step.firstDead + i]] = c10::IValue();
    }
  }
  return values(plan.results, frame);
}

c10::IValue Session::callGraph(const GraphPlan& plan, Values inputs) {
  Values results = runGraph(plan, std::move(inputs));
  if (!plan.returnsSequence) return std::move(results.front());
  return c10::ivalue::Tuple::create(std::move(results));
}

c10::IValue Session::value(const Operand& operand, const Frame& frame) const {
  switch (operand.kind) {
    case Operand::Kind::Constant:
      return operand.constant;
    case Operand::Kind::Slot: {
      const c10::IValue& found = frame.slots[operand.slot];
      // A number where a kernel takes a tensor.
      if (operand.declared != nullptr && !found.isTensor()) return convertArgument(found, *operand.declared);
      return found;
    }
    case Operand::Kind::Converted:
      return convertArgument(frame.slots[operand.slot], *operand.declared);
    case Operand::Kind::Tree:
      break;
  }
  c10::IValue made = toIValue(*operand.tree, FrameLeaves(frame, symbols_));
  return operand.declared == nullptr ? made : convertArgument(std::move(made), *operand.declared);
}

Values Session::values(std::span<const Operand> operands, const Frame& frame) const {
  Values made;
  made.reserve(operands.size());
  for (const Operand& operand : operands) made.push_back(value(operand, frame));
  return made;
}

void Session::execute(const Step& step, Frame& frame) {
  c10::IValue& result = frame.slots[step.result];
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  try {
    switch (step.kind) {
      case StepKind::Operator:
        result = runOperator(step, frame);
        return;
      case StepKind::Function:
        result = step.function(values(operands, frame));
        return;
      case StepKind::Getitem:
        result = itemAt(frame.slots[operands[0].slot], operands[1].constant.toInt());
        return;
      case StepKind::Graph:
      case StepKind::Subgraph:
        result = callGraph(*step.graphs.front(), values(operands, frame));
        return;
      case StepKind::Delegate:
        result = c10::ivalue::Tuple::create(
            host_.runDelegate(frame.plan, *step.delegate, values(operands, frame)));
        return;
      case StepKind::Cond:
        result = runCond(step, frame);
        return;
      case StepKind::WhileLoop:
        result = runWhileLoop(step, frame);
        return;
      case StepKind::Map:
        result = runMap(step, frame);
        return;
      case StepKind::Scan:
        result = runScan(step, frame);
        return;
      case StepKind::Autocast:
        result = runAutocast(step, frame);
        return;
      case StepKind::AutoFunctionalized:
        result = runAutoFunctionalized(step, frame);
        return;
      case StepKind::WithEffects: {
        c10::IValue returned = runOperator(step, frame);
        Values all{c10::IValue()};  // the token
        if (step.numResults > 1) {
          for (const c10::IValue& item : returned.toTupleRef().elements()) all.push_back(item);
        } else {
          all.push_back(std::move(returned));
        }
        result = c10::ivalue::Tuple::create(std::move(all));
        return;
      }
    }
  } catch (ExecutionError& error) {
    error.addNote(fmt::format("called by node '%{}'{}", step.node->name(),
                              frame.plan.path.empty() ? std::string() : " of graph " + frame.plan.path));
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const c10::Error& error) {
    throwFault(step, frame, error.what_without_backtrace());
  } catch (const Error& error) {
    throwFault(step, frame, error.diagnostics().front().message);
  } catch (const std::exception& error) {
    throwFault(step, frame, error.what());
  }
}

void Session::throwFault(const Step& step, const Frame& frame, std::string what) const {
  while (!what.empty() && (what.back() == '\n' || what.back() == ' ')) what.pop_back();
  Diagnostic fault(std::move(what));
  fault.graph = frame.plan.path;
  fault.node = step.node->name();
  fault.nodeText = step.node->text();
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  std::string shown;
  for (size_t i = 0; i < operands.size(); ++i) {
    // Default values say nothing of the fault.
    const bool isWritten = operands[i].kind != Operand::Kind::Constant;
    if (!isWritten) continue;
    if (!shown.empty()) shown += ", ";
    if (operands[i].declared != nullptr) shown += operands[i].declared->name() + "=";
    c10::IValue found;
    try {
      found = operands[i].slot != kNoSlot ? frame.slots[operands[i].slot]
                                          : toIValue(*operands[i].tree, FrameLeaves(frame, symbols_));
      shown += describe(found);
    } catch (const std::exception&) {
      shown += '?';
    }
  }
  if (!shown.empty()) fault.notes.push_back("arguments: " + shown);
  if (std::string source = step.node->meta().sourceFrame(); !source.empty()) {
    fault.notes.push_back("at " + std::move(source));
  }
  throw ExecutionError(std::move(fault));
}

// Leaves the results on the stack.
void Session::callKernel(const Step& step, const Frame& frame) {
  const auto pushArguments = [&] {
    stack_.clear();
    for (const Operand& operand : frame.plan.operandsOf(step)) stack_.push_back(value(operand, frame));
  };
  pushArguments();
  if (!step.isWidened) {
    try {
      step.kernel->call(stack_);
      return;
    } catch (const c10::Error& error) {
      if (!lacksNarrowType(error) || step.kernel->schema->is_mutable()) throw;
      step.isWidened = true;
    }
    pushArguments();
  }
  callWidened(*step.kernel, stack_);
}

c10::IValue Session::runOperator(const Step& step, const Frame& frame) {
  callKernel(step, frame);
  if (step.numResults == 1) return std::move(stack_.back());
  if (step.numResults == 0) return {};
  return c10::ivalue::Tuple::create(std::exchange(stack_, {}));
}

c10::IValue Session::runCond(const Step& step, const Frame& frame) {
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  const bool taken = isTrue(value(operands[0], frame));
  return callGraph(*step.graphs[taken ? 0 : 1], values(operands.subspan(1), frame));
}

c10::IValue Session::runWhileLoop(const Step& step, const Frame& frame) {
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  Values carried = values(operands.first(step.numFirst), frame);
  const Values extra = values(operands.subspan(step.numFirst), frame);
  for (;;) {
    Values inputs = carried;
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    if (!isTrue(runGraph(*step.graphs[0], inputs).at(0))) break;
    carried.clear();
    carried = runGraph(*step.graphs[1], std::move(inputs));
  }
  return c10::ivalue::Tuple::create(std::move(carried));
}

bool isTrue(const c10::IValue& value) {
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt() != 0;
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 1) {
    return value.toTensor().item().toBool();
  }
  fail<UsageError>("expected a condition, got {}", describe(value));
}

c10::IValue itemAt(const c10::IValue& sequence, int64_t index) {
  const auto pick = [&](auto items) {
    const auto size = static_cast<int64_t>(items.size());
    if (index < -size || index >= size) fail<UsageError>("there is no item {} among {}", index, size);
    return items[static_cast<size_t>(index < 0 ? index + size : index)];
  };
  if (sequence.isTuple()) return pick(c10::ArrayRef<c10::IValue>(sequence.toTupleRef().elements()));
  if (sequence.isList()) return pick(sequence.toListRef());
  if (sequence.isTensor() && sequence.toTensor().dim() > 0) return sequence.toTensor().select(0, index);
  fail<UsageError>("expected a tuple or list, got {}", describe(sequence));
}

}  // namespace edgefx::detail

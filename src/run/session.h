#pragma once

#include "ir/convert_argument.h"
#include "run/plan.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

using Values = std::vector<c10::IValue>;

// Values of a program's symbols.
using SymbolValues = std::map<std::string, int64_t, std::less<>>;

// What steps ask of the program that they belong to.
class StepHost {
 public:
  virtual ~StepHost() = default;
  virtual Values runDelegate(const GraphPlan& plan, const GraphModule::Delegate& delegate,
                             Values arguments) = 0;
  // Whether anybody wants to see the values of nodes.
  virtual bool isTapped() const = 0;
  virtual void tap(const GraphPlan& plan, const Node& node, const c10::IValue& value) = 0;
};

// One run through the graphs of a program.
class Session {
 public:
  Session(StepHost& host, const SymbolValues& symbols) : host_(host), symbols_(symbols) {}

  // Runs a graph on the values of its placeholders, which are let go of after their last use. Throws
  // ExecutionError naming the node that failed.
  Values runGraph(const GraphPlan& plan, Values inputs);

 private:
  class FrameLeaves;
  struct Frame {
    const GraphPlan& plan;
    Values slots;
  };

  void execute(const Step& step, Frame& frame);
  c10::IValue value(const Operand& operand, const Frame& frame) const;
  Values values(std::span<const Operand> operands, const Frame& frame) const;
  // What a graph gives to the node that calls it: a tuple, or its one value.
  c10::IValue callGraph(const GraphPlan& plan, Values inputs);

  c10::IValue runOperator(const Step& step, const Frame& frame);
  void callKernel(const Step& step, const Frame& frame);
  c10::IValue runCond(const Step& step, const Frame& frame);
  c10::IValue runWhileLoop(const Step& step, const Frame& frame);
  c10::IValue runMap(const Step& step, const Frame& frame);
  c10::IValue runScan(const Step& step, const Frame& frame);
  c10::IValue runAutocast(const Step& step, const Frame& frame);
  c10::IValue runAutoFunctionalized(const Step& step, const Frame& frame);

  void throwFault(const Step& step, const Frame& frame, std::string what) const;

  StepHost& host_;
  const SymbolValues& symbols_;
  Values stack_;
  int depth_ = 0;  // of graphs that call graphs
};

// Whether a condition holds: a bool, or a tensor of one element. Throws UsageError for other values.
bool isTrue(const c10::IValue& value);

// The item of a tuple, list or tensor; negative numbers count from the end. Throws UsageError.
c10::IValue itemAt(const c10::IValue& sequence, int64_t index);

}  // namespace edgefx::detail

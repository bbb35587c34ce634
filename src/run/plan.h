#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/run/interpreter.h>

#include "run/kernel.h"
#include "run/python_functions.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace edgefx::detail {

struct GraphPlan;

inline constexpr uint32_t kNoSlot = ~uint32_t{0};

// Where an argument of a step comes from.
struct Operand {
  enum class Kind : uint8_t {
    Constant,   // the same in each run, converted for the kernel
    Slot,       // the value of a node, passed on as it is
    Converted,  // the value of a node, converted for the kernel
    Tree,       // a list or expression that holds values of nodes
  };
  Kind kind = Kind::Constant;
  uint32_t slot = kNoSlot;
  c10::IValue constant;
  const Argument* tree = nullptr;
  const c10::Argument* declared = nullptr;  // null: not converted
};

enum class StepKind : uint8_t {
  Operator,
  Function,  // a Python function on numbers
  Getitem,
  Graph,  // call_module
  Delegate,
  Cond,
  WhileLoop,
  Map,
  Scan,
  Subgraph,  // invoke_subgraph and its kin, which run a graph once
  Autocast,
  AutoFunctionalized,
  WithEffects,
};

// A call of a node. Operands of operators are in the order of the schema; those of control flow are the
// operands of the node with its graphs left out.
struct Step {
  const Node* node = nullptr;
  StepKind kind = StepKind::Operator;
  uint32_t result = kNoSlot;
  uint32_t firstOperand = 0, numOperands = 0;
  uint32_t firstDead = 0, numDead = 0;   // slots not needed after this step
  uint32_t numResults = 1;               // that the kernel leaves on the stack
  uint32_t numFirst = 0, numSecond = 0;  // of loops: operands carried or mapped, and then those scanned
  std::optional<Kernel> kernel;
  PythonFunction function = nullptr;
  // The kernel turned out to lack the narrow floating point types of its arguments: see callWidened.
  mutable bool isWidened = false;
  std::vector<const GraphPlan*> graphs;
  const GraphModule::Delegate* delegate = nullptr;
};

// A graph made ready to run: values have slots, operators are looked up, constants are converted.
struct GraphPlan {
  std::string path;
  const GraphModule* module = nullptr;
  std::vector<const Node*> placeholders;
  std::vector<uint32_t> inputSlots;  // of the placeholders
  std::vector<uint32_t> deadInputs;  // slots of placeholders that nobody uses
  std::vector<Step> steps;
  std::vector<Operand> operands;
  std::vector<uint32_t> deadSlots;
  std::vector<Operand> results;  // items of the output, or the output itself
  bool returnsSequence = false;
  uint32_t numSlots = 0;
  NodeMap<uint32_t> slots;
  // For each placeholder whether its memory may be written in place, through views too.
  std::vector<bool> writesInput;

  std::span<const Operand> operandsOf(const Step& step) const {
    return std::span(operands).subspan(step.firstOperand, step.numOperands);
  }
};

// Plans of all graphs of a program that nodes name. What they point to in the program must outlive them.
class ProgramPlan {
 public:
  // Throws VerificationError for graphs that do not hold together. Calls of missing operators have a step
  // without kernel. O(nodes + uses).
  explicit ProgramPlan(const ExportedProgram& program);

  const GraphPlan& top() const { return *graphs_.front(); }
  const std::vector<std::unique_ptr<GraphPlan>>& graphs() const { return graphs_; }
  // In order of first call; delegates are not looked into.
  const std::vector<MissingOperator>& missing() const { return missing_; }

 private:
  std::vector<std::unique_ptr<GraphPlan>> graphs_;  // the top first, then depth first
  std::vector<MissingOperator> missing_;
};

}  // namespace edgefx::detail

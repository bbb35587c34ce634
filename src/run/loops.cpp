#include "run/session.h"
#include "support/fail.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/stack.h>

#include <utility>

// Operators that run a graph once a row of their operands: map_impl and scan.
namespace edgefx::detail {
namespace {

const at::Tensor& mapped(const c10::IValue& value) {
  if (!value.isTensor() || value.toTensor().dim() == 0) {
    fail<UsageError>("expected a tensor with rows to run over, got {}", describe(value));
  }
  return value.toTensor();
}

// Rows of the tensors run over, which must have as many each.
int64_t numRows(const Values& tensors) {
  if (tensors.empty()) fail<UsageError>("expected a tensor to run over, got none");
  const int64_t rows = mapped(tensors.front()).size(0);
  for (const c10::IValue& value : tensors) {
    if (mapped(value).size(0) != rows) {
      fail<UsageError>("expected {} rows as in the first tensor, got {}", rows, describe(value));
    }
  }
  // The shapes of the results are those of the graph's first run.
  if (rows == 0) fail<UsageError>("running over no rows gives no results");
  return rows;
}

void appendRow(Values& inputs, const Values& tensors, int64_t row) {
  for (const c10::IValue& value : tensors) inputs.emplace_back(value.toTensor().select(0, row));
}

// Results of all rows, kept apart until they are stacked.
class Stacker {
 public:
  void add(Values& results, size_t first) {
    columns_.resize(results.size() - first);
    for (size_t i = first; i < results.size(); ++i) {
      if (!results[i].isTensor())
        fail<UsageError>("expected tensors as results, got {}", describe(results[i]));
      columns_[i - first].push_back(std::move(results[i]).toTensor());
    }
  }

  void appendTo(Values& values) {
    for (std::vector<at::Tensor>& column : columns_) {
      values.emplace_back(at::stack(column));
      column.clear();
    }
  }

 private:
  std::vector<std::vector<at::Tensor>> columns_;
};

}  // namespace

c10::IValue Session::runMap(const Step& step, const Frame& frame) {
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  const Values tensors = values(operands.first(step.numFirst), frame);
  const Values extra = values(operands.subspan(step.numFirst), frame);
  Stacker stacker;
  const int64_t rows = numRows(tensors);
  for (int64_t row = 0; row < rows; ++row) {
    Values inputs;
    appendRow(inputs, tensors, row);
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    Values results = runGraph(*step.graphs.front(), std::move(inputs));
    stacker.add(results, 0);
  }
  Values all;
  stacker.appendTo(all);
  return c10::ivalue::Tuple::create(std::move(all));
}

c10::IValue Session::runScan(const Step& step, const Frame& frame) {
  const std::span<const Operand> operands = frame.plan.operandsOf(step);
  Values carried = values(operands.first(step.numFirst), frame);
  const Values tensors = values(operands.subspan(step.numFirst, step.numSecond), frame);
  const Values extra = values(operands.subspan(step.numFirst + step.numSecond), frame);
  Stacker stacker;
  const int64_t rows = numRows(tensors);
  for (int64_t row = 0; row < rows; ++row) {
    Values inputs = std::move(carried);
    appendRow(inputs, tensors, row);
    inputs.insert(inputs.end(), extra.begin(), extra.end());
    Values results = runGraph(*step.graphs.front(), std::move(inputs));
    if (results.size() < step.numFirst) {
      fail<UsageError>("expected at least {} results of graph '{}', got {}", step.numFirst,
                       step.graphs.front()->path, results.size());
    }
    stacker.add(results, step.numFirst);
    results.resize(step.numFirst);
    carried = std::move(results);
  }
  stacker.appendTo(carried);
  return c10::ivalue::Tuple::create(std::move(carried));
}

}  // namespace edgefx::detail

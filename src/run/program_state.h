#pragma once

#include <edgefx/program/exported_program.h>

#include "run/session.h"

#include <ATen/core/Tensor.h>

#include <string_view>
#include <unordered_set>
#include <vector>

namespace edgefx::detail {

// Parameters, buffers and constants of a program, by the position of their input. What the program writes is
// a copy, so that the program's own tensors never change; everything else shares memory with them.
class ProgramState {
 public:
  // `writesInput`: which placeholders the program may write in place. Throws UnsupportedError for tensors
  // that this LibTorch cannot hold, VerificationError for specs without an entry in the tables.
  ProgramState(const ExportedProgram& program, const std::vector<bool>& writesInput);

  // The tensors that a run is to begin with, undefined for user inputs and tokens. Tensors written in place
  // are new copies, which a run may spoil.
  std::vector<at::Tensor> begin() const;
  // Takes `next`, which begin() gave, with `results` written to the inputs at `positions`. Results are taken
  // over where nothing else holds them, else copied. Everything is checked before anything changes. Throws
  // UsageError for a result of another shape.
  void commit(std::vector<at::Tensor> next, const std::vector<size_t>& positions, Values results);
  // Whether the tensor shares memory with the state before the run or with `next`, which begin() gave.
  bool holds(const at::Tensor& tensor, const std::vector<at::Tensor>& next) const;

  const at::Tensor& at(size_t position) const { return current_[position]; }
  std::vector<at::Tensor> snapshot() const { return current_; }
  void restore(std::vector<at::Tensor> snapshot);

 private:
  void findStorages();

  std::vector<at::Tensor> current_;
  std::vector<std::vector<size_t>> copied_;   // positions that share one storage and are written in place
  std::unordered_set<const void*> storages_;  // of all current tensors
};

}  // namespace edgefx::detail

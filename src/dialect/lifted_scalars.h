#pragma once

#include <edgefx/program/exported_program.h>

#include <vector>

namespace edgefx {
class StoredTensor;
}

namespace edgefx::detail {

// Numbers of a program's top level graph that become stored tensors. exir makes them persistent buffers and
// numbers them from the count of buffers on.
class LiftedScalars {
 public:
  explicit LiftedScalars(ExportedProgram& program);
  ~LiftedScalars();
  LiftedScalars(const LiftedScalars&) = delete;
  LiftedScalars& operator=(const LiftedScalars&) = delete;

  // A placeholder before the first user input, or after all inputs if there is none. `number` is an int,
  // float, bool or complex argument.
  Node& add(const Argument& number, Dtype dtype);
  // Adds the specs and tensors of all of them. O(inputs).
  void finish();

 private:
  struct Lifted;

  ExportedProgram& program_;
  size_t position_ = 0;  // of the first one among the inputs
  size_t nextNumber_ = 0;
  InsertionPoint place_;
  std::vector<Lifted> lifted_;
};

}  // namespace edgefx::detail

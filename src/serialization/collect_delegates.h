#pragma once

#include <edgefx/program/lowered_module.h>

#include "serialization/edge_record.h"

#include <vector>

namespace edgefx::detail {

// Numbers the delegates of programs, and those inside the programs of these: what a delegate holds comes
// before it, and each comes once, however many calls and programs share it.
class DelegateCollector {
 public:
  // Appends the delegates of `program` that are not known yet. With `verify`, throws VerificationError if the
  // program of one does not hold together; UnsupportedError if they are nested deeper than kDeepestDelegate.
  void add(const ExportedProgram& program, bool verify);

  const std::vector<const LoweredModule*>& all() const { return all_; }
  const DelegateNumbers& numbers() const { return numbers_; }

 private:
  size_t depthBelow(const ExportedProgram& program, bool verify, size_t above);

  std::vector<const LoweredModule*> all_;
  std::vector<size_t> depths_;  // by number: delegates from this one down
  DelegateNumbers numbers_;
};

}  // namespace edgefx::detail

#pragma once

#include <edgefx/edgefx.h>

#include "npu.h"

#include <string>

namespace npu {

// Takes what fills caches, the conds and the questions that they ask, and leaves all else to others.
// ControlFlow::Whole takes each cond with its branches, ControlFlow::Branches what is in the branches only.
class CondPartitioner final : public edgefx::Partitioner {
 public:
  // A greedy one claims every softmax, too, which the compiler below cannot take.
  explicit CondPartitioner(edgefx::ControlFlow mode, bool isGreedy = false);

  std::string_view name() const override { return name_; }
  edgefx::PartitionResult partition(const edgefx::ExportedProgram& program) const override;

 private:
  edgefx::ControlFlow mode_;
  bool isGreedy_;
  std::string name_;
};

// Backend "npu", which looks at every call of what it is given, branches included, before it compiles.
class Compiler final : public edgefx::BackendDetails {
 public:
  std::string_view name() const override { return "npu"; }
  edgefx::PreprocessResult preprocess(const edgefx::ExportedProgram& program,
                                      std::span<const edgefx::CompileSpec> specs) const override;
};

}  // namespace npu

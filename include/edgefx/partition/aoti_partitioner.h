#pragma once

#include <edgefx/partition/partition_by_support.h>

#include <string>
#include <string_view>
#include <utility>

namespace edgefx {

// For backends that compile whatever they get, ahead of time: takes every call that is not delegated yet, in
// as few partitions as can be, with the branches of control flow and every constant, and nothing decomposed.
// The tags are "aoti_" and a number, as those of exir's AotiPartitioner.
class AotiPartitioner : public Partitioner {
 public:
  explicit AotiPartitioner(DelegationSpec spec, std::string name = "AotiPartitioner",
                           ControlFlow controlFlow = ControlFlow::Whole)
      : name_(std::move(name)),
        options_{.spec = std::move(spec),
                 .tagPrefix = "aoti_",
                 .controlFlow = controlFlow,
                 .takesUnusedConstants = true} {}

  std::string_view name() const override { return name_; }
  PartitionResult partition(const ExportedProgram& program) const override {
    return partitionBySupport(program, support::anyCall(), options_);
  }
  bool keepsWhole(const Node& /*call*/) const override { return true; }

 private:
  std::string name_;
  PartitionOptions options_;
};

}  // namespace edgefx

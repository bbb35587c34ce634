#pragma once

#include <edgefx/partition/capability_partitioner.h>
#include <edgefx/partition/operator_support.h>
#include <edgefx/partition/partitioner.h>

#include <cstdint>
#include <string>

namespace edgefx {

// What becomes of operators whose arguments are graphs: cond, while_loop, map_impl, scan, ...
enum class ControlFlow : uint8_t {
  Whole,     // taken with their branches, if all in these is supported, too; left alone otherwise
  Branches,  // left in place, but what is supported in their branches is taken, at every depth
};

struct PartitionOptions {
  DelegationSpec spec;            // of every partition
  std::string tagPrefix = "tag";  // tags are this and a number, which at the top level is the partition's id
  ControlFlow controlFlow = ControlFlow::Whole;
  bool takesUnusedConstants = false;  // tags constants that nobody reads, for the partition with the least id
  CapabilityOptions capability{.allowsSingleNodePartition = true};
};

// All that a partitioner has to do, if what it can take is a question to each node: proposes partitions of
// supported calls, with the branches of control flow, and moves constants and written buffers into them.
// Every call that stays has a reason. What is delegated already is never taken, whatever `support` says.
//
//   PartitionResult partition(const ExportedProgram& program) const override {
//     static const OperatorSupport support = support::operators({"aten.add.Tensor", "aten.mm.default"});
//     return partitionBySupport(program, support, {.spec = {"MyBackend"}});
//   }
//
// O(nodes + uses), see proposePartitions.
PartitionResult partitionBySupport(const ExportedProgram& program, const OperatorSupport& support,
                                   const PartitionOptions& options);

}  // namespace edgefx

#pragma once

#include <edgefx/edgefx.h>

#include "npu.h"

#include <string>

namespace npu {

// Tags step by step what edgefx::partitionBySupport tags with ControlFlow::Whole: the place to start from if
// what to take is more than a question to each node. It can leave out one step, to show what is said then.
class HandPartitioner final : public edgefx::Partitioner {
 public:
  explicit HandPartitioner(bool forgetsBranches) : forgetsBranches_(forgetsBranches) {}

  std::string_view name() const override { return "npu-by-hand"; }

  edgefx::PartitionResult partition(const edgefx::ExportedProgram& program) const override {
    const edgefx::OperatorSupport support = supported();
    const auto isSupported = [&](const edgefx::Node& node) { return support.supports(node); };
    const edgefx::OperatorSupport withBranches = edgefx::support::predicate(
        [&](const edgefx::Node& node) {
          return edgefx::findUnsupported(node, program.graphModule(), isSupported) == nullptr;
        },
        "it, or a call in its branches, is not supported");

    edgefx::PartitionResult result;
    for (const edgefx::ProposedPartition& partition :
         edgefx::proposePartitions(program.graph(), withBranches, {.allowsSingleNodePartition = true})) {
      const std::string tag = "tag" + std::to_string(partition.id);
      result.addSpec(tag, {"npu"});
      for (const edgefx::Node* node : partition.nodes) result.tags.tag(*node, tag);
    }
    if (!forgetsBranches_) edgefx::tagBranches(program, result.tags);
    edgefx::tagConstantData(program, result.tags);
    edgefx::tagMutatedBuffers(program, result.tags);
    return result;
  }

 private:
  bool forgetsBranches_;
};

}  // namespace npu

#include "cond_partitioner.h"

#include <utility>

namespace npu {

using namespace edgefx;

namespace {

OperatorSupport withBranches(const ExportedProgram& program, const OperatorSupport& support) {
  return support::predicate(
      [&program, support](const Node& node) {
        const auto isSupported = [&support](const Node& inner) { return support.supports(inner); };
        return findUnsupported(node, program.graphModule(), isSupported) == nullptr;
      },
      "it, or a call in its branches, is not supported");
}

void tagProposals(const std::vector<ProposedPartition>& proposals, size_t& count, PartitionResult& result) {
  for (const ProposedPartition& partition : proposals) {
    const std::string tag = "tag" + std::to_string(count++);
    result.addSpec(tag, {"npu"});
    for (const Node* node : partition.nodes) result.tags.tag(*node, tag);
  }
}

}  // namespace

CondPartitioner::CondPartitioner(ControlFlow mode, bool isGreedy)
    : mode_(mode), isGreedy_(isGreedy), name_("npu-cond-") {
  name_ += mode == ControlFlow::Whole ? "whole" : "branches";
  if (isGreedy) name_ += "-greedy";
}

PartitionResult CondPartitioner::partition(const ExportedProgram& program) const {
  // The questions go with the conds: a cache is a delegate's own only if it alone reads it.
  OperatorSupport wanted = support::operators({"higher_order.cond", "aten.any.default", "aten.ne.Scalar"});
  if (isGreedy_) wanted = wanted || support::operators({"aten._softmax.default"});
  PartitionResult result;
  size_t count = 0;
  const auto isCond = [](const Node& node) { return node.isCall("higher_order.cond"); };
  if (mode_ == ControlFlow::Whole) {
    const OperatorSupport inside = supported() || wanted;
    tagProposals(proposePartitions(program, program.graphModule(), wanted && withBranches(program, inside),
                                   {.allowsSingleNodePartition = true}),
                 count, result);
    tagBranches(program, result.tags);
    tagConstantData(program, result.tags);
    tagMutatedBuffers(program, result.tags);
    return result;
  }
  const OperatorSupport inside = supported() && !support::operators({"higher_order.cond"});
  visitBranches(
      program.graphModule(),
      [&](const ConstNestedModule& nested) {
        if (nested.path.empty()) return;
        tagProposals(proposePartitions(program, *nested.module, inside, {.allowsSingleNodePartition = true}),
                     count, result);
      },
      isCond);
  return result;
}

PreprocessResult Compiler::preprocess(const ExportedProgram& program,
                                      std::span<const CompileSpec> specs) const {
  const OperatorSupport support = supported() || support::operators({"operator.getitem"});
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || support.supports(node)) continue;
      Diagnostic fault =
          nodeFault(node, "the device has no instruction for '" + std::string(node.target().name()) + "'");
      fault.graph = nested.path;
      throw LoweringError(std::move(fault));
    }
  }
  return Backend().preprocess(program, specs);
}

}  // namespace npu

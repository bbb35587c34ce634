#include <edgefx/ir/node_queries.h>
#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/partition_by_support.h>
#include <edgefx/partition/tag_constants.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace edgefx {
namespace {

// `support` with what is known of the node's graph: an operator with branches counts as they do.
class ScopedSupport final : public OperatorSupport::Rule {
 public:
  ScopedSupport(const GraphModule& module, OperatorSupport support, ControlFlow controlFlow)
      : module_(module), support_(std::move(support)), controlFlow_(controlFlow) {}

  bool accepts(const Node& node) const override {
    if (!support_.supports(node)) return false;
    if (branchesOf(node, module_).empty()) return true;
    return controlFlow_ == ControlFlow::Whole && unsupportedOf(node) == nullptr;
  }
  std::string refusal(const Node& node) const override {
    std::string reason = support_.whyNot(node);
    if (!reason.empty()) return reason;
    if (controlFlow_ == ControlFlow::Branches) return "only what is in its branches is taken";
    const Node& inner = *unsupportedOf(node);
    return fmt::format("'%{}' in its branches is not supported: {}", inner.name(), support_.whyNot(inner));
  }
  std::string condition() const override { return support_.condition(); }

 private:
  const Node* unsupportedOf(const Node& node) const {
    return findUnsupported(node, module_, [&](const Node& inner) { return support_.supports(inner); });
  }

  const GraphModule& module_;
  OperatorSupport support_;
  ControlFlow controlFlow_;
};

void giveReasons(const Graph& graph, const OperatorSupport& support, Tags& tags) {
  for (const Node& node : graph.nodes()) {
    if (!node.isCall() || tags.isTagged(node) || getitemIndex(node)) continue;
    std::string reason = support.whyNot(node);
    tags.reject(node, reason.empty() ? "too little can be taken together with it" : std::move(reason));
  }
}

class SupportPartitioning {
 public:
  SupportPartitioning(const ExportedProgram& program, const OperatorSupport& support,
                      const PartitionOptions& options)
      : program_(program), support_(support && support::notDelegated()), options_(options) {}

  void tagModule(const GraphModule& module) {
    const OperatorSupport support(std::make_shared<ScopedSupport>(module, support_, options_.controlFlow));
    uint32_t next = firstNumber_;
    for (const ProposedPartition& partition :
         proposePartitions(program_, module, support, options_.capability)) {
      if (partition.nodes.empty()) continue;
      const uint32_t number = firstNumber_ + partition.id;
      const std::string tag = options_.tagPrefix + std::to_string(number);
      result_.addSpec(tag, options_.spec);
      for (const Node* node : partition.nodes) result_.tags.tag(*node, tag);
      next = std::max(next, number + 1);
    }
    firstNumber_ = next;
    giveReasons(module.graph(), support, result_.tags);
  }

  PartitionResult finish() {
    tagBranches(program_, result_.tags);
    tagConstantData(program_, result_.tags);
    tagMutatedBuffers(program_, result_.tags);
    if (options_.takesUnusedConstants && !result_.specs().empty()) {
      tagUnusedConstants(program_, result_.tags, result_.specs().front().first);
    }
    return std::move(result_);
  }

 private:
  const ExportedProgram& program_;
  OperatorSupport support_;
  const PartitionOptions& options_;
  PartitionResult result_;
  uint32_t firstNumber_ = 0;
};

}  // namespace

PartitionResult partitionBySupport(const ExportedProgram& program, const OperatorSupport& support,
                                   const PartitionOptions& options) {
  SupportPartitioning partitioning(program, support, options);
  const bool entersBranches = options.controlFlow == ControlFlow::Branches;
  visitBranches(
      program.graphModule(), [&](const ConstNestedModule& at) { partitioning.tagModule(*at.module); },
      [&](const Node&) { return entersBranches; });
  return partitioning.finish();
}

}  // namespace edgefx

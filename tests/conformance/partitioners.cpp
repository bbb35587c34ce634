#include "partitioners.h"

#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/node_queries.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/tag_constants.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx::conformance {
namespace {

class TextBackend final : public BackendDetails {
 public:
  explicit TextBackend(std::string name) : name_(std::move(name)) {}

  std::string_view name() const override { return name_; }
  PreprocessResult preprocess(const ExportedProgram& program,
                              std::span<const CompileSpec> /*compileSpecs*/) const override {
    return {SharedBytes::copyOf(fxText(program.graphModule()))};
  }

 private:
  std::string name_;
};

class FunctionPartitioner final : public Partitioner {
 public:
  using Function = std::function<PartitionResult(const ExportedProgram&)>;
  FunctionPartitioner(std::string name, Function function)
      : name_(std::move(name)), function_(std::move(function)) {}

  std::string_view name() const override { return name_; }
  PartitionResult partition(const ExportedProgram& program) const override { return function_(program); }

 private:
  std::string name_;
  Function function_;
};

DelegationSpec allSpec(std::string mode) {
  return {"BackendAll", {{"mode", std::move(mode)}}};
}

void untagGetAttrs(const ExportedProgram& program, Tags& tags) {
  for (const Node& node : program.graph().nodes()) {
    if (node.isGetAttr()) tags.untag(node);
  }
}

PartitionResult allNoGetAttr(const ExportedProgram& program) {
  PartitionResult result = AotiPartitioner(allSpec("all_no_get_attr")).partition(program);
  untagGetAttrs(program, result.tags);
  return result;
}

bool isHigherOrder(const Node& node) {
  return node.isCall() && node.target().kind() == TargetKind::HigherOrder;
}

bool isOneOf(const Node& node, std::initializer_list<std::string_view> names) {
  return isHigherOrder(node) && std::ranges::find(names, node.target().name()) != names.end();
}

PartitionResult tag0(const ExportedProgram& program, const std::string& mode, bool withGetAttrs) {
  PartitionResult result;
  result.addSpec("tag0", allSpec(mode));
  for (const Node& node : program.graph().nodes()) {
    const bool feedsControlFlow = node.isGetAttr() && std::ranges::any_of(node.users(), [](const Node& user) {
                                    return isOneOf(user, {"cond", "map_impl", "while_loop"});
                                  });
    if (node.isCall() || (withGetAttrs && feedsControlFlow)) result.tags.tag(node, "tag0");
  }
  tagConstantData(program, result.tags);
  tagMutatedBuffers(program, result.tags);
  tagUnusedConstants(program, result.tags, "tag0");
  return result;
}

PartitionResult addmul(const ExportedProgram& program) {
  static const OperatorSupport support = support::operators(
      {"aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor", "aten.mm.default", "aten.addmm.default"});
  return partitionBySupport(program, support, {.spec = {"BackendAddMul", {{"max_value", "\x04"}}}});
}

// Numbers the partitions of all branches in one row, and leaves the top level alone.
PartitionResult branches(const ExportedProgram& program) {
  static const OperatorSupport support =
      support::anyCall() && !support::predicate(isHigherOrder, "it takes graphs");
  PartitionResult result;
  visitBranches(
      program.graphModule(),
      [&](const ConstNestedModule& at) {
        if (at.path.empty()) return;
        for (const ProposedPartition& partition :
             proposePartitions(at.module->graph(), support, {.allowsSingleNodePartition = true})) {
          const std::string tag = "branch_" + std::to_string(result.specs().size());
          result.addSpec(tag, {"BackendBranches"});
          for (const Node* node : partition.nodes) result.tags.tag(*node, tag);
        }
      },
      [](const Node& node) {
        return isOneOf(node, {"cond", "map_impl", "scan"});
      });
  return result;
}

// Gives each run of three calls to the next of two backends.
class Runs {
 public:
  explicit Runs(const ExportedProgram& program) {
    for (const Node& node : program.graph().nodes()) {
      if (node.isCall()) visit(node);
    }
    tagConstantData(program, result_.tags);
    tagMutatedBuffers(program, result_.tags);
  }
  PartitionResult take() { return std::move(result_); }

 private:
  static constexpr int kCallsPerRun = 3;

  void visit(const Node& node) {
    if (getitemIndex(node)) {
      const std::string_view tag = result_.tags.tagOf(node.arg(0).asNode());
      if (!tag.empty()) result_.tags.tag(node, tag);
      return;
    }
    const ValueMeta* value = node.value();
    const bool hasTensors = value != nullptr && (value->tensor() != nullptr || value->sequence() != nullptr);
    if (isHigherOrder(node) || !hasTensors) {
      calls_ = kCallsPerRun;
      return;
    }
    if (calls_ == kCallsPerRun) startRun();
    ++calls_;
    result_.tags.tag(node, tag_);
  }

  void startRun() {
    static constexpr std::array<std::string_view, 2> kSides = {"left", "right"};
    static constexpr std::array<std::string_view, 2> kBackends = {"BackendLeft", "BackendRight"};
    const size_t number = result_.specs().size();
    const std::string side(kSides[number % 2]);
    tag_ = side + "_" + std::to_string(number);
    result_.addSpec(tag_, {std::string(kBackends[number % 2]), {{"side", side}}});
    calls_ = 0;
  }

  PartitionResult result_;
  std::string tag_;
  int calls_ = kCallsPerRun;
};

}  // namespace

void registerPartitioners(BackendRegistry& registry) {
  for (const char* name : {"BackendAll", "BackendAddMul", "BackendBranches", "BackendLeft", "BackendRight"}) {
    registry.add(std::make_unique<TextBackend>(name));
  }
  registry.add(std::make_unique<AotiPartitioner>(allSpec("all"), "all"));
  auto add = [&](std::string name, FunctionPartitioner::Function function) {
    registry.add(std::make_unique<FunctionPartitioner>(std::move(name), std::move(function)));
  };
  add("all_no_get_attr", allNoGetAttr);
  add("tag0", [](const ExportedProgram& program) { return tag0(program, "tag0", true); });
  add("tag0_no_get_attr",
      [](const ExportedProgram& program) { return tag0(program, "tag0_no_get_attr", false); });
  add("addmul", addmul);
  add("branches", branches);
  add("two", [](const ExportedProgram& program) { return Runs(program).take(); });
}

}  // namespace edgefx::conformance

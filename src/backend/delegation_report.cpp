#include <edgefx/backend/delegation_report.h>
#include <edgefx/backend/to_backend.h>
#include <edgefx/program/lowered_module.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace edgefx {
namespace {

NodeCounts& operator+=(NodeCounts& counts, const NodeCounts& more) {
  counts.delegated += more.delegated;
  counts.undelegated += more.undelegated;
  return counts;
}

// Names live as long as the process, as targets do.
using CountOfOperator = std::unordered_map<std::string_view, size_t>;
using CountsOfOperator = std::unordered_map<std::string_view, NodeCounts>;

bool isCountedCall(const Node& node) {
  static const Target kGetitem("operator.getitem");
  return node.isCall() && !node.isCall(kGetitem) && !callsDelegate(node);
}

std::vector<OperatorCounts> sortedCounts(const CountsOfOperator& counts) {
  std::vector<OperatorCounts> sorted;
  sorted.reserve(counts.size());
  for (const auto& [name, nodes] : counts) sorted.push_back({std::string(name), nodes});
  std::ranges::sort(sorted, [](const OperatorCounts& a, const OperatorCounts& b) {
    if (a.nodes.total() != b.nodes.total()) return a.nodes.total() > b.nodes.total();
    return a.name < b.name;
  });
  return sorted;
}

// The calls inside of a delegate, delegates inside of it included, each once.
CountOfOperator countInside(const LoweredModule& lowered) {
  CountOfOperator counts;
  std::vector<const LoweredModule*> pending{&lowered};
  std::unordered_set<const LoweredModule*> reached{&lowered};
  while (!pending.empty()) {
    const LoweredModule& at = *pending.back();
    pending.pop_back();
    for (const ConstNestedModule& nested : namedModules(at.program.graphModule())) {
      for (const Node& node : nested.module->graph().nodes()) {
        if (isCountedCall(node)) ++counts[node.target().name()];
        const LoweredModule* inner = callsDelegate(node) ? findLoweredModule(*nested.module, node) : nullptr;
        if (inner != nullptr && reached.insert(inner).second) pending.push_back(inner);
      }
    }
  }
  return counts;
}

class MethodReporter {
 public:
  MethodReport report(const ExportedProgram& program, std::string_view method) {
    MethodReport report;
    report.method = method;
    CountsOfOperator counts;
    for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
      CountsOfOperator ofModule;
      report.modules.push_back(reportModule(nested, ofModule));
      report.nodes += report.modules.back().nodes;
      for (const auto& [name, nodes] : ofModule) counts[name] += nodes;
    }
    report.operators = sortedCounts(counts);
    return report;
  }

 private:
  GraphModuleReport reportModule(const ConstNestedModule& nested, CountsOfOperator& counts) {
    GraphModuleReport report;
    report.path = nested.path;
    std::unordered_set<std::string_view> reported;
    for (const Node& node : nested.module->graph().nodes()) {
      if (isCountedCall(node)) {
        ++counts[node.target().name()].undelegated;
        report.undelegated.push_back(reportUndelegated(node));
      } else if (callsDelegate(node)) {
        const LoweredModule* lowered = findLoweredModule(*nested.module, node);
        if (lowered == nullptr) continue;
        const std::string_view name = node.arg(0).asNode().targetText();
        if (reported.insert(name).second)
          report.partitions.push_back(reportPartition(*lowered, name, counts));
      }
    }
    for (const auto& [name, nodes] : counts) report.nodes += nodes;
    report.operators = sortedCounts(counts);
    return report;
  }

  static UndelegatedNode reportUndelegated(const Node& node) {
    const SharedText* reason = node.meta().find(kWhyNotDelegated);
    return {std::string(node.name()), std::string(node.target().name()), node.meta().sourceFrame(),
            reason == nullptr ? std::string() : **reason};
  }

  PartitionReport reportPartition(const LoweredModule& lowered, std::string_view name,
                                  CountsOfOperator& counts) {
    PartitionReport report;
    report.delegate = name;
    report.backend = lowered.backendId;
    for (const auto& [operatorName, count] : inside(lowered)) {
      counts[operatorName].delegated += count;
      report.nodes += count;
    }
    const GraphSignature& signature = lowered.program.signature;
    report.inputs = static_cast<size_t>(
        std::ranges::count_if(signature.inputs, [](const InputSpec& spec) { return !spec.target; }));
    report.outputs = static_cast<size_t>(std::ranges::count_if(
        signature.outputs, [](const OutputSpec& spec) { return spec.kind == OutputKind::UserOutput; }));
    report.payloadBytes = lowered.processedBytes.size();
    return report;
  }

  // Delegates may hang in many places.
  const CountOfOperator& inside(const LoweredModule& lowered) {
    auto found = inside_.find(&lowered);
    if (found == inside_.end()) found = inside_.emplace(&lowered, countInside(lowered)).first;
    return found->second;
  }

  std::unordered_map<const LoweredModule*, CountOfOperator> inside_;
};

}  // namespace

std::optional<double> NodeCounts::percent() const {
  if (total() == 0) return std::nullopt;
  return static_cast<double>(delegated * 1000 / total()) / 10;
}

NodeCounts DelegationReport::nodes() const {
  NodeCounts counts;
  for (const MethodReport& method : methods) counts += method.nodes;
  return counts;
}

MethodReport reportDelegation(const ExportedProgram& program, std::string_view method) {
  return MethodReporter().report(program, method);
}

}  // namespace edgefx

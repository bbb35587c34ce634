#include <edgefx/backend/to_backend.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>

#include "ir/graph_builder.h"
#include "partition/delegate_program.h"
#include "partition/duplicate_constants.h"
#include "support/fail.h"
#include "support/guarded_call.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using detail::FusedPartition;

// One partition on its way to become a delegate.
struct PendingDelegate {
  FusedPartition partition;
  ExportedProgram program;
  size_t order = 0;  // of its call in the graph
};

// One method on its way.
struct PendingMethod {
  std::string name;
  ExportedProgram program;
  PartitionResult result;
  std::vector<GraphModule*> modules;       // that hold partitions, in the order of their visit
  std::vector<FusedPartition> partitions;  // until they are delegates
  std::vector<PendingDelegate> delegates;

  const DelegationSpec& spec(const PendingDelegate& delegate) const {
    return result.specs()[delegate.partition.spec].second;
  }
  Diagnostic place() const {
    Diagnostic diagnostic;
    diagnostic.method = name;
    return diagnostic;
  }
};

PartitionResult runPartitioner(const MethodToPartition& method, const ExportedProgram& shown) {
  Diagnostic place;
  place.method = method.method;
  PartitionResult result =
      detail::guardedCall(place, fmt::format("partitioner '{}'", method.partitioner->name()),
                          [&] { return method.partitioner->partition(shown); });
  if (std::optional<Diagnostic> difference = findDifference(*method.program, shown)) {
    difference->method = method.method;
    difference->notes.push_back(
        fmt::format("partitioner '{}' may only tag, but it changed the program", method.partitioner->name()));
    throw LoweringError(std::move(*difference));
  }
  return result;
}

// Every backend that a tag in use asks for must be there before anything happens.
void checkBackends(const PendingMethod& method, const BackendRegistry& registry) {
  std::unordered_set<std::string_view> used(method.result.tags.all().begin(), method.result.tags.all().end());
  for (const auto& [tag, spec] : method.result.specs()) {
    if (!used.contains(tag) || registry.findDelegateBackend(spec.backendId) != nullptr) continue;
    Diagnostic diagnostic = method.place();
    diagnostic.backend = spec.backendId;
    const std::vector<std::string> known = registry.delegateBackendNames();
    diagnostic.message = fmt::format(
        "tag '{}' asks for delegate backend '{}', which is not registered; {}", tag, spec.backendId,
        known.empty() ? "none is" : fmt::format("registered are '{}'", fmt::join(known, "', '")));
    throw LoweringError(std::move(diagnostic));
  }
}

// The graph modules that are left after the top level was fused, depth first.
void fuseModules(PendingMethod& method, const detail::FusingOrder& order) {
  struct Visit {
    GraphModule* module;
    std::string path;
  };
  std::vector<Visit> pending{{&method.program.graphModule(), ""}};
  std::unordered_set<const GraphModule*> reached{pending.front().module};
  while (!pending.empty()) {
    const Visit visit = std::move(pending.back());
    pending.pop_back();
    std::vector<FusedPartition> fused =
        detail::fusePartitions(*visit.module, visit.path, method.program, method.result, order);
    if (!fused.empty()) method.modules.push_back(visit.module);
    if (method.partitions.empty()) {
      method.partitions = std::move(fused);
    } else {
      std::ranges::move(fused, std::back_inserter(method.partitions));
    }
    const size_t first = pending.size();
    for (const Node& node : std::as_const(visit.module->graph()).nodes()) {
      if (!node.isGetAttr()) continue;
      GraphModule* const child = visit.module->findChild(node.targetText());
      if (child == nullptr || !reached.insert(child).second) continue;
      pending.push_back({child, childPath(visit.path, node.targetText())});
    }
    std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(first), pending.end());
  }
}

void makeDelegatePrograms(PendingMethod& method) {
  detail::renameResults(method.program);
  detail::StateSplitter splitter(method.program);
  method.delegates.reserve(method.partitions.size());
  for (FusedPartition& partition : method.partitions) {
    ExportedProgram program = splitter.makeProgram(partition);
    method.delegates.push_back({std::move(partition), std::move(program)});
  }
  method.partitions.clear();
  splitter.finish();

  // Delegates come module by module.
  size_t order = 0;
  auto delegate = method.delegates.begin();
  for (const GraphModule* module : method.modules) {
    NodeMap<size_t> positions(module->graph());
    for (const Node& node : module->graph().nodes()) {
      if (node.op() == NodeOp::CallModule) positions[node] = order++;
    }
    for (; delegate != method.delegates.end() && delegate->partition.owner == module; ++delegate) {
      delegate->order = std::as_const(positions)[*delegate->partition.call];
    }
  }
}

PendingMethod fuseMethod(const MethodToPartition& method, const BackendRegistry& registry) {
  PendingMethod pending;
  pending.name = method.method;
  pending.program = method.program->clone();
  try {
    if (std::vector<Diagnostic> violations = checkProgram(pending.program); !violations.empty()) {
      throw VerificationError(std::move(violations));
    }
    pending.result = runPartitioner(method, std::as_const(pending.program));
    checkBackends(pending, registry);
    const detail::FusingOrder order = detail::fusingOrder(pending.result);
    detail::duplicateConstants(pending.program, pending.result, order);
    fuseModules(pending, order);
    makeDelegatePrograms(pending);
  } catch (Error& error) {
    error.fillIn(pending.place());
    throw;
  }
  return pending;
}

struct DelegateRef {
  size_t method;
  size_t delegate;
};

// The delegates of each backend, in the order in which backends first come up: method by method, and in the
// order of the graph.
std::vector<std::pair<std::string, std::vector<DelegateRef>>> groupByBackend(
    const std::vector<PendingMethod>& methods) {
  std::vector<std::pair<std::string, std::vector<DelegateRef>>> groups;
  std::map<std::string_view, size_t> known;
  for (size_t m = 0; m < methods.size(); ++m) {
    for (size_t d = 0; d < methods[m].delegates.size(); ++d) {
      const std::string& id = methods[m].spec(methods[m].delegates[d]).backendId;
      const auto [found, isNew] = known.try_emplace(id, groups.size());
      if (isNew) groups.emplace_back(id, std::vector<DelegateRef>());
      groups[found->second].second.push_back({m, d});
    }
  }
  for (auto& [id, delegates] : groups) {
    std::ranges::stable_sort(delegates, [&](const DelegateRef& a, const DelegateRef& b) {
      if (a.method != b.method) return a.method < b.method;
      return methods[a.method].delegates[a.delegate].order < methods[b.method].delegates[b.delegate].order;
    });
  }
  return groups;
}

std::vector<std::vector<PreprocessResult>> preprocess(const BackendDetails& backend,
                                                      const std::vector<PendingMethod>& methods,
                                                      const std::vector<DelegateRef>& delegates) {
  std::vector<BackendDetails::MethodPartitions> partitions;
  for (const DelegateRef& ref : delegates) {
    const PendingMethod& method = methods[ref.method];
    if (partitions.empty() || partitions.back().method != method.name)
      partitions.push_back({method.name, {}});
    const PendingDelegate& delegate = method.delegates[ref.delegate];
    partitions.back().partitions.push_back({delegate.program, method.spec(delegate).compileSpecs});
  }
  std::vector<size_t> wanted;
  for (const BackendDetails::MethodPartitions& method : partitions)
    wanted.push_back(method.partitions.size());
  Diagnostic place;
  place.backend = backend.name();
  if (partitions.size() == 1) place.method = partitions.front().method;
  std::vector<std::vector<PreprocessResult>> results =
      detail::guardedCall(place, "the backend", [&] { return backend.preprocessMethods(partitions); });
  bool fits = results.size() == wanted.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i) fits = results[i].size() == wanted[i];
  if (fits) return results;
  place.message =
      fmt::format("preprocessMethods must return a result for each of the [{}] partitions of its {} methods",
                  fmt::join(wanted, ", "), wanted.size());
  throw LoweringError(std::move(place));
}

// Data under one key must be the same wherever it comes from.
class NamedDataChecker {
 public:
  void check(const PreprocessResult& result, const Diagnostic& place) {
    for (const NamedData& data : result.namedData) {
      if (data.alignment < 1) {
        refuse(place, fmt::format("named data '{}' needs an alignment of at least 1, found {}", data.key,
                                  data.alignment));
      }
      const auto [found, isNew] = known_.emplace(data.key, data.bytes);
      if (isNew || found->second.text() == data.bytes.text()) continue;
      refuse(place, fmt::format(
                        "named data '{}' has {} bytes here, but another delegate stored {} other bytes under "
                        "that key",
                        data.key, data.bytes.size(), found->second.size()));
    }
  }

 private:
  [[noreturn]] static void refuse(const Diagnostic& place, std::string message) {
    Diagnostic diagnostic = place;
    diagnostic.message = std::move(message);
    throw LoweringError(std::move(diagnostic));
  }

  std::map<std::string, SharedBytes, std::less<>> known_;
};

void checkInputs(const PreprocessResult& result, const ExportedProgram& program, const Diagnostic& place) {
  if (!result.inputs) return;
  std::vector<std::string> wanted;
  for (const InputSpec& spec : program.signature.inputs) {
    if (!spec.target) wanted.push_back(spec.arg.name);
  }
  if (*result.inputs == wanted) return;
  Diagnostic diagnostic = place;
  diagnostic.message = fmt::format("the payload takes the inputs ({}), but every call passes ({})",
                                   fmt::join(*result.inputs, ", "), fmt::join(wanted, ", "));
  throw LoweringError(std::move(diagnostic));
}

int64_t largestDebugHandle(const Graph& graph) {
  int64_t largest = 0;
  for (const Node& node : graph.nodes()) largest = std::max(largest, node.meta().debugHandle().value_or(0));
  return largest;
}

// Puts delegates in the places of the calls that stand for them.
class DelegateInserter {
 public:
  explicit DelegateInserter(PendingMethod& method)
      : method_(method), largestHandle_(largestDebugHandle(std::as_const(method.program).graph())) {}

  // Name of the next delegate of that module.
  std::string nextName(GraphModule& owner) {
    size_t& number = numbers_[&owner];
    while (true) {
      std::string name = fmt::format("lowered_module_{}", number++);
      if (owner.findChild(name) == nullptr && owner.findDelegate(name) == nullptr) return name;
    }
  }

  void insert(PendingDelegate& delegate, const std::string& name, PreprocessResult made) {
    const DelegationSpec& spec = method_.spec(delegate);
    GraphModule& owner = *delegate.partition.owner;
    auto lowered = std::make_shared<LoweredModule>(LoweredModule{
        spec.backendId, std::move(made.processedBytes), spec.compileSpecs, std::move(delegate.program),
        std::move(made.debugHandleMap), std::move(made.namedData)});
    addLoweredModule(owner, name, std::move(lowered), delegate.partition.isImpure);

    static const Target kCallDelegate("higher_order.executorch_call_delegate");
    Node& placeholderCall = *delegate.partition.call;
    Graph& graph = owner.graph();
    InsertionGuard guard(graph, before(placeholderCall));
    args_.clear();
    args_.emplace_back(graph.getAttr(name, name));
    for (const Argument& input : placeholderCall.args()) args_.emplace_back(input);
    Node& call = graph.call(kCallDelegate, args_);
    call.setValue(placeholderCall.valueRef());
    const bool isTop = delegate.partition.ownerPath.empty();
    const int64_t handle = largestHandle_ + 1;
    if (isTop) largestHandle_ = handle;
    call.editMeta([&](NodeMeta& meta) { meta.setDebugHandle(handle); });
    while (placeholderCall.numUsers() != 0)
      (*placeholderCall.users().begin()).replaceInput(placeholderCall, call);
    graph.erase(placeholderCall);
  }

 private:
  PendingMethod& method_;
  int64_t largestHandle_;
  std::unordered_map<const GraphModule*, size_t> numbers_;
  Args args_;  // scratch of insert
};

void keepReasons(PendingMethod& method) {
  for (const NestedModule& nested : namedModules(method.program.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      const std::string_view reason = method.result.tags.reasonOf(node);
      if (reason.empty() || method.result.tags.isTagged(node)) continue;
      node.editMeta([&](NodeMeta& meta) { meta.set(kWhyNotDelegated, std::string(reason)); });
    }
  }
}

ExportedProgram finishMethod(PendingMethod& method) {
  for (GraphModule* module : method.modules) detail::GraphBuilder(module->graph()).forgetErasedNames();
  keepReasons(method);
  std::vector<Diagnostic> violations = checkProgram(method.program);
  if (!violations.empty()) {
    LoweringError error(std::move(violations));
    error.fillIn(method.place());
    throw error;
  }
  return std::move(method.program);
}

}  // namespace

ExportedProgram toBackend(const ExportedProgram& program, const Partitioner& partitioner,
                          const BackendRegistry& registry, std::string_view method) {
  return std::move(toBackend({{std::string(method), &program, &partitioner}}, registry).front());
}

std::vector<ExportedProgram> toBackend(const std::vector<MethodToPartition>& methods,
                                       const BackendRegistry& registry) {
  std::vector<PendingMethod> pending;
  pending.reserve(methods.size());
  for (const MethodToPartition& method : methods) {
    if (method.program == nullptr || method.partitioner == nullptr) {
      detail::fail<UsageError>("method '{}' needs a program and a partitioner, found null", method.method);
    }
    pending.push_back(fuseMethod(method, registry));
  }
  std::vector<DelegateInserter> inserters;
  for (PendingMethod& method : pending) inserters.emplace_back(method);

  NamedDataChecker namedData;
  for (const auto& [backendId, delegates] : groupByBackend(pending)) {
    std::vector<std::vector<PreprocessResult>> results =
        preprocess(registry.delegateBackend(backendId), pending, delegates);
    size_t group = 0, position = 0;
    for (const DelegateRef& ref : delegates) {
      while (position == results[group].size()) {
        ++group;
        position = 0;
      }
      PreprocessResult& made = results[group][position++];
      PendingMethod& method = pending[ref.method];
      PendingDelegate& delegate = method.delegates[ref.delegate];
      const std::string name = inserters[ref.method].nextName(*delegate.partition.owner);
      if (made.inputs || !made.namedData.empty()) {
        Diagnostic place = method.place();
        place.backend = backendId;
        place.graph = delegate.partition.ownerPath;
        place.node = name;
        checkInputs(made, delegate.program, place);
        namedData.check(made, place);
      }
      inserters[ref.method].insert(delegate, name, std::move(made));
    }
  }

  std::vector<ExportedProgram> lowered;
  lowered.reserve(pending.size());
  for (PendingMethod& method : pending) lowered.push_back(finishMethod(method));
  return lowered;
}

}  // namespace edgefx

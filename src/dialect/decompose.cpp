#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/node_queries.h>

#include "dialect/decomposition.h"
#include "program/core_aten_ops.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace edgefx {
namespace detail {

const std::unordered_map<std::string, DecompositionRule>& allDecompositions() {
  static const auto& table = *[] {
    auto* byName = new std::unordered_map<std::string, DecompositionRule>();
    for (const auto rules :
         {viewDecompositions(), joinDecompositions(), factoryDecompositions(), copyDecompositions(),
          matrixDecompositions(), einsumDecompositions(), convolutionDecompositions(), poolDecompositions(),
          normDecompositions(), activationDecompositions(), attentionDecompositions(),
          pointwiseDecompositions(), aliasDecompositions(), indexDecompositions(), reductionDecompositions(),
          lossDecompositions(), recurrentDecompositions()}) {
      for (const NamedDecomposition& rule : rules) byName->emplace("aten." + std::string(rule.op), rule.rule);
    }
    return byName;
  }();
  return table;
}

ActiveRules::ActiveRules(const DecomposeOptions& options)
    : preserved_(options.preserveOps), exceptions_(options.exceptions), shapeRules_(options.shapeRules) {}

bool ActiveRules::isPreserved(Target target) const {
  return preserved_.lists(target);
}

bool ActiveRules::isException(Target target) const {
  return exceptions_.lists(target);
}

DecompositionRule ActiveRules::find(Target target) {
  const auto [found, isNew] = byTarget_.try_emplace(target.fxText().data(), nullptr);
  if (isNew && target.kind() == TargetKind::Operator && !isPreserved(target)) {
    const auto& all = allDecompositions();
    const auto rule = all.find(std::string(target.name()));
    if (rule != all.end()) found->second = rule->second;
  }
  return found->second;
}

}  // namespace detail

namespace {

using detail::ActiveRules;
using detail::DecompositionRule;
using detail::GraphDecomposer;
using detail::Replacement;

using NodeNames = std::unordered_set<std::string_view>;

// Graphs that run under autocast, and those inside them.
template <typename Module, typename Nested>
std::unordered_set<const GraphModule*> autocastModules(const std::vector<Nested>& all) {
  std::unordered_set<const GraphModule*> found;
  for (const Nested& nested : all) {
    if (nested.parent != nullptr && found.contains(nested.parent)) found.insert(nested.module);
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall("higher_order.wrap_with_autocast")) continue;
      for (const GraphModule* body : branchesOf(node, static_cast<const Module&>(*nested.module))) {
        found.insert(body);
      }
    }
  }
  return found;
}

// Operators left over, in order of first call.
class LeftOver {
 public:
  explicit LeftOver(const ActiveRules& rules) : rules_(rules) {}

  void add(const Node& node, const std::string& graph, const std::string* reason) {
    if (!node.isCall() || !node.target().isOperator()) return;
    const Target target = node.target();
    const auto [place, isNew] = places_.try_emplace(target.name().data(), kFine);
    if (isNew && !isFine(target)) {
      place->second = found_.size();
      UndecomposedOperator made;
      made.name = target.name();
      made.firstNode = node.name();
      made.graph = graph;
      if (reason != nullptr) made.reason = *reason;
      found_.push_back(std::move(made));
    }
    if (place->second != kFine) ++found_[place->second].calls;
  }

  std::vector<UndecomposedOperator> take() { return std::move(found_); }

 private:
  static constexpr size_t kFine = ~size_t{0};

  bool isFine(Target target) const {
    const std::string_view name = target.name();
    return target.ns() != "aten" || detail::isCoreAten(name) || detail::isViewCopy(name) ||
           target.op().starts_with("_assert_") || target.op().starts_with("sym_constrain_range") ||
           rules_.isPreserved(target) || rules_.isException(target);
  }

  const ActiveRules& rules_;
  std::unordered_map<const char*, size_t> places_;  // by interned name: one each of the two dialects
  std::vector<UndecomposedOperator> found_;
};

// Whether every user takes an item that there is.
bool takesItemsOnly(const Node& call, const Replacement& replacement) {
  for (const Node& user : call.users()) {
    const std::optional<int64_t> index = getitemIndex(user);
    if (!index || &user.arg(0).asNode() != &call) return false;
    const auto count = static_cast<int64_t>(replacement.nodes.size());
    if (*index < -count || *index >= count) return false;
    if (replacement.nodes[static_cast<size_t>(*index < 0 ? *index + count : *index)] == nullptr) return false;
  }
  return true;
}

// Decomposes the calls of one graph.
class GraphPass {
 public:
  GraphPass(GraphModule& module, ActiveRules& rules, const std::unordered_set<const Node*>& kept)
      : module_(module), graph_(module.graph()), rules_(rules), kept_(kept), decomposer_(graph_, rules) {}

  // Names of nodes that gave way, and of those that took their place.
  std::vector<std::pair<std::string, const Node*>> renamed;
  // Why calls stayed, by node.
  std::unordered_map<const Node*, std::string> reasons;

  void run(const NodeNames& named) {
    const InsertionPoint old = graph_.insertionPoint();
    for (Node& node : graph_.nodes()) {
      if (std::exchange(isOutdated_[node], 0) != 0) describeAnew(node);
      if (Node* const same = decomposer_.sizes().madeBefore(node)) {
        replaceOne(node, *same, named);
        continue;
      }
      decomposer_.sizes().note(node);
      if (!node.isCall() || node.target().kind() != TargetKind::Operator) continue;
      const DecompositionRule rule = rules_.find(node.target());
      if (rule == nullptr || kept_.contains(&node)) continue;
      std::string reason;
      const std::unique_ptr<Replacement> replacement = decomposer_.apply(rule, node, reason);
      if (replacement == nullptr) {
        reasons.emplace(&node, std::move(reason));
      } else {
        const bool isUsed = node.numUsers() > 0;
        replace(node, *replacement, named);
        // What stood without users stays so, under its new operators.
        if (isUsed) decomposer_.eraseUnused(module_);
      }
    }
    decomposer_.sizes().eraseUnused();
    graph_.setInsertionPoint(old.anchor != nullptr && old.anchor->isErased() ? InsertionPoint{} : old);
  }

 private:
  void replace(Node& call, const Replacement& replacement, const NodeNames& named) {
    if (!replacement.isItems) {
      replaceOne(call, *replacement.nodes.front(), named);
      return;
    }
    if (!takesItemsOnly(call, replacement)) {
      reasons.emplace(&call, "a user takes more than one item of its result");
      return;  // what was made has no users and is erased
    }
    const auto count = static_cast<int64_t>(replacement.nodes.size());
    for (Node* user : call.usersSnapshot()) {
      const int64_t index = *getitemIndex(*user);
      replaceOne(*user, *replacement.nodes[static_cast<size_t>(index < 0 ? index + count : index)], named);
    }
    graph_.erase(call);
  }

  // Strides may be others than the operator itself gives; those of what is made of them then are, too.
  void markUsers(Node& node) {
    for (const Node& user : node.users()) isOutdated_[user] = 1;
  }

  void describeAnew(Node& node) {
    if (!node.isCall()) return;
    ValueRef value;
    try {
      value = inferValue(node, rules_.shapeRules());
    } catch (const UsageError&) {
      return;  // it was described otherwise before, and is left to checkShapes
    }
    if (!value || describeSame(value.get(), node.value())) return;
    node.setValue(std::move(value));
    markUsers(node);
  }

  void replaceOne(Node& old, Node& made, const NodeNames& named) {
    if (named.contains(old.name())) renamed.emplace_back(old.name(), &made);
    if (made.value() == nullptr) made.setValue(old.valueRef());
    decomposer_.sizes().replaced(old, made);
    if (!describeSame(made.value(), old.value())) markUsers(old);
    old.replaceAllUsesWith(made);
    graph_.erase(old);
  }

  GraphModule& module_;
  Graph& graph_;
  ActiveRules& rules_;
  const std::unordered_set<const Node*>& kept_;
  GraphDecomposer decomposer_;
  NodeMap<uint8_t> isOutdated_;  // an input is described otherwise than it was
};

// Nodes that signature and calling conventions name.
NodeNames namedNodes(const ExportedProgram& program) {
  NodeNames names;
  for (const OutputSpec& output : program.signature.outputs) names.insert(output.arg.name);
  for (const ModuleCallEntry& entry : program.moduleCallGraph) {
    if (!entry.signature) continue;
    for (const SpecArg& arg : entry.signature->inputs) names.insert(arg.name);
    for (const SpecArg& arg : entry.signature->outputs) names.insert(arg.name);
  }
  return names;
}

void applyRenames(ExportedProgram& program, const std::vector<std::pair<std::string, const Node*>>& renamed) {
  if (renamed.empty()) return;
  std::unordered_map<std::string, std::string> names;
  for (const auto& [old, made] : renamed) names.emplace(old, made->name());
  const auto rename = [&](SpecArg& arg) {
    if (const auto found = names.find(arg.name); found != names.end()) arg.name = found->second;
  };
  for (OutputSpec& output : program.signature.outputs) rename(output.arg);
  for (ModuleCallEntry& entry : program.moduleCallGraph) {
    if (!entry.signature) continue;
    for (SpecArg& arg : entry.signature->inputs) rename(arg);
    for (SpecArg& arg : entry.signature->outputs) rename(arg);
  }
}

}  // namespace

std::vector<UndecomposedOperator> decompose(ExportedProgram& program, const DecomposeOptions& options) {
  ActiveRules rules(options);
  const std::vector<NestedModule> modules = namedModules(program.graphModule());
  const auto underAutocast = autocastModules<GraphModule>(modules);
  std::unordered_set<const Node*> kept;
  if (options.keeps) {
    for (const NestedModule& nested : modules) {
      for (const Node& node : nested.module->graph().nodes()) {
        if (node.isCall() && rules.find(node.target()) != nullptr && options.keeps(node)) kept.insert(&node);
      }
    }
  }
  const NodeNames named = namedNodes(program);
  static const std::string kAutocast = "it runs under autocast, which changes what operators do";
  static const std::string kNoRule = "there is no rule for it";
  static const std::string kKept = "it was to be kept";
  LeftOver left(rules);
  for (const NestedModule& nested : modules) {
    const bool isAutocast = underAutocast.contains(nested.module);
    GraphPass pass(*nested.module, rules, kept);
    if (!isAutocast) pass.run(named);
    if (nested.parent == nullptr) applyRenames(program, pass.renamed);
    for (const Node& node : nested.module->graph().nodes()) {
      const auto reason = pass.reasons.find(&node);
      left.add(node, nested.path,
               reason != pass.reasons.end() ? &reason->second
               : isAutocast                 ? &kAutocast
               : kept.contains(&node)       ? &kKept
                                            : &kNoRule);
    }
  }
  return left.take();
}

std::vector<UndecomposedOperator> undecomposed(const ExportedProgram& program,
                                               const DecomposeOptions& options) {
  const ActiveRules rules(options);
  LeftOver left(rules);
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) left.add(node, nested.path, nullptr);
  }
  return left.take();
}

}  // namespace edgefx

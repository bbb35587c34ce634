#include "run/plan.h"

#include "run/graph_planner.h"

#include <string_view>
#include <unordered_map>
#include <utility>

namespace edgefx::detail {

ProgramPlan::ProgramPlan(const ExportedProgram& program) {
  const std::vector<ConstNestedModule> modules = namedModules(program.graphModule());
  PlansByModule plans;
  for (const ConstNestedModule& nested : modules) {
    graphs_.push_back(std::make_unique<GraphPlan>());
    graphs_.back()->path = nested.path;
    graphs_.back()->module = nested.module;
    plans.emplace(nested.module, graphs_.back().get());
  }
  // Whoever calls a graph must know already what the graph writes: children come after their parents.
  std::vector<std::vector<std::pair<std::string_view, const Node*>>> missing(graphs_.size());
  for (size_t i = graphs_.size(); i-- > 0;) {
    planGraph(*graphs_[i], plans,
              [&](const Node& node, std::string_view name) { missing[i].emplace_back(name, &node); });
  }
  std::unordered_map<std::string_view, size_t> known;  // positions in missing_
  for (size_t i = 0; i < missing.size(); ++i) {
    for (const auto& [name, node] : missing[i]) {
      const auto [found, isNew] = known.try_emplace(name, missing_.size());
      if (isNew) missing_.push_back({std::string(name), 0, std::string(node->name()), graphs_[i]->path});
      ++missing_[found->second].calls;
    }
  }
}

}  // namespace edgefx::detail

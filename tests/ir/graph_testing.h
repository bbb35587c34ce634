#pragma once

#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/graph_module.h>
#include <edgefx/ir/lint.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace edgefx::test {

// Time that this process has spent computing: other programs on the machine do not add to it.
class CpuTimer {
 public:
  double seconds() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

// Names of a range of nodes.
template <typename Range>
std::vector<std::string> namesOf(const Range& nodes) {
  std::vector<std::string> names;
  for (const Node& node : nodes) names.emplace_back(node.name());
  return names;
}

inline std::vector<std::string> namesOf(const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) names.emplace_back(node->name());
  return names;
}

using Names = std::vector<std::string>;

// What lint finds, rendered, a line each.
template <typename T>
std::string lintText(const T& subject) {
  std::string out;
  for (const Diagnostic& finding : lint(subject)) out += finding.render() + "\n";
  return out;
}

// The message of the E that `action` throws; "nothing thrown" if it throws none.
template <typename E, typename Action>
std::string messageOf(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.diagnostics().front().message;
  }
  return "nothing thrown";
}

// x -> relu -> output.
inline std::unique_ptr<Graph> reluGraph() {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  Node& relu = graph->call("aten.relu.default", {x});
  graph->output(Arg::tuple({relu}));
  return graph;
}

}  // namespace edgefx::test

#include <edgefx/rewrite/rules.h>

#include "bench/bench_graphs.h"
#include "bench/bench_rows.h"

#include <algorithm>
#include <string>
#include <vector>

namespace edgefx::bench {
namespace {

// A hundred operators, those of the synthetic programs among them; no operand is what the patterns ask for.
RuleSet hundredRules(const ExportedProgram& program) {
  std::vector<std::string> operators;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isCall()) continue;
    const std::string name(node.target().name());
    if (std::find(operators.begin(), operators.end(), name) == operators.end()) operators.push_back(name);
    if (operators.size() == 50) break;
  }
  for (size_t i = 0; operators.size() < 100; ++i)
    operators.push_back("mylib.op" + std::to_string(i) + ".default");
  RuleSet rules;
  for (const std::string& name : operators) {
    using namespace patterns;
    rules.add("rule-" + name, op(name, op("mylib.inner.default", any("x")), rest("more")),
              [](const Match& match, ProgramRewriter&) { return match.decline("only measured"); });
  }
  return rules;
}

// Looks at every node and its operands.
size_t walk(const ExportedProgram& program) {
  size_t seen = 0;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isCall()) continue;
    for (const Node& input : node.inputs()) seen += input.isCall() && input.target().op().size() > 3;
  }
  return seen;
}

}  // namespace

void addRewriteRows(const Options& options, Table& table) {
  if (!options.wants("15")) return;
  constexpr double kMicro = 1e-3;  // of nanoseconds
  for (const size_t nodes : options.sizes()) {
    ExportedProgram program = makeProgram(nodes);
    RuleSet rules = hundredRules(program);
    const auto times = medians({making("rules",
                                       [&] {
                                         ProgramRewriter rewriter(program);
                                         return rules.run(rewriter);
                                       }),
                                making("walk", [&] { return walk(program); })},
                               options.repetitionsAt(nodes));
    table.add({"15", "100 rules / a walk over nodes and operands", nodes, times[0] * kMicro,
               times[1] * kMicro, "us", Goal{2, 3}});
  }
}

}  // namespace edgefx::bench

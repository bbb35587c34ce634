#pragma once

#include <edgefx/rewrite/pattern.h>
#include <edgefx/rewrite/program_rewriter.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx {

namespace detail {
class RuleDriver;
}

// Named rewrite rules, each a pattern and what to do where it matches.
class RuleSet {
 public:
  // Changes the program through the rewriter, whose insertion point is such that a call stands behind its
  // arguments and, where they allow it, before the root of the match. Must not erase nodes: what nobody uses
  // is erased at the end. If it declines or throws it must have changed nothing.
  using Action = std::function<RuleResult(const Match& match, ProgramRewriter& rewriter)>;

  struct Info {
    std::string name;
    bool isEnabled = true;
    size_t matched = 0;  // how often the pattern matched, in all runs
    size_t changed = 0;  // and the action did something
  };

  RuleSet();
  ~RuleSet();
  RuleSet(RuleSet&&) noexcept;
  RuleSet& operator=(RuleSet&&) noexcept;

  // Rules are tried in order of being added. Throws UsageError if the name is empty or taken, the pattern is
  // no operator, or the action is empty.
  void add(std::string_view name, Pattern pattern, Action action);
  // Throws UsageError for an unknown rule.
  void setEnabled(std::string_view name, bool enabled);
  std::vector<Info> rules() const;

  struct Limits {
    // How often a rule may be applied to what rules made of one node of the original program.
    size_t generations = 64;
  };

  // Applies the rules to every graph of the program, in the order of the graph, to what they make as well,
  // until none matches; then erases nodes that nobody uses. Returns how often a rule changed something.
  // Throws LoweringError naming rule and node if a rule goes on for ever, and what actions throw, with rule
  // and node attached; what earlier rules changed then stays. Near O(nodes + matches).
  size_t run(ProgramRewriter& rewriter) { return run(rewriter, Limits()); }
  size_t run(ProgramRewriter& rewriter, const Limits& limits);

  // Why a rule does not match at a node: the first place where pattern and graph differ, or "it matches".
  // Throws UsageError for an unknown rule.
  std::string explain(std::string_view rule, const Node& node, const ExportedProgram& program) const;

 private:
  friend class detail::RuleDriver;
  struct Rule;
  std::vector<std::unique_ptr<Rule>> rules_;
};

}  // namespace edgefx

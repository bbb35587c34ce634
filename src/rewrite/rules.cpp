#include <edgefx/ir/operators.h>
#include <edgefx/rewrite/rules.h>

#include "rewrite/matcher.h"
#include "support/fail.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

namespace edgefx {

using detail::fail;
using detail::Matcher;
using detail::PatternNode;

struct RuleSet::Rule {
  Info info;
  Pattern pattern;
  Action action;
};

RuleSet::RuleSet() = default;
RuleSet::~RuleSet() = default;
RuleSet::RuleSet(RuleSet&&) noexcept = default;
RuleSet& RuleSet::operator=(RuleSet&&) noexcept = default;

void RuleSet::add(std::string_view name, Pattern pattern, Action action) {
  if (name.empty()) fail<UsageError>("a rule needs a name");
  if (!action) fail<UsageError>("rule '{}' has no action", name);
  if (Matcher::nodeOf(pattern).kind != PatternNode::Kind::Op) {
    fail<UsageError>("the pattern of rule '{}' begins with no operator", name);
  }
  const bool isTaken = std::ranges::any_of(rules_, [&](const auto& rule) { return rule->info.name == name; });
  if (isTaken) fail<UsageError>("there is a rule '{}' already", name);
  Info info;
  info.name = name;
  rules_.push_back(std::make_unique<Rule>(Rule{std::move(info), std::move(pattern), std::move(action)}));
}

void RuleSet::setEnabled(std::string_view name, bool enabled) {
  for (const auto& rule : rules_) {
    if (rule->info.name != name) continue;
    rule->info.isEnabled = enabled;
    return;
  }
  fail<UsageError>("there is no rule '{}'", name);
}

std::vector<RuleSet::Info> RuleSet::rules() const {
  std::vector<Info> all;
  for (const auto& rule : rules_) all.push_back(rule->info);
  return all;
}

// Applies the rules to one graph after the other.
class detail::RuleDriver {
 public:
  RuleDriver(std::vector<RuleSet::Rule*> rules, ProgramRewriter& rewriter, const RuleSet::Limits& limits)
      : rewriter_(rewriter), limits_(limits), matcher_(rewriter.program()) {
    for (RuleSet::Rule* rule : rules) {
      for (const std::string& name : Matcher::nodeOf(rule->pattern).operators) byName_[name].push_back(rule);
    }
  }

  size_t run() {
    struct Leave {
      ProgramRewriter& rewriter;
      ~Leave() { rewriter.module_ = &rewriter.program_.graphModule(); }
    } leave{rewriter_};
    for (const NestedModule& nested : namedModules(rewriter_.program().graphModule())) {
      rewriter_.module_ = nested.module;
      path_ = nested.path;
      visit(*nested.module);
    }
    return changes_;
  }

 private:
  void visit(GraphModule& module) {
    generation_ = NodeMap<uint32_t>();
    isQueued_ = NodeMap<uint8_t>();
    for (Node& node : module.graph().nodes()) {
      applyFirst(node, module);
      while (!queue_.empty()) {
        Node& next = *queue_.front();
        queue_.pop_front();
        if (next.isErased()) continue;
        isQueued_[next] = 0;
        applyFirst(next, module);
      }
    }
  }

  void applyFirst(Node& node, GraphModule& module) {
    if (!node.isCall()) return;
    for (RuleSet::Rule* rule : candidates(node)) {
      if (Matcher::mayMatch(Matcher::nodeOf(rule->pattern), node) && apply(*rule, node, module)) return;
    }
  }

  void enqueue(Node& node) {
    if (!node.isCall() || node.isErased() || candidates(node).empty()) return;
    if (std::exchange(isQueued_[node], 1) == 0) queue_.push_back(&node);
  }

  // Rules whose pattern begins with the node's operator, in their order.
  const std::vector<RuleSet::Rule*>& candidates(const Node& node) {
    const Target target = node.target();
    const auto [found, isNew] = byTarget_.try_emplace(target.fxText().data());
    if (isNew) {
      const auto addNamed = [&, &list = found->second](std::string_view name) {
        if (const auto rules = byName_.find(name); rules != byName_.end()) {
          list.insert(list.end(), rules->second.begin(), rules->second.end());
        }
      };
      addNamed(target.name());
      if (target.isOperator()) addNamed(target.name().substr(0, target.ns().size() + 1 + target.op().size()));
    }
    return found->second;
  }

  bool apply(RuleSet::Rule& rule, Node& root, GraphModule& module) {
    Match match;
    if (!matcher_.matches(rule.pattern, root, match)) return false;
    ++rule.info.matched;
    const uint32_t generation = generation_[root] + 1;
    if (generation > limits_.generations) {
      throw LoweringError(place(rule, root,
                                fmt::format("the rule does not settle: it was applied {} times in a row "
                                            "to what it and other rules made",
                                            limits_.generations)));
    }
    rewriter_.made_.clear();
    rewriter_.root_ = &Matcher::firstRoot(match);
    struct Leave {
      ProgramRewriter& rewriter;
      ~Leave() { rewriter.root_ = nullptr; }
    } leave{rewriter_};
    bool isChanged = false;
    try {
      isChanged = rule.action(match, rewriter_).isChanged();
    } catch (Error& error) {
      error.fillIn(place(rule, root, {}));
      throw;
    }
    if (!isChanged) return false;
    ++rule.info.changed;
    ++changes_;
    generation_[root] = generation;
    for (Node* made : rewriter_.made_) {
      if (made->isErased()) continue;
      generation_[*made] = generation;
      enqueue(*made);
      for (Node& user : made->users()) enqueue(user);
    }
    eraseDead(match, module);
    if (!root.isErased()) enqueue(root);
    return true;
  }

  // What was matched and is not needed any more would still count as a user of its operands.
  void eraseDead(const Match& match, GraphModule& module) {
    for (Node* node : match.nodes()) {
      if (!node->isCall() || node->isErased() || node->numUsers() != 0 || isImpure(*node, module)) continue;
      module.graph().erase(*node);
    }
  }

  Diagnostic place(const RuleSet::Rule& rule, const Node& root, std::string message) const {
    Diagnostic diagnostic(std::move(message));
    diagnostic.graph = path_;
    diagnostic.rule = rule.info.name;
    diagnostic.node = root.name();
    diagnostic.nodeText = root.text();
    return diagnostic;
  }

  ProgramRewriter& rewriter_;
  RuleSet::Limits limits_;
  Matcher matcher_;
  std::unordered_map<std::string_view, std::vector<RuleSet::Rule*>> byName_;
  std::unordered_map<const char*, std::vector<RuleSet::Rule*>> byTarget_;  // targets' texts live for ever
  std::deque<Node*> queue_;
  NodeMap<uint32_t> generation_;  // how many rules in a row led to the node
  NodeMap<uint8_t> isQueued_;
  std::string path_;
  size_t changes_ = 0;
};

size_t RuleSet::run(ProgramRewriter& rewriter, const Limits& limits) {
  std::vector<Rule*> enabled;
  for (const auto& rule : rules_) {
    if (rule->info.isEnabled) enabled.push_back(rule.get());
  }
  const size_t changes = detail::RuleDriver(std::move(enabled), rewriter, limits).run();
  if (changes > 0) rewriter.eraseDeadNodes();
  return changes;
}

std::string RuleSet::explain(std::string_view name, const Node& node, const ExportedProgram& program) const {
  for (const auto& rule : rules_) {
    if (rule->info.name != name) continue;
    Match match;
    std::string why;
    // Matching changes nothing.
    if (Matcher(program).matches(rule->pattern, const_cast<Node&>(node), match, &why)) {
      return fmt::format("rule '{}' matches '%{}'", name, node.name());
    }
    return fmt::format("rule '{}' does not match '%{}': {}", name, node.name(), why);
  }
  fail<UsageError>("there is no rule '{}'", name);
}

}  // namespace edgefx

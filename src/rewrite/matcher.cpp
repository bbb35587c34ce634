#include "rewrite/matcher.h"

#include <edgefx/ir/operators.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace edgefx::detail {
namespace {

bool isOneOf(const Node& node, const PatternNode& pattern) {
  if (!node.isCall()) return false;
  for (const Target target : pattern.targets) {
    if (node.isCall(target)) return true;
  }
  if (!pattern.hasPackets) return false;
  // "aten.add" is every overload of it.
  const Target target = node.target();
  return target.isOperator() && std::ranges::any_of(pattern.operators, [&](std::string_view wanted) {
           return wanted == target.name().substr(0, target.ns().size() + 1 + target.op().size());
         });
}

bool refuse(std::string* why, std::string text) {
  if (why != nullptr) *why += text;
  return false;
}

// Where a pattern has a node that is known by now: one with a name that the match has, `depth` operands below
// the root.
struct KnownOperand {
  Node* node = nullptr;
  size_t depth = 0;
};

KnownOperand findKnown(const PatternNode& pattern, const Match& match) {
  std::vector<std::pair<const PatternNode*, size_t>> pending{{&pattern, 0}};
  for (size_t i = 0; i < pending.size(); ++i) {
    const auto [at, depth] = pending[i];
    if (depth > 0 && at->kind != PatternNode::Kind::Rest) {
      for (const std::string& name : at->names) {
        if (Node* const node = match.find(name)) return {node, depth};
      }
    }
    // The operand of an optional one stands in its place.
    const size_t below = depth + (at->kind == PatternNode::Kind::Op ? 1 : 0);
    for (const auto& operand : at->operands) pending.emplace_back(operand.get(), below);
  }
  return {};
}

// Calls visit(node) for nodes that use `known` through `depth` steps, until it says that it is done, or there
// were too many. Returns whether it was done.
template <typename Visit>
bool visitUsers(Node& known, size_t depth, Visit&& visit) {
  std::vector<Node*> level{&known};
  size_t looked = 0;
  for (size_t step = 1; step <= depth; ++step) {
    std::vector<Node*> next;
    std::set<const Node*> seen;
    for (Node* node : level) {
      for (Node& user : node->users()) {
        if (++looked > Pattern::kMostBeside) break;
        if (!user.isCall() || !seen.insert(&user).second) continue;
        if (step < depth) {
          next.push_back(&user);
        } else if (visit(user)) {
          return true;
        }
      }
    }
    level = std::move(next);
  }
  return false;
}

}  // namespace

Matcher::Matcher(const ExportedProgram& program) {
  std::set<std::string_view> written;
  for (const OutputSpec& output : program.signature.outputs) {
    if (output.target && output.kind != OutputKind::UserInputMutation) written.insert(*output.target);
  }
  const SignatureIndex index(program.signature);
  for (const Node* node : program.graph().placeholders()) {
    const InputSpec* spec = index.findInput(node->name());
    if (spec == nullptr || !isStoredTensor(spec->kind) || !spec->target) continue;
    if (!written.contains(*spec->target)) constants_.insert(node);
  }
}

bool Matcher::matches(const Pattern& pattern, Node& root, Match& match, std::string* why) const {
  match.roots_ = {&root};
  if (!matchNode(*pattern.node_, root, match, why)) return false;
  for (const auto& beside : pattern.node_->besides) {
    if (!matchBeside(*beside, match, why)) return false;
  }
  if (match.roots_.size() == 1) return true;
  if (isWritten(root.graph())) {
    return why != nullptr && refuse(why, "its graph writes in place: roots keep their places");
  }
  // Nodes that the roots take along are those that patterns say something of the operands of.
  const std::set<const Node*> taken(match.taken_.begin(), match.taken_.end());
  const Node& first = firstRoot(match);
  for (const Node* node : match.taken_) {
    for (const Node& input : node->inputs()) {
      if (input.isBefore(first) || taken.contains(&input)) continue;
      return why != nullptr && refuse(why, fmt::format("'%{}', which '%{}' reads, stands behind '%{}'",
                                                       input.name(), node->name(), first.name()));
    }
  }
  return true;
}

bool Matcher::matchBeside(const PatternNode& pattern, Match& match, std::string* why) const {
  const KnownOperand known = findKnown(pattern, match);
  const bool found = known.node != nullptr && visitUsers(*known.node, known.depth, [&](Node& candidate) {
                       if (std::ranges::find(match.roots_, &candidate) != match.roots_.end()) return false;
                       Match extended = match;
                       extended.roots_.push_back(&candidate);
                       if (!matchNode(pattern, candidate, extended, nullptr)) return false;
                       match = std::move(extended);
                       return true;
                     });
  if (found) return true;
  return why != nullptr &&
         refuse(why, fmt::format("no call of {} beside '%{}' matches", fmt::join(pattern.operators, " or "),
                                 match.root().name()));
}

// What one root reads may be written before the next one reads it.
bool Matcher::isWritten(const Graph& graph) const {
  const auto [known, isNew] = isWritten_.try_emplace(&graph, false);
  if (!isNew) return known->second;
  for (const Node& node : graph.nodes()) {
    const OperatorInfo* const info = node.isCall() ? findOperator(node.target()) : nullptr;
    if ((info != nullptr && info->isMutable) || (node.isCall() && writesUndeclared(node)))
      known->second = true;
  }
  return known->second;
}

Node& Matcher::firstRoot(const Match& match) {
  return **std::ranges::min_element(match.roots_,
                                    [](const Node* a, const Node* b) { return a->isBefore(*b); });
}

bool Matcher::mayMatch(const PatternNode& pattern, const Node& root) {
  if (pattern.isCommutative) return true;
  for (size_t i = 0; i < pattern.operands.size(); ++i) {
    const PatternNode& operand = *pattern.operands[i];
    if (operand.kind != PatternNode::Kind::Op) continue;
    const Argument* argument = root.findArg(i);
    const Node* node = argument == nullptr ? nullptr : argument->findNode();
    if (node == nullptr || !isOneOf(*node, operand)) return false;
  }
  return true;
}

// Depth is that of the pattern, which its author wrote down.
bool Matcher::matchNode(const PatternNode& pattern, Node& node, Match& match, std::string* why) const {
  switch (pattern.kind) {
    case PatternNode::Kind::Op:
      if (!isOneOf(node, pattern)) {
        return why != nullptr && refuse(why, fmt::format("'%{}' calls {}, not {}", node.name(),
                                                         node.isCall() ? node.target().name() : "nothing",
                                                         fmt::join(pattern.operators, " or ")));
      }
      break;
    case PatternNode::Kind::Constant:
      if (!constants_.contains(&node)) {
        return why != nullptr && refuse(why, fmt::format("'%{}' is no constant of the program", node.name()));
      }
      break;
    case PatternNode::Kind::Any:
    case PatternNode::Kind::Optional:
    case PatternNode::Kind::Rest:
    case PatternNode::Kind::Literal:
      break;
  }
  if (pattern.isSingleUse && node.numUsers() != 1) {
    return why != nullptr &&
           refuse(why, fmt::format("'%{}' has {} users, not one", node.name(), node.numUsers()));
  }
  for (const PatternNode::Predicate& predicate : pattern.predicates) {
    if (predicate.holds(node)) continue;
    return why != nullptr &&
           refuse(why, fmt::format("'%{}' is refused because {}", node.name(), predicate.reason));
  }
  if (!bindNames(pattern, node, match, why)) return false;
  match.nodes_.push_back(&node);
  if (pattern.kind != PatternNode::Kind::Op) return true;
  match.taken_.push_back(&node);

  const Match before = pattern.isCommutative ? match : Match();
  if (matchOperands(pattern, node, false, match, why)) return true;
  if (!pattern.isCommutative) return false;
  match = before;
  if (why != nullptr) *why += "; or, the other way round, ";
  return matchOperands(pattern, node, true, match, why);
}

bool Matcher::matchOperands(const PatternNode& pattern, Node& call, bool swapped, Match& match,
                            std::string* why) const {
  const std::span<const Argument> args = call.args();
  for (size_t i = 0; i < pattern.operands.size(); ++i) {
    const size_t at = swapped && i < 2 ? 1 - i : i;
    const PatternNode& operand = *pattern.operands[i];
    if (operand.kind == PatternNode::Kind::Rest) {
      for (const std::string& name : operand.names) match.rests_.push_back({name, &call, i});
      return true;
    }
    if (matchOperand(operand, at < args.size() ? &args[at] : nullptr, match, why)) continue;
    if (why != nullptr) *why += fmt::format(" (operand {} of '%{}')", at, call.name());
    return false;
  }
  if (args.size() > pattern.operands.size()) {
    return why != nullptr && refuse(why, fmt::format("'%{}' has {} operands, not {}", call.name(),
                                                     args.size(), pattern.operands.size()));
  }
  if (!call.kwargs().empty()) {
    return why != nullptr && refuse(why, fmt::format("'%{}' has keyword arguments", call.name()));
  }
  return true;
}

bool Matcher::matchOperand(const PatternNode& pattern, const Argument* argument, Match& match,
                           std::string* why) const {
  const bool isAbsent = argument == nullptr || argument->isNone();
  if (pattern.kind == PatternNode::Kind::Optional) {
    if (isAbsent) return true;
    return matchOperand(*pattern.operands.front(), argument, match, why);
  }
  if (argument == nullptr) return why != nullptr && refuse(why, "there is no such operand");
  if (pattern.kind == PatternNode::Kind::Literal) {
    const Node& holder = pattern.literal->outputNode();
    if (*argument == holder.arg(0)) return true;
    return why != nullptr && refuse(why, "expected another literal: " + holder.text());
  }
  Node* node = argument->findNode();
  if (node == nullptr) {
    return why != nullptr && refuse(why, fmt::format("expected a node, found {}", name(argument->kind())));
  }
  return matchNode(pattern, *node, match, why);
}

bool Matcher::bindNames(const PatternNode& pattern, Node& node, Match& match, std::string* why) const {
  for (const std::string& name : pattern.names) {
    Node* known = match.find(name);
    if (known == nullptr) {
      match.named_.emplace_back(name, &node);
    } else if (known != &node) {
      return why != nullptr &&
             refuse(why, fmt::format("'{}' would be both '%{}' and '%{}'", name, known->name(), node.name()));
    }
  }
  return true;
}

}  // namespace edgefx::detail

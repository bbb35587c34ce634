#include <edgefx/ir/node_queries.h>
#include <edgefx/rewrite/pattern.h>

#include "rewrite/matcher.h"
#include "support/fail.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace edgefx {

using detail::fail;
using detail::PatternNode;

struct detail::PatternMaker {
  static Pattern make(std::shared_ptr<const PatternNode> node) { return Pattern(std::move(node)); }
  static const std::shared_ptr<const PatternNode>& nodeOf(const Pattern& pattern) { return pattern.node_; }
};

namespace {

std::shared_ptr<PatternNode> makePattern(PatternNode::Kind kind, std::string_view name = {}) {
  auto node = std::make_shared<PatternNode>();
  node->kind = kind;
  if (!name.empty()) node->names.emplace_back(name);
  return node;
}

// Of the pattern and its operands; those of rest() stand for no node.
void collectNames(const PatternNode& pattern, std::unordered_set<std::string_view>& names) {
  if (pattern.kind != PatternNode::Kind::Rest) names.insert(pattern.names.begin(), pattern.names.end());
  for (const auto& operand : pattern.operands) collectNames(*operand, names);
}

}  // namespace

template <typename Change>
Pattern Pattern::changed(Change&& change) const {
  auto copy = std::make_shared<PatternNode>(*node_);
  change(*copy);
  return Pattern(std::move(copy));
}

Pattern Pattern::as(std::string_view name) const {
  return changed([&](PatternNode& node) { node.names.emplace_back(name); });
}

Pattern Pattern::singleUse() const {
  return changed([](PatternNode& node) { node.isSingleUse = true; });
}

Pattern Pattern::where(std::function<bool(const Node&)> predicate, std::string_view reason) const {
  if (!predicate) fail<UsageError>("a pattern was given an empty predicate");
  return changed([&](PatternNode& node) {
    node.predicates.push_back({std::move(predicate), std::string(reason)});
  });
}

Pattern Pattern::dtype(Dtype dtype) const {
  return where(
      [dtype](const Node& node) {
        const TensorMeta* tensor = tensorMetaOf(node);
        return tensor != nullptr && tensor->dtype == dtype;
      },
      "it is no tensor of dtype " + std::string(fxText(dtype)));
}

Pattern Pattern::rank(size_t rank) const {
  return where(
      [rank](const Node& node) {
        const TensorMeta* tensor = tensorMetaOf(node);
        return tensor != nullptr && tensor->sizes.size() == rank;
      },
      "it is no tensor of " + std::to_string(rank) + " dimensions");
}

Pattern Pattern::commutative() const {
  if (node_->operands.size() < 2) fail<UsageError>("only a pattern with two operands can be commutative");
  return changed([](PatternNode& node) { node.isCommutative = true; });
}

Pattern Pattern::beside(const Pattern& other) const {
  if (other.node_->kind != PatternNode::Kind::Op) fail<UsageError>("only a call can stand beside a pattern");
  std::unordered_set<std::string_view> known;
  collectNames(*node_, known);
  for (const auto& beside : node_->besides) collectNames(*beside, known);
  std::unordered_set<std::string_view> names;
  for (const auto& operand : other.node_->operands) collectNames(*operand, names);
  if (std::ranges::none_of(names, [&](std::string_view name) { return known.contains(name); })) {
    fail<UsageError>("the pattern of '{}' shares no name with the one that it is to stand beside",
                     other.node_->operators.front());
  }
  return changed([&](PatternNode& node) {
    node.besides.push_back(other.node_);
    const auto& further = other.node_->besides;
    node.besides.insert(node.besides.end(), further.begin(), further.end());
  });
}

namespace patterns {

using detail::PatternMaker;

Pattern op(std::initializer_list<std::string_view> operators, std::initializer_list<Pattern> operands) {
  if (operators.size() == 0) fail<UsageError>("a pattern needs an operator");
  auto node = makePattern(PatternNode::Kind::Op);
  for (std::string_view name : operators) {
    if (name.empty()) fail<UsageError>("a pattern was given an operator without a name");
    const Target target(name);
    node->operators.emplace_back(target.name());
    if (target.kind() == TargetKind::Packet) {
      node->hasPackets = true;
    } else {
      node->targets.push_back(target.toAten());
      if (target.isOperator()) node->targets.push_back(target.toEdge());
    }
  }
  for (const Pattern& operand : operands) {
    if (!node->operands.empty() && node->operands.back()->kind == PatternNode::Kind::Rest) {
      fail<UsageError>("nothing can follow rest() in the pattern of '{}'", node->operators.front());
    }
    if (!PatternMaker::nodeOf(operand)->besides.empty()) {
      fail<UsageError>("an operand of the pattern of '{}' has several roots", node->operators.front());
    }
    node->operands.push_back(PatternMaker::nodeOf(operand));
  }
  return PatternMaker::make(std::move(node));
}

Pattern any(std::string_view name) {
  return PatternMaker::make(makePattern(PatternNode::Kind::Any, name));
}
Pattern constant(std::string_view name) {
  return PatternMaker::make(makePattern(PatternNode::Kind::Constant, name));
}
Pattern rest(std::string_view name) {
  return PatternMaker::make(makePattern(PatternNode::Kind::Rest, name));
}
Pattern optional(std::string_view name) {
  return optional(any(name));
}
Pattern optional(const Pattern& operand) {
  auto node = makePattern(PatternNode::Kind::Optional);
  if (!PatternMaker::nodeOf(operand)->besides.empty())
    fail<UsageError>("an optional operand has several roots");
  node->operands.push_back(PatternMaker::nodeOf(operand));
  return PatternMaker::make(std::move(node));
}
Pattern equals(Arg literal) {
  auto node = makePattern(PatternNode::Kind::Literal);
  auto holder = std::make_shared<Graph>();
  holder->output(literal);
  node->literal = std::move(holder);
  return PatternMaker::make(std::move(node));
}

}  // namespace patterns

Node* Match::find(std::string_view name) const {
  const auto found = std::ranges::find(named_, name, &std::pair<std::string_view, Node*>::first);
  return found == named_.end() ? nullptr : found->second;
}

Node& Match::operator[](std::string_view name) const {
  if (Node* node = find(name)) return *node;
  fail<UsageError>("the match at '%{}' has no node '{}'", root().name(), name);
}

const Argument* Match::findArg(std::string_view rest, size_t i) const {
  const auto found = std::ranges::find(rests_, rest, &Rest::name);
  if (found == rests_.end()) fail<UsageError>("the match at '%{}' has no operands '{}'", root().name(), rest);
  return found->call->findArg(found->first + i);
}

const Argument& Match::arg(std::string_view rest, size_t i) const {
  if (const Argument* found = findArg(rest, i)) return *found;
  fail<UsageError>("'{}' of the match at '%{}' has no operand {}", rest, root().name(), i);
}

size_t Match::numArgs(std::string_view rest) const {
  const auto found = std::ranges::find(rests_, rest, &Rest::name);
  if (found == rests_.end()) return 0;
  return found->call->args().size() - std::min(found->first, found->call->args().size());
}

Arg Match::argOr(std::string_view name, Arg otherwise) const {
  Node* node = find(name);
  return node == nullptr ? std::move(otherwise) : Arg(*node);
}

}  // namespace edgefx

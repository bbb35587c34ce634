#include "dialect/symbolic_sizes.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/shape_inference.h>

#include "ir/sym_builder.h"

#include <algorithm>

namespace edgefx::detail {
namespace {

constexpr int kMostSymbolicDepth = 32;
constexpr int64_t kMostSymbolicPower = 8;

std::string symbolicText(const SymExpr& expression) {
  std::string out;
  expression.appendPython(out);
  return out;
}

// How Python writes functions of two operands.
std::optional<Target> functionOf(SymFunction function) {
  switch (function) {
    case SymFunction::Add:
      return Target("operator.add");
    case SymFunction::Mul:
    case SymFunction::Pow:
      return Target("operator.mul");
    case SymFunction::FloorDiv:
      return Target("operator.floordiv");
    case SymFunction::Mod:
    case SymFunction::PythonMod:
      return Target("operator.mod");
    case SymFunction::Max:
      return Target("torch.sym_max");
    case SymFunction::Min:
      return Target("torch.sym_min");
    default:
      return std::nullopt;
  }
}

}  // namespace

void SymbolicSizes::note(Node& node) {
  const ValueMeta* const value = node.value();
  if (node.isPlaceholder()) lastPlaceholder_ = &node;
  if (value == nullptr) return;
  if (const auto* number = std::get_if<ValueMeta::SymIntValue>(&value->data)) {
    const Symbolic* const symbolic = number->value.symbolic();
    if (symbolic != nullptr) byText_.try_emplace(symbolicText(symbolic->expression), &node);
    return;
  }
  const TensorMeta* const tensor = node.isPlaceholder() ? value->tensor() : nullptr;
  if (tensor == nullptr) return;
  for (size_t i = 0; i < tensor->sizes.size(); ++i) {
    const Symbolic* const symbolic = tensor->sizes[i].symbolic();
    if (symbolic == nullptr) continue;
    dimensions_.try_emplace(symbolicText(symbolic->expression), &node, static_cast<int64_t>(i));
  }
}

bool SymbolicSizes::argument(const SymInt& size, Node& user, Arg& out) {
  if (!size.isSymbolic()) {
    out = Arg(size.value());
    return true;
  }
  Node* const node = find(size.symbolic()->expression, user, 0);
  if (node == nullptr) return false;
  out = Arg(*node);
  return true;
}

Node& SymbolicSizes::make(Target target, const Args& args, Node& user) {
  Node& node = graph_.call(target, args);
  node.setMeta(user.metaRef());
  node.setValue(inferValue(node));
  made_.push_back(&node);
  isMade_[node] = 1;
  return node;
}

Node* SymbolicSizes::find(const SymExpr& expression, Node& user, int depth) {
  const std::string text = symbolicText(expression);
  if (const auto known = byText_.find(text); known != byText_.end()) return known->second;
  Node* found = nullptr;
  if (const auto place = dimensions_.find(text); place != dimensions_.end()) {
    // Behind the placeholders, where everything can use it.
    Node& anchor = lastHoisted_ == nullptr ? *lastPlaceholder_ : *lastHoisted_;
    const InsertionGuard guard(graph_, after(anchor));
    found = &make("aten.sym_size.int", {*place->second.first, place->second.second}, user);
    lastHoisted_ = found;
  }
  if (found == nullptr) found = calculate(expression, user, depth);
  if (found == nullptr) {
    for (Node& input : user.inputs()) {
      const TensorMeta* const tensor = tensorMetaOf(input);
      for (size_t i = 0; tensor != nullptr && found == nullptr && i < tensor->sizes.size(); ++i) {
        const Symbolic* const symbolic = tensor->sizes[i].symbolic();
        if (symbolic == nullptr || !(symbolic->expression == expression)) continue;
        found = &make("aten.sym_size.int", {input, i}, user);
      }
    }
  }
  if (found != nullptr) byText_.emplace(text, found);
  return found;
}

std::optional<SymbolicSizes::Operand> SymbolicSizes::operand(const SymNode& part, Node& user, int depth) {
  if (part.kind() == SymKind::Integer) return Operand{nullptr, Arg(part.integerValue())};
  std::string text;
  appendSrepr(text, part);
  Node* const node = find(SymExpr::parse(text), user, depth + 1);
  if (node == nullptr) return std::nullopt;
  return Operand{node, Arg(*node)};
}

Node* SymbolicSizes::calculate(const SymExpr& expression, Node& user, int depth) {
  if (expression.kind() != SymKind::Call || depth > kMostSymbolicDepth) return nullptr;
  const std::optional<Target> target = functionOf(expression.function());
  const std::span<const SymNode> parts = expression.args();
  if (!target || parts.size() < 2) return nullptr;
  Node* result = nullptr;
  const auto combine = [&](const Operand& first, const Operand& next) {
    result = &make(*target, {result == nullptr ? first.arg : Arg(*result), next.arg}, user);
  };
  if (expression.function() == SymFunction::Pow) {
    const bool isPower = parts[1].kind() == SymKind::Integer && parts[1].integerValue() >= 2 &&
                         parts[1].integerValue() <= kMostSymbolicPower;
    const std::optional<Operand> base = isPower ? operand(parts[0], user, depth) : std::nullopt;
    for (int64_t i = 1; base && i < parts[1].integerValue(); ++i) combine(*base, *base);
    return result;
  }
  std::vector<Operand> operands;
  for (const SymNode& part : parts) {
    const std::optional<Operand> found = operand(part, user, depth);
    if (!found) return nullptr;
    operands.push_back(*found);
  }
  // Numbers first, then nodes in the order in which they stand, as Python multiplies sizes.
  const bool isCommutative =
      expression.function() == SymFunction::Mul || expression.function() == SymFunction::Add;
  if (isCommutative) {
    std::ranges::stable_sort(operands, [](const Operand& a, const Operand& b) {
      return b.node != nullptr && (a.node == nullptr || a.node->isBefore(*b.node));
    });
  }
  for (size_t i = 1; i < operands.size(); ++i) combine(operands[0], operands[i]);
  return result;
}

Node* SymbolicSizes::madeBefore(const Node& node) const {
  if (made_.empty() || !node.isCall() || node.value() == nullptr) return nullptr;
  const auto* const number = std::get_if<ValueMeta::SymIntValue>(&node.value()->data);
  const Symbolic* const symbolic = number == nullptr ? nullptr : number->value.symbolic();
  // Arithmetic only: what takes numbers from data is another number each time.
  if (symbolic == nullptr || node.target().kind() != TargetKind::Function) return nullptr;
  const auto known = byText_.find(symbolicText(symbolic->expression));
  if (known == byText_.end() || known->second == &node) return nullptr;
  return isMade_[*known->second] != 0 ? known->second : nullptr;
}

void SymbolicSizes::replaced(const Node& old, Node& made) {
  const auto* const number =
      old.value() == nullptr ? nullptr : std::get_if<ValueMeta::SymIntValue>(&old.value()->data);
  if (number == nullptr || !number->value.isSymbolic()) return;
  const auto known = byText_.find(symbolicText(number->value.symbolic()->expression));
  if (known != byText_.end() && known->second == &old) known->second = &made;
}

void SymbolicSizes::eraseUnused() {
  for (size_t i = made_.size(); i-- > 0;) {
    if (made_[i]->numUsers() == 0) graph_.erase(*made_[i]);
  }
}

}  // namespace edgefx::detail

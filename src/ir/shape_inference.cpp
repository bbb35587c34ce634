#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/shape_inference.h>

#include "ir/infer_with_kernel.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace edgefx {
namespace {

using detail::ShapeCall;
using detail::ShapeFunction;
using detail::ShapeUnknown;

const std::unordered_map<std::string_view, ShapeFunction>& shapeTable() {
  static const auto& table = *[] {
    auto* byName = new std::unordered_map<std::string_view, ShapeFunction>();
    for (const auto rules :
         {detail::pointwiseShapeRules(), detail::viewShapeRules(), detail::partShapeRules(),
          detail::joinShapeRules(), detail::matrixShapeRules(), detail::convolutionShapeRules(),
          detail::normShapeRules(), detail::reductionShapeRules(), detail::indexShapeRules(),
          detail::factoryShapeRules(), detail::copyShapeRules(), detail::symbolicShapeRules()}) {
      for (const detail::NamedShapeRule& rule : rules) byName->emplace(rule.name, rule.rule);
    }
    return byName;
  }();
  return table;
}

// "aten.add" of "aten.add.Tensor"; names of functions as they are.
std::string_view withoutOverload(Target target) {
  return target.isOperator() ? target.name().substr(0, target.ns().size() + 1 + target.op().size())
                             : target.name();
}

ShapeFunction findShapeFunction(Target target) {
  // Results given by the caller are laid out as the caller has them.
  const bool isOut = target.overload().ends_with("out") && target.isOperator();
  if (isOut) return nullptr;
  const auto found = shapeTable().find(withoutOverload(target));
  return found == shapeTable().end() ? nullptr : found->second;
}

// Those that change the sizes or strides of the tensor they work on.
bool changesItsShape(std::string_view op) {
  static constexpr std::array<std::string_view, 10> kNames = {
      "as_strided_", "resize_",   "resize_as_", "set_",       "squeeze_",
      "swapaxes_",   "swapdims_", "t_",         "transpose_", "unsqueeze_"};
  return std::ranges::find(kNames, op) != kNames.end();
}

bool worksInPlace(Target target) {
  const std::string_view op = target.op();
  return target.isOperator() && target.ns() == "aten" && op.size() > 1 && op.back() == '_' &&
         !op.ends_with("__") && !changesItsShape(op);
}

ValueRef elementAt(const Node& node) {
  const std::optional<int64_t> index = getitemIndex(node);
  if (!index) return {};
  const ValueMeta* const producer = node.arg(0).asNode().value();
  const ValueMeta::Sequence* const held = producer == nullptr ? nullptr : producer->sequence();
  if (held == nullptr) return {};
  const auto count = static_cast<int64_t>(held->elements.size());
  if (*index < -count || *index >= count) {
    ShapeCall(node).fail("expected an index into {} results, found {}", count, *index);
  }
  const ValueRef& element = held->elements[static_cast<size_t>(*index < 0 ? *index + count : *index)];
  const TensorMeta* const tensor = element ? element->tensor() : nullptr;
  if (tensor == nullptr || !tensor->requiresGrad) return element;
  TensorMeta plain = *tensor;
  plain.requiresGrad = false;
  return ValueMeta::of(std::move(plain));
}

ValueRef applyRules(const Node& node) {
  const Target target = node.target();
  const ShapeCall call(node);
  if (worksInPlace(target)) {
    TensorMeta self = call.tensor(0, "self");
    self.requiresGrad = false;
    return ValueMeta::of(std::move(self));
  }
  if (const ShapeFunction rule = findShapeFunction(target)) return rule(call);
  return target.isOperator() ? detail::inferWithKernel(node) : ValueRef();
}

}  // namespace

void ShapeRules::add(std::string_view name, Rule rule) {
  if (name.empty()) detail::fail<UsageError>("expected the name of an operator, found an empty one");
  if (!rule) detail::fail<UsageError>("expected a shape rule for '{}', found an empty one", name);
  rules_.insert_or_assign(std::string(name), std::move(rule));
}

const ShapeRules::Rule* ShapeRules::find(Target target) const {
  auto found = rules_.find(target.name());
  if (found == rules_.end()) found = rules_.find(withoutOverload(target));
  return found == rules_.end() ? nullptr : &found->second;
}

ValueRef inferValue(const Node& node, const ShapeRules* own) {
  const Target target = node.target();
  if (const ShapeRules::Rule* rule = own == nullptr ? nullptr : own->find(target)) return (*rule)(node);
  if (target.name() == "operator.getitem") return elementAt(node);
  try {
    return applyRules(node);
  } catch (const ShapeUnknown&) {
    return {};
  } catch (const ParseError&) {
    return {};  // an expression that would be too deep or too long
  } catch (UsageError& error) {
    // Of arithmetic that knows no node.
    Diagnostic known;
    known.node = node.name();
    known.nodeText = node.text();
    error.fillIn(known);
    throw;
  }
}

}  // namespace edgefx

#pragma once

#include "ir/shape_call.h"

#include <span>
#include <string_view>

namespace edgefx::detail {

// Describes the value of a call. Throws ShapeUnknown where it is not known.
using ShapeFunction = ValueRef (*)(const ShapeCall& call);

struct NamedShapeRule {
  std::string_view name;  // "aten.add" for all overloads, "aten.max.dim" for one, "operator.add"
  ShapeFunction rule;
};

// The rules of each file.
std::span<const NamedShapeRule> pointwiseShapeRules();
std::span<const NamedShapeRule> viewShapeRules();
std::span<const NamedShapeRule> partShapeRules();
std::span<const NamedShapeRule> joinShapeRules();
std::span<const NamedShapeRule> matrixShapeRules();
std::span<const NamedShapeRule> convolutionShapeRules();
std::span<const NamedShapeRule> normShapeRules();
std::span<const NamedShapeRule> reductionShapeRules();
std::span<const NamedShapeRule> indexShapeRules();
std::span<const NamedShapeRule> factoryShapeRules();
std::span<const NamedShapeRule> copyShapeRules();
std::span<const NamedShapeRule> symbolicShapeRules();

}  // namespace edgefx::detail

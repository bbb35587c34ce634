#include "quantization.h"

#include <edgefx/ir/node_queries.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cortex_m {

using edgefx::Argument;
using edgefx::ArgumentKind;
using edgefx::Dtype;
using edgefx::Node;

int32_t Quantization::quantize(double value) const {
  const float scaled = std::nearbyint(static_cast<float>(value) * static_cast<float>(1.0 / scale));
  return static_cast<int32_t>(std::clamp<double>(static_cast<double>(scaled) + zero, min, max));
}

std::optional<Quantization> int8Of(const Node& node) {
  const bool isQuantize = node.callsOperator(kQuantize);
  if (!isQuantize && !node.callsOperator(kDequantize)) return std::nullopt;
  if (node.args().size() != 6 || node.arg(1).kind() != ArgumentKind::Float) return std::nullopt;
  for (const size_t i : {2, 3, 4}) {
    if (!node.arg(i).isInt() || node.arg(i).asInt() < -128 || node.arg(i).asInt() > 127) return std::nullopt;
  }
  if (node.arg(5).kind() != ArgumentKind::Dtype || node.arg(5).asDtype() != Dtype::Int8) return std::nullopt;
  const edgefx::TensorMeta* real =
      isQuantize ? edgefx::tensorMetaOf(node.arg(0).findNode()) : edgefx::tensorMetaOf(node);
  if (real == nullptr || real->dtype != Dtype::Float32) return std::nullopt;
  const auto small = [&](size_t i) { return static_cast<int32_t>(node.arg(i).asInt()); };
  if (small(3) > small(4)) return std::nullopt;
  return Quantization{node.arg(1).asFloat(), small(2), small(3), small(4)};
}

std::optional<Output> outputOf(const Node* activation, const Quantization& y) {
  Output output{y.zero, y.min, y.max};
  if (activation == nullptr) return output;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::optional<double> low = 0, high = kNone;
  if (activation->callsOperator("aten.relu6.default")) {
    high = 6;
  } else if (!activation->callsOperator("aten.relu.default")) {
    const bool isClamp = activation->callsOperator("aten.clamp.default");
    low = numberOf(activation->findArg(1), isClamp ? -kNone : -1);
    high = numberOf(activation->findArg(2), isClamp ? kNone : 1);
  }
  if (!low || !high || !activation->kwargs().empty()) return std::nullopt;
  if (!(*low <= *high) || *low == kNone || *high == -kNone) return std::nullopt;
  // Rounding keeps order, so that clamping after it is the same.
  output.min = std::isinf(*low) ? output.min : y.quantize(*low);
  output.max = std::isinf(*high) ? output.max : y.quantize(*high);
  return output;
}

std::optional<Pair> pairOf(const Argument* argument, Pair otherwise) {
  if (argument == nullptr || argument->isNone()) return otherwise;
  if (argument->isInt()) return Pair{argument->asInt(), argument->asInt()};
  if (!argument->isSequence()) return std::nullopt;
  const auto items = argument->items();
  if (items.empty()) return otherwise;
  if (items.size() > 2 || !items.front().isInt() || !items.back().isInt()) return std::nullopt;
  return Pair{items.front().asInt(), items.back().asInt()};
}

std::optional<int64_t> integerOf(const Argument* argument, int64_t otherwise) {
  if (argument == nullptr || argument->isNone()) return otherwise;
  return argument->isInt() ? std::optional(argument->asInt()) : std::nullopt;
}

std::optional<bool> booleanOf(const Argument* argument, bool otherwise) {
  if (argument == nullptr || argument->isNone()) return otherwise;
  return argument->kind() == ArgumentKind::Bool ? std::optional(argument->asBool()) : std::nullopt;
}

std::optional<double> numberOf(const Argument* argument, double otherwise) {
  if (argument == nullptr || argument->isNone()) return otherwise;
  if (argument->isInt()) return static_cast<double>(argument->asInt());
  return argument->kind() == ArgumentKind::Float ? std::optional(argument->asFloat()) : std::nullopt;
}

}  // namespace cortex_m

#pragma once

#include <edgefx/ir/node.h>

#include "requantize.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace cortex_m {

inline constexpr const char* kQuantize = "quantized_decomposed.quantize_per_tensor.default";
inline constexpr const char* kDequantize = "quantized_decomposed.dequantize_per_tensor.default";
inline constexpr const char* kDequantizeChannels = "quantized_decomposed.dequantize_per_channel.default";

// How int8 numbers stand for real ones.
struct Quantization {
  double scale = 1;
  int32_t zero = 0;
  int32_t min = -128;
  int32_t max = 127;

  bool operator==(const Quantization&) const = default;
  // Nearest integer, clamped, with the rounding of the quantize operator: the scale's inverse is a float.
  int32_t quantize(double value) const;
};

// That of a quantize_per_tensor or dequantize_per_tensor node with int8 on one side and float32 on the other;
// nothing for other nodes, and for numbers that are no plain ones.
std::optional<Quantization> int8Of(const edgefx::Node& node);

// The clamp of an activation in its result's integers: relu, relu6, hardtanh, clamp. The whole range if there
// is no activation; nothing if its bounds are not plain numbers.
std::optional<Output> outputOf(const edgefx::Node* activation, const Quantization& y);

using Pair = std::array<int64_t, 2>;
// Two integers from [a, b], [a] or a; `otherwise` if the argument is absent or empty. Nothing for what is
// neither.
std::optional<Pair> pairOf(const edgefx::Argument* argument, Pair otherwise);
// A plain integer, truth value or number; `otherwise` if the argument is absent or None.
std::optional<int64_t> integerOf(const edgefx::Argument* argument, int64_t otherwise);
std::optional<bool> booleanOf(const edgefx::Argument* argument, bool otherwise);
std::optional<double> numberOf(const edgefx::Argument* argument, double otherwise);

}  // namespace cortex_m

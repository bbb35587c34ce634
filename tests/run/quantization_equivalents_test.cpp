#include "run/equivalent_testing.h"
#include "serialization/expect_error.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace edgefx::detail {
namespace {

using test::code;
using test::errorOf;
using test::expectClose;
using test::expectSame;
using test::floats;
using test::kNone;
using test::runEquivalent;
using test::scattered;
using test::tensorOf;
using test::Values;
using List = std::vector<int64_t>;

const int64_t kInt8 = code(at::kChar);

at::Tensor int8s(const List& sizes, const List& values) {
  return at::tensor(values).to(at::kChar).reshape(sizes);
}

std::string quantizationFault(std::string_view name, const Values& args) {
  return errorOf<std::runtime_error>([&] { runEquivalent(name, args); });
}

TEST(QuantizationEquivalents, PerTensorRoundsHalfToEvenAndClamps) {
  const at::Tensor x = floats({8}, {-100, -1.25f, -0.75f, 0.25f, 0.75f, 1.25f, 3, 100});
  const at::Tensor expected = int8s({8}, {-128, -1, -1, 1, 3, 3, 7, 127});
  const std::string_view name = "quantized_decomposed.quantize_per_tensor.default";
  expectSame(tensorOf(name, {x, 0.5, 1, -128, 127, kInt8}), expected);
  expectSame(tensorOf("cortex_m.quantize_per_tensor.default", {x, 0.5, 1, -128, 127, kInt8}), expected);
  expectSame(tensorOf(name, {x.to(at::kBFloat16), 0.5, 1, -128, 127, kInt8}), expected);
  expectSame(tensorOf(name, {x, 0.5, 1, 0, 3, code(at::kByte)}),
             at::tensor(List{0, 0, 0, 1, 3, 3, 3, 3}).to(at::kByte));
  expectSame(tensorOf("quantized_decomposed.quantize_per_tensor.tensor",
                      {x, at::full({1}, 0.5), at::full({1}, 1, at::kLong), -128, 127, kInt8}),
             expected);
  expectSame(tensorOf("quantized_decomposed.quantize_per_tensor.tensor2",
                      {x, at::full({1}, 0.5), at::full({}, 1, at::kLong), at::full({}, -128, at::kLong),
                       at::full({}, 127, at::kLong), kInt8}),
             expected);
}

TEST(QuantizationEquivalents, PerTensorRefusesOtherInputs) {
  const std::string_view name = "quantized_decomposed.quantize_per_tensor.default";
  const at::Tensor x = floats({2}, {1, 2});
  EXPECT_MENTIONS(quantizationFault(name, {x.to(at::kDouble), 0.5, 0, -128, 127, kInt8}),
                  "Expecting input to have dtype torch.float32, but got dtype: Double");
  EXPECT_MENTIONS(quantizationFault(name, {x, 0.5, 0, -129, 127, kInt8}),
                  "quant_min_lower_bound: -128 quant_min: -129");
  EXPECT_MENTIONS(quantizationFault(name, {x, 0.5, 0, 0, 256, code(at::kByte)}),
                  "quant_max_upper_bound: 255");
  EXPECT_MENTIONS(quantizationFault(name, {x, 0.5, 0, 0, 1, code(at::kFloat)}), "Unsupported dtype: Float");
  EXPECT_MENTIONS(quantizationFault("quantized_decomposed.quantize_per_tensor.tensor",
                                    {x, at::ones({2}), at::zeros({1}, at::kLong), 0, 1, kInt8}),
                  "Expecting scale tensor to be one element, but received : 2");
  EXPECT_MENTIONS(quantizationFault("quantized_decomposed.dequantize_per_tensor.default",
                                    {x, 0.5, 0, -128, 127, kInt8, kNone}),
                  "Expecting input to have dtype: Char, but got Float");
}

TEST(QuantizationEquivalents, PerTensorBack) {
  const at::Tensor x = int8s({4}, {-128, 0, 1, 127});
  const at::Tensor expected = floats({4}, {-64.5f, -0.5f, 0, 63});
  const std::string_view name = "quantized_decomposed.dequantize_per_tensor.default";
  expectSame(tensorOf(name, {x, 0.5, 1, -128, 127, kInt8, kNone}), expected);
  expectSame(tensorOf(name, {x, 0.5, 1, -128, 127, kInt8, code(at::kDouble)}), expected.to(at::kDouble));
  expectSame(tensorOf("cortex_m.dequantize_per_tensor.default", {x, 0.5, 1, -128, 127, kInt8}), expected);
  const at::Tensor scale = at::full({1}, 0.5, at::kDouble), zero = at::full({1}, 1, at::kLong);
  expectSame(tensorOf("quantized_decomposed.dequantize_per_tensor.tensor",
                      {x, scale, zero, -128, 127, kInt8, kNone}),
             expected);
  expectSame(
      tensorOf("quantized_decomposed.dequantize_per_tensor.tensor2",
               {x, scale, zero, at::full({}, -128, at::kLong), at::full({}, 127, at::kLong), kInt8, kNone}),
      expected);
}

TEST(QuantizationEquivalents, PerChannel) {
  const at::Tensor x = floats({2, 3}, {0.25f, 1, -3, 0.25f, 1, -300});
  const at::Tensor scales = floats({3}, {0.5, 1, 2}), zeros = at::tensor(List{0, 1, 2});
  const at::Tensor quantized =
      tensorOf("quantized_decomposed.quantize_per_channel.default", {x, scales, zeros, 1, -128, 127, kInt8});
  expectSame(quantized, int8s({2, 3}, {0, 2, 0, 0, 2, -128}));
  EXPECT_TRUE(quantized.is_contiguous());
  const std::string_view back = "quantized_decomposed.dequantize_per_channel.default";
  expectSame(tensorOf(back, {quantized, scales, zeros, 1, -128, 127, kInt8, kNone}),
             floats({2, 3}, {0, 1, -4, 0, 1, -260}));
  expectSame(tensorOf(back, {quantized, scales, kNone, 1, -128, 127, kInt8, code(at::kHalf)}),
             floats({2, 3}, {0, 2, 0, 0, 2, -256}).to(at::kHalf));
  expectSame(tensorOf("quantized_decomposed.fake_quant_per_channel.default",
                      {x, scales.to(at::kDouble), zeros, 1, -128, 127}),
             floats({2, 3}, {0, 1, -4, 0, 1, -260}));
  EXPECT_MENTIONS(quantizationFault(back, {quantized, scales, zeros, 2, -128, 127, kInt8, kNone}),
                  "Expecting axis to be < 2");
}

TEST(QuantizationEquivalents, ChosenParameters) {
  const at::Tensor x = floats({2, 2}, {-1, 0.5, 2, 3});
  const Values affine =
      runEquivalent("quantized_decomposed.choose_qparams.tensor", {x, -128, 127, 1e-7, kInt8});
  const double scale = static_cast<double>(4.0f / 255);
  expectSame(affine[0].toTensor(), at::full({1}, scale, at::kDouble));
  expectSame(affine[1].toTensor(), at::full({1}, -64, at::kLong));
  const Values symmetric =
      runEquivalent("quantized_decomposed.choose_qparams_symmetric.tensor", {x, -127, 127, 1e-7, kInt8});
  expectSame(symmetric[0].toTensor(), at::full({1}, static_cast<double>(3.0f / 127), at::kDouble));
  expectSame(symmetric[1].toTensor(), at::full({1}, 0, at::kLong));
  const Values tiny = runEquivalent("quantized_decomposed.choose_qparams.tensor",
                                    {at::zeros({3}), 0, 255, 0.25, code(at::kByte)});
  expectSame(tiny[0].toTensor(), at::full({1}, 0.25, at::kDouble));
  EXPECT_MENTIONS(quantizationFault("quantized_decomposed.choose_qparams.tensor", {x, 1, 127, 1e-7, kInt8}),
                  "must include 0");
  EXPECT_MENTIONS(quantizationFault("quantized_decomposed.choose_qparams.tensor", {x, 0, 0, 1e-7, kInt8}),
                  "strictly less");
}

TEST(QuantizationEquivalents, PerToken) {
  const at::Tensor x = floats({2, 2}, {1, -2, 0, 254});
  const Values symmetric = runEquivalent("quantized_decomposed.choose_qparams_per_token.default", {x, kInt8});
  expectSame(symmetric[0].toTensor(), floats({2, 1}, {2.0f / 127, 2}));
  expectSame(symmetric[1].toTensor(), floats({2, 1}, {0, 0}));
  expectSame(tensorOf("quantized_decomposed.quantize_per_token.default",
                      {x, symmetric[0], symmetric[1], -128, 127, kInt8}),
             int8s({2, 2}, {64, -127, 0, 127}));
  const Values affine =
      runEquivalent("quantized_decomposed.choose_qparams_per_token_asymmetric.default", {x, kInt8});
  expectClose(affine[0].toTensor(), floats({2, 1}, {3.0f / 255, 254.0f / 255}).to(at::kDouble), 1e-7);
  expectSame(affine[1].toTensor(), at::tensor(List{42, -128}).reshape({2, 1}));
  expectSame(tensorOf("quantized_decomposed.dequantize_per_token.default",
                      {int8s({2, 2}, {1, 2, 3, 4}), floats({2, 1}, {0.5, 2}),
                       at::tensor(List{1, 0}).reshape({2, 1}), -128, 127, kInt8, code(at::kDouble)}),
             floats({2, 2}, {0, 0.5, 6, 8}).to(at::kDouble));
  EXPECT_MENTIONS(quantizationFault("quantized_decomposed.quantize_per_token.default",
                                    {x, at::ones({3}), at::zeros({2}), -128, 127, kInt8}),
                  "num_tokens: 2 scales: 3");
}

TEST(QuantizationEquivalents, Groups) {
  const at::Tensor x = floats({1, 4}, {1, 2, 30, 40});
  const at::Tensor scales = floats({1, 2}, {1, 10}), zeros = at::tensor(List{0, 1}).reshape({1, 2});
  const at::Tensor quantized = tensorOf("quantized_decomposed.quantize_per_channel_group.default",
                                        {x, scales, zeros, -8, 7, kInt8, 2});
  expectSame(quantized, int8s({1, 4}, {1, 2, 4, 5}));
  const std::string_view back = "quantized_decomposed.dequantize_per_channel_group.default";
  expectSame(tensorOf(back, {quantized, scales, zeros, -8, 7, kInt8, 2, code(at::kFloat)}), x);
  // A single scale is that of the whole row.
  expectSame(tensorOf(back, {quantized, floats({1, 1}, {2}), kNone, -8, 7, kInt8, 256, code(at::kFloat)}),
             floats({1, 4}, {2, 4, 8, 10}));
  EXPECT_MENTIONS(quantizationFault(back, {quantized, scales, zeros, -8, 7, kInt8, 3, code(at::kFloat)}),
                  "group_size 3 does not divide 4 columns");
  EXPECT_MENTIONS(quantizationFault(back, {quantized, scales, zeros, -8, 7, kInt8, 0, code(at::kFloat)}),
                  "group_size 0");
}

TEST(QuantizationEquivalents, Embeddings) {
  const at::Tensor weight = int8s({2, 4}, {1, 2, 3, 4, -1, -2, -3, -4});
  const at::Tensor scales = floats({2, 2}, {1, 10, 2, 20}), rows = at::tensor(List{1, 0});
  expectSame(
      tensorOf("quantized_decomposed.embedding_byte.default", {weight, scales, kNone, -128, 127, rows}),
      floats({2, 4}, {-2, -4, -60, -80, 1, 2, 30, 40}));
  expectSame(
      tensorOf("quantized_decomposed.embedding_byte.dtype",
               {weight, floats({2}, {1, 2}), at::tensor(List{1, 0}), -128, 127, rows, code(at::kHalf)}),
      floats({2, 4}, {-2, -4, -6, -8, 0, 1, 2, 3}).to(at::kHalf));
  const at::Tensor packed = at::tensor(List{0x9a, 0x70}).to(at::kByte).reshape({1, 2});
  expectSame(tensorOf("quantized_decomposed.embedding_4bit.default",
                      {packed, floats({1}, {2}), kNone, -8, 7, at::tensor(List{0})}),
             floats({1, 4}, {2, 4, -2, -16}));
}

}  // namespace
}  // namespace edgefx::detail

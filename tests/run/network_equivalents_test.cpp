#include "run/equivalent_testing.h"
#include "serialization/expect_error.h"

#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

// Attention and normalisation, against loops in double precision.
namespace edgefx::detail {
namespace {

using test::code;
using test::errorOf;
using test::expectClose;
using test::expectSame;
using test::kNone;
using test::runEquivalent;
using test::scattered;
using test::tensorOf;
using test::Values;
using List = std::vector<int64_t>;

struct ReferenceAttention {
  at::Tensor result, logSums;
};

// Of tensors of the sizes (batch, heads, length, width). `mask` is added to the scores: [length, keys], or
// none. A row whose scores are all minus infinity gives zeros.
ReferenceAttention attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& mask, double scale) {
  const at::Tensor wq = q.to(at::kDouble), wk = k.to(at::kDouble), wv = v.to(at::kDouble);
  const int64_t keys = k.size(2), repeats = q.size(1) / k.size(1);
  at::Tensor result = at::zeros({q.size(0), q.size(1), q.size(2), v.size(3)}, at::kDouble);
  at::Tensor logSums = at::zeros({q.size(0), q.size(1), q.size(2)}, at::kDouble);
  for (int64_t b = 0; b < q.size(0); ++b) {
    for (int64_t h = 0; h < q.size(1); ++h) {
      for (int64_t i = 0; i < q.size(2); ++i) {
        std::vector<double> weights;
        double total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double score = scale * wq[b][h][i].mul(wk[b][h / repeats][j]).sum().item<double>();
          if (mask.defined()) score += mask[i][j].item<double>();
          weights.push_back(std::exp(score));
          total += weights.back();
        }
        logSums[b][h][i] = std::log(total);
        for (int64_t j = 0; total > 0 && j < keys; ++j) {
          const double weight = weights[static_cast<size_t>(j)] / total;
          result[b][h][i] += wv[b][h / repeats][j].mul(weight);
        }
      }
    }
  }
  return {result, logSums};
}

constexpr std::string_view kAttention = "aten.scaled_dot_product_attention.default";

TEST(AttentionEquivalents, WithoutMask) {
  const at::Tensor q = scattered({2, 3, 4, 5}), k = scattered({2, 3, 6, 5}, 2),
                   v = scattered({2, 3, 6, 7}, 3);
  const at::Tensor expected = attend(q, k, v, {}, 1 / std::sqrt(5.0)).result;
  const at::Tensor result = tensorOf(kAttention, {q, k, v, kNone, 0.0, false, kNone, false});
  EXPECT_EQ(result.scalar_type(), at::kFloat);
  expectClose(result, expected);
  expectClose(tensorOf(kAttention, {q, k, v, kNone, 0.0, false, -0.3, false}),
              attend(q, k, v, {}, -0.3).result);
  // Also for fewer dimensions.
  expectClose(tensorOf(kAttention, {q[0][1], k[0][1], v[0][1], kNone, 0.0, false, kNone, false}),
              expected[0][1]);
}

TEST(AttentionEquivalents, MasksOfBothKinds) {
  constexpr double kMinus = -std::numeric_limits<double>::infinity();
  const at::Tensor q = scattered({1, 2, 3, 4}), k = scattered({1, 2, 3, 4}, 2),
                   v = scattered({1, 2, 3, 4}, 3);
  const at::Tensor allowed = at::tensor(List{1, 0, 1, 0, 0, 0, 1, 1, 1}).reshape({3, 3}).to(at::kBool);
  const at::Tensor asNumbers = at::zeros({3, 3}, at::kDouble).masked_fill(allowed.logical_not(), kMinus);
  const at::Tensor expected = attend(q, k, v, asNumbers, 0.5).result;
  // The second row is masked out as a whole.
  EXPECT_TRUE(expected[0][0][1].eq(0).all().item<bool>());
  expectClose(tensorOf(kAttention, {q, k, v, allowed, 0.0, false, kNone, false}), expected);
  const at::Tensor bias = scattered({3, 3}, 5);
  expectClose(tensorOf(kAttention, {q, k, v, bias, 0.0, false, kNone, false}),
              attend(q, k, v, bias, 0.5).result);
  const at::Tensor causal =
      at::zeros({3, 3}, at::kDouble).masked_fill(at::ones({3, 3}, at::kBool).tril().logical_not(), kMinus);
  expectClose(tensorOf(kAttention, {q, k, v, kNone, 0.0, true, kNone, false}),
              attend(q, k, v, causal, 0.5).result);
  EXPECT_MENTIONS(errorOf<std::runtime_error>([&] {
                    runEquivalent(kAttention, {q, k, v, bias, 0.0, true, kNone, false});
                  }),
                  "attn_mask should not be set when is_causal=True");
}

TEST(AttentionEquivalents, HeadsMayBeShared) {
  const at::Tensor q = scattered({1, 4, 3, 2}), k = scattered({1, 2, 5, 2}, 2),
                   v = scattered({1, 2, 5, 2}, 3);
  expectClose(tensorOf(kAttention, {q, k, v, kNone, 0.0, false, 1.0, true}), attend(q, k, v, {}, 1.0).result);
  EXPECT_MENTIONS(errorOf<std::runtime_error>([&] {
                    runEquivalent(kAttention, {scattered({1, 3, 3, 2}), k, v, kNone, 0.0, false, 1.0, true});
                  }),
                  "must divide the number of heads in query");
}

TEST(AttentionEquivalents, TheResultLiesAsTheQuery) {
  const at::Tensor q = scattered({2, 3, 4, 5}).transpose(1, 2);
  const at::Tensor result = tensorOf(kAttention, {q, q, q, kNone, 0.0, false, kNone, false});
  EXPECT_EQ(result.strides(), q.strides());
  expectClose(result, attend(q, q, q, {}, 1 / std::sqrt(5.0)).result);
}

TEST(AttentionEquivalents, HalvesAreComputedInFloat) {
  const at::Tensor q = scattered({1, 2, 3, 4}).to(at::kHalf);
  const at::Tensor result = tensorOf(kAttention, {q, q, q, kNone, 0.0, false, kNone, false});
  EXPECT_EQ(result.scalar_type(), at::kHalf);
  expectClose(result, attend(q, q, q, {}, 0.5).result, 1e-3);
}

TEST(AttentionEquivalents, DropoutZeroesAndScales) {
  const at::Tensor q = scattered({1, 1, 8, 4}), eye = at::eye(8).reshape({1, 1, 8, 8});
  // With the identity for values the result is the weights.
  const at::Tensor k = scattered({1, 1, 8, 4}, 2);
  const at::Tensor plain = tensorOf(kAttention, {q, k, eye, kNone, 0.0, false, kNone, false});
  const at::Tensor dropped = tensorOf(kAttention, {q, k, eye, kNone, 0.5, false, kNone, false});
  const at::Tensor isZero = dropped.eq(0);
  EXPECT_GT(isZero.sum().item<int64_t>(), 0);
  EXPECT_LT(isZero.sum().item<int64_t>(), 64);
  expectClose(dropped, plain.mul(2).masked_fill(isZero, 0));
}

TEST(AttentionEquivalents, KernelsForms) {
  const at::Tensor q = scattered({2, 2, 3, 4}), k = scattered({2, 2, 5, 4}, 2),
                   v = scattered({2, 2, 5, 4}, 3);
  const ReferenceAttention expected = attend(q, k, v, {}, 0.5);
  const Values flash = runEquivalent("aten._scaled_dot_product_flash_attention_for_cpu.default",
                                     {q, k, v, 0.0, false, kNone, kNone});
  expectClose(flash[0].toTensor(), expected.result);
  expectClose(flash[1].toTensor(), expected.logSums);
  const Values math = runEquivalent("aten._scaled_dot_product_attention_math.default",
                                    {q, k, v, kNone, 0.0, false, kNone, kNone, false});
  expectClose(math[0].toTensor(), expected.result);
  expectClose(math[1].toTensor().sum(-1), at::ones({2, 2, 3}));
}

TEST(AttentionEquivalents, SafeSoftmaxGivesNoNan) {
  constexpr float kMinus = -std::numeric_limits<float>::infinity();
  const at::Tensor x = test::floats({2, 2}, {kMinus, kMinus, 0, kMinus});
  expectSame(tensorOf("aten._safe_softmax.default", {x, -1, kNone}), test::floats({2, 2}, {0, 0, 1, 0}));
  EXPECT_EQ(tensorOf("aten._safe_softmax.default", {x, 1, code(at::kDouble)}).scalar_type(), at::kDouble);
}

struct ReferenceNorm {
  at::Tensor result, mean, inverse, variance;
};

// Over all dimensions but 1.
ReferenceNorm normalise(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor mean = wide.mean(List{0, 2}),
                   variance = wide.var(at::OptionalIntArrayRef(List{0, 2}), false);
  const at::Tensor inverse = variance.add(eps).rsqrt();
  auto along = [](const at::Tensor& channel) { return channel.reshape({1, -1, 1}); };
  const at::Tensor result = wide.sub(along(mean)).mul(along(inverse)).mul(along(weight)).add(along(bias));
  return {result, mean, inverse, variance};
}

struct BatchNormInputs {
  at::Tensor x = scattered({4, 3, 5}), weight = scattered({3}, 2), bias = scattered({3}, 3);
  at::Tensor mean = scattered({3}, 4), variance = scattered({3}, 5).abs();
};

TEST(NormalizationEquivalents, TrainingBatchNormUpdatesRunningStatistics) {
  BatchNormInputs in;
  const ReferenceNorm expected = normalise(in.x, in.weight, in.bias, 1e-3);
  const at::Tensor newMean = in.mean.mul(0.9).add(expected.mean.mul(0.1));
  const at::Tensor newVariance = in.variance.mul(0.9).add(expected.variance.mul(20.0 / 19).mul(0.1));
  auto expectResults = [&](const Values& results) {
    expectClose(results[0].toTensor(), expected.result, 1e-4);
    expectClose(results[1].toTensor(), expected.mean);
    expectClose(results[2].toTensor(), expected.inverse);
  };
  const at::Tensor oldMean = in.mean.clone();
  const Values functional = runEquivalent("aten._native_batch_norm_legit_functional.default",
                                          {in.x, in.weight, in.bias, in.mean, in.variance, true, 0.1, 1e-3});
  expectResults(functional);
  expectClose(functional[3].toTensor(), newMean);
  expectClose(functional[4].toTensor(), newVariance);
  expectSame(in.mean, oldMean);
  const Values withReserve = runEquivalent("aten._batch_norm_with_update_functional.default",
                                           {in.x, in.weight, in.bias, in.mean, in.variance, 0.1, 1e-3});
  expectResults(withReserve);
  EXPECT_EQ(withReserve[3].toTensor().scalar_type(), at::kByte);
  expectClose(withReserve[4].toTensor(), newMean);
  expectResults(
      runEquivalent("aten._native_batch_norm_legit.no_stats", {in.x, in.weight, in.bias, true, 0.1, 1e-3}));
  expectResults(runEquivalent("aten._native_batch_norm_legit.default",
                              {in.x, in.weight, in.bias, in.mean, in.variance, true, 0.1, 1e-3}));
  expectClose(in.mean, newMean);
  expectClose(in.variance, newVariance);
}

TEST(NormalizationEquivalents, EvaluatingBatchNormLeavesThem) {
  const BatchNormInputs in;
  auto along = [](const at::Tensor& channel) { return channel.to(at::kDouble).reshape({1, -1, 1}); };
  const at::Tensor expected = in.x.to(at::kDouble)
                                  .sub(along(in.mean))
                                  .div(along(in.variance).add(1e-3).sqrt())
                                  .mul(along(in.weight))
                                  .add(along(in.bias));
  const Values results = runEquivalent("aten._native_batch_norm_legit_no_training.default",
                                       {in.x, in.weight, in.bias, in.mean, in.variance, 0.1, 1e-3});
  expectClose(results[0].toTensor(), expected, 1e-4);
  EXPECT_EQ(results[1].toTensor().numel(), 0);
  EXPECT_EQ(results[2].toTensor().numel(), 0);
  expectClose(runEquivalent("aten._batch_norm_no_update.default",
                            {in.x, in.weight, in.bias, in.mean, in.variance, 0.1, 1e-3})[0]
                  .toTensor(),
              expected, 1e-4);
  // Weight and bias may be missing.
  const Values bare = runEquivalent("aten._native_batch_norm_legit_no_training.default",
                                    {in.x, kNone, kNone, in.mean, in.variance, 0.1, 1e-3});
  expectClose(bare[0].toTensor(), expected.sub(along(in.bias)).div(along(in.weight)), 1e-4);
}

TEST(NormalizationEquivalents, RmsNorm) {
  const at::Tensor x = scattered({2, 3, 4}), weight = scattered({3, 4}, 2);
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor inverse = wide.pow(2).mean(List{1, 2}, true).add(1e-2).rsqrt();
  expectClose(tensorOf("aten.rms_norm.default", {x, List{3, 4}, weight, 1e-2}),
              wide.mul(inverse).mul(weight));
  expectClose(tensorOf("aten.rms_norm.default", {x, List{4}, kNone, kNone}),
              wide.mul(wide.pow(2).mean(List{2}, true).rsqrt()));
  const Values fused = runEquivalent("aten._fused_rms_norm.default", {x, List{3, 4}, weight, 1e-2});
  expectClose(fused[0].toTensor(), wide.mul(inverse).mul(weight));
  expectClose(fused[1].toTensor(), inverse);
  // Without eps it is that of the input's own type: 0 gives 0.
  const at::Tensor zeros = at::zeros({1, 4}, at::kHalf);
  expectSame(tensorOf("aten.rms_norm.default", {zeros, List{4}, kNone, kNone}), zeros);
  EXPECT_MENTIONS(errorOf<std::runtime_error>([&] {
                    runEquivalent("aten.rms_norm.default", {x, List{3}, kNone, kNone});
                  }),
                  "normalized_shape");
}

}  // namespace
}  // namespace edgefx::detail

#include "cortex_m_testing.h"

#include <algorithm>
#include <array>
#include <set>

namespace cortex_m {
namespace {

// One convolution with random window, groups, scales and activation, then a clamp with another scale, a
// sum, a product, a pool, a linear layer.
ExportedProgram randomNetwork(uint32_t seed, int& layers) {
  Islands islands(seed);
  const int64_t groups = std::array<int64_t, 4>{1, 1, 2, 4}[islands.below(4)], inputs = 4, outputs = 8;
  const int64_t height = 5 + islands.below(6), width = 5 + islands.below(6), kernel = 1 + islands.below(3);
  islands.store("conv", {outputs, inputs / groups, kernel, kernel});
  islands.store("fc", {3, outputs});
  Node& image = islands.builder().userInput("x", tensorValue({2, inputs, height, width}));
  const auto pair = [&](uint32_t least, uint32_t range) {
    return Arg{least + islands.below(range), least + islands.below(range)};
  };
  Node& x = islands.dequantize(islands.quantize(image));
  const bool hasBias = islands.below(2) == 0;
  Node& conv = islands.call("aten.conv2d.default", {x, islands.weight("conv", islands.below(2) == 0),
                                                    hasBias ? Arg(islands.stored("conv_b")) : Arg(nullptr),
                                                    pair(1, 2), pair(0, 2), pair(1, 2), groups});
  Node& y = islands.quantize(islands.activation(conv), 0.02, islands.zero());
  Node& other = islands.quantize(islands.call("aten.hardtanh.default", {islands.dequantize(y)}));
  Node& sum = islands.call("aten.add.Tensor", {islands.dequantize(y), islands.dequantize(other)});
  Node& s = islands.quantize(islands.activation(sum));
  Node& product = islands.call("aten.mul.Tensor", {islands.dequantize(s), islands.dequantize(y)});
  Node& p = islands.quantize(islands.activation(product));
  Node& mean = islands.call("aten.mean.dim", {islands.dequantize(p), {2, -1}, false});
  Node& m = islands.quantize(mean);
  Node& relu = islands.call("aten.relu.default", {islands.dequantize(m)});
  Node& r = islands.quantize(relu);
  Node& linear = islands.call(
      "aten.linear.default",
      {islands.dequantize(r), islands.weight("fc", islands.below(2) == 0), islands.stored("fc_b")});
  islands.builder().userOutput(islands.dequantize(islands.quantize(islands.activation(linear), 0.03, 5)));
  layers = 7;
  return islands.builder().finish();
}

TEST(CortexM, RandomIslandsAreWithinAStep) {
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    int layers = 0;
    const ExportedProgram before = randomNetwork(seed, layers);
    const Lowered after = lowered(before);
    EXPECT_EQ(after.report.layers.size(), static_cast<size_t>(layers));
    EXPECT_EQ(after.report.leftovers.size(), 2u) << ::testing::PrintToString(leftoverLines(after.report));
    for (const Report::Layer& layer : after.report.layers) seen.insert(layer.op);
    expectLayersWithinOneStep(before, after, randomInputs(before, seed));
  }
  EXPECT_EQ(seen.size(), 7u);
}

// quantize(pool(dequantize(quantize(x)))) of an image with 6 x 6 pixels.
ExportedProgram pooled(const char* target, const Args& more) {
  Islands islands(4);
  Node& x = islands.builder().userInput("x", tensorValue({2, 3, 6, 6}));
  Args args{islands.dequantize(islands.quantize(x, 0.03, 9))};
  args.insert(args.end(), more.begin(), more.end());
  islands.builder().userOutput(islands.dequantize(islands.quantize(islands.call(target, args), 0.02, -11)));
  return islands.builder().finish();
}

TEST(CortexM, PoolsOfAllKinds) {
  const char *average = "aten.avg_pool2d.default", *adaptive = "aten.adaptive_avg_pool2d.default";
  const auto check = [](const ExportedProgram& before, const std::string& reason) {
    const Lowered after = lowered(before);
    if (reason.empty()) {
      EXPECT_EQ(after.report.layers.size(), 1u);
      expectLayersWithinOneStep(before, after, randomInputs(before, 6));
      return;
    }
    EXPECT_TRUE(after.report.layers.empty());
    const auto isPool = [](const Report::Leftover& left) {
      return left.op.find("pool") != std::string::npos;
    };
    const auto pool = std::ranges::find_if(after.report.leftovers, isPool);
    ASSERT_NE(pool, after.report.leftovers.end());
    EXPECT_EQ(pool->reason, reason);
  };
  check(pooled(average, {{2, 3}}), "");
  check(pooled(average, {{3}, {2, 1}, {1, 0}}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {1, 1}, false, true, 5}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {1, 1}, false, false, 7}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {0, 0}, false, false}), "");
  check(pooled(adaptive, {{2, 3}}), "");
  check(pooled("aten.mean.dim", {{-1, -2}, true}), "");
  check(pooled(average, {{3, 3}, {2, 2}, {1, 1}, false, false}),
        "its windows at the border divide by less than those inside");
  check(pooled(average, {{4, 4}, {3, 3}, {0, 0}, true}), "it rounds the size of its result up");
  check(pooled(adaptive, {{4, 3}}), "its windows are not all of one size");
}

}  // namespace
}  // namespace cortex_m

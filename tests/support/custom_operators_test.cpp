#include "support/custom_operators.h"

#include "support/program_builder.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

using OperatorStack = std::vector<c10::IValue>;

OperatorStack callCustom(const char* name, OperatorStack stack) {
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack;
}

TEST(CustomOperators, ComputeWhatThePythonOnesDo) {
  registerCustomOperators();
  registerCustomOperators();
  const at::Tensor x = sampleTensor({2, 2});  // -1, -0.75, -0.5, -0.25
  EXPECT_TRUE(callCustom("mylib::scale_shift", {x, 4.0, 5.0})[0].toTensor().equal(x.mul(4).add(5)));
  const OperatorStack both = callCustom("mylib::two_outputs", {x, 0});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[0].toTensor().equal(x[0]));
  EXPECT_TRUE(both[1].toTensor().equal(x[1]));
  const at::Tensor sum = x.clone();
  EXPECT_TRUE(callCustom("mylib::accumulate_", {sum, x}).empty());
  EXPECT_TRUE(sum.equal(x.add(x)));
  const OperatorStack parts =
      callCustom("mylib::split_all", {x, std::vector<int64_t>{1, 1}, "even", c10::IValue()});
  ASSERT_EQ(parts[0].toTensorVector().size(), 2u);
  EXPECT_TRUE(parts[0].toTensorVector()[1].equal(x.narrow(0, 1, 1)));
  EXPECT_FALSE(parts[0].toTensorVector()[1].is_alias_of(x));
  EXPECT_TRUE(callCustom("fxlog::log", {x, "tag"}).empty());
  const at::Tensor copy = callCustom("fxlog::log_through", {x, "tag"})[0].toTensor();
  EXPECT_TRUE(copy.equal(x));
  EXPECT_FALSE(copy.is_alias_of(x));
}

}  // namespace
}  // namespace edgefx::test

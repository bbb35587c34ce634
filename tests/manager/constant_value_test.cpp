#include <edgefx/manager/constant_value.h>

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace edgefx::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(ConstantValue, EqualIfStructureAndValuesAre) {
  auto value = [](int64_t last) {
    return ConstantValue::dict({{"ids", ConstantValue::list({1, 2, last})},
                                {"pair", ConstantValue::tuple({true, "text"})},
                                {"rate", 0.5}});
  };
  EXPECT_EQ(value(3), value(3));
  EXPECT_FALSE(value(3) == value(4));
}

TEST(ConstantValue, KindsAreToldApart) {
  EXPECT_FALSE(ConstantValue(1) == ConstantValue(true));
  EXPECT_FALSE(ConstantValue(1) == ConstantValue(1.0));
  EXPECT_FALSE(ConstantValue("1") == ConstantValue(1));
  EXPECT_FALSE(ConstantValue::list({1}) == ConstantValue::tuple({1}));
  EXPECT_FALSE(ConstantValue::list({1}) == ConstantValue::list({1, 1}));
  EXPECT_FALSE(ConstantValue::dict({{"a", 1}}) == ConstantValue::dict({{"b", 1}}));
}

TEST(ConstantValue, TextIsNoBool) {
  EXPECT_TRUE(std::holds_alternative<std::string>(ConstantValue("no").data()));
  EXPECT_TRUE(std::holds_alternative<bool>(ConstantValue(false).data()));
}

TEST(ConstantValue, NanEqualsNan) {
  EXPECT_EQ(ConstantValue(kNan), ConstantValue(kNan));
  EXPECT_FALSE(ConstantValue(kNan) == ConstantValue(0.0));
}

TEST(ConstantValue, TensorsAreComparedByElement) {
  ConstantValue tensor(at::tensor({1.0, kNan, 3.0}));
  EXPECT_EQ(tensor, tensor);
  EXPECT_EQ(tensor, ConstantValue(at::tensor({1.0, kNan, 3.0})));
  EXPECT_FALSE(tensor == ConstantValue(at::tensor({1.0, 2.0, 3.0})));
  EXPECT_FALSE(tensor == ConstantValue(at::tensor({kNan, kNan, 3.0})));
  EXPECT_FALSE(tensor == ConstantValue(at::tensor({1.0, kNan, 3.0}, at::kFloat)));
  EXPECT_FALSE(tensor == ConstantValue(at::tensor({1.0, kNan, 3.0}).reshape({3, 1})));
}

TEST(ConstantValue, TensorsOfOtherKindsAreCompared) {
  EXPECT_EQ(ConstantValue(at::tensor({1, 2})), ConstantValue(at::tensor({1, 2})));
  EXPECT_FALSE(ConstantValue(at::tensor({1, 2})) == ConstantValue(at::tensor({1, 3})));
  EXPECT_EQ(ConstantValue(at::Tensor()), ConstantValue(at::Tensor()));
  EXPECT_FALSE(ConstantValue(at::Tensor()) == ConstantValue(at::tensor({1})));
  const at::Tensor strided = at::tensor({1.0, 2.0, 3.0, 4.0}).reshape({2, 2});
  EXPECT_EQ(ConstantValue(strided.t().contiguous()), ConstantValue(strided.t()));
}

TEST(ConstantValue, CopiesShareTensorsOnly) {
  ConstantValue::List items{1, ConstantValue(at::tensor({1.0}))};
  ConstantValue first = ConstantValue::list(items);
  ConstantValue second = first;
  const auto& a = std::get<ConstantValue::List>(first.data());
  const auto& b = std::get<ConstantValue::List>(second.data());
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(std::get<ConstantValue::TensorHandle>(a[1].data()),
            std::get<ConstantValue::TensorHandle>(b[1].data()));
}

}  // namespace
}  // namespace edgefx::test

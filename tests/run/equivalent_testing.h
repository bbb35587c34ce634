#pragma once

#include "run/operator_equivalents.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::test {

using Values = std::vector<c10::IValue>;

// Calls the equivalent with all its arguments and returns its results.
inline Values runEquivalent(std::string_view name, Values args) {
  const detail::OperatorEquivalent* equivalent = detail::findEquivalent(name);
  if (equivalent == nullptr) throw std::logic_error("no equivalent of " + std::string(name));
  if (equivalent->schema.arguments().size() != args.size())
    throw std::logic_error("wrong number of arguments");
  equivalent->run(args);
  EXPECT_EQ(args.size(), equivalent->schema.returns().size()) << name;
  return args;
}

inline at::Tensor tensorOf(std::string_view name, Values args) {
  return runEquivalent(name, std::move(args)).at(0).toTensor();
}

// A float tensor of these values.
inline at::Tensor floats(const std::vector<int64_t>& sizes, const std::vector<float>& values) {
  return at::tensor(values).reshape(sizes);
}

// Different values between -1 and 1 that follow no pattern.
inline at::Tensor scattered(const std::vector<int64_t>& sizes, double seed = 1) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return at::arange(count, at::kDouble)
      .mul(1.7)
      .add(seed)
      .mul(seed + 2.3)
      .sin()
      .to(at::kFloat)
      .reshape(sizes);
}

inline void expectClose(const at::Tensor& found, const at::Tensor& expected, double tolerance = 1e-5) {
  ASSERT_TRUE(found.sizes().equals(expected.sizes())) << found.sizes() << " for " << expected.sizes();
  const at::Tensor wide = found.to(at::kDouble), reference = expected.to(at::kDouble);
  EXPECT_TRUE(at::allclose(wide, reference, tolerance, tolerance, true)) << found << "\nfor " << expected;
}

// Same dtype, sizes and values.
inline void expectSame(const at::Tensor& found, const at::Tensor& expected) {
  EXPECT_EQ(found.scalar_type(), expected.scalar_type());
  ASSERT_TRUE(found.sizes().equals(expected.sizes())) << found.sizes() << " for " << expected.sizes();
  EXPECT_TRUE(found.equal(expected)) << found << "\nfor " << expected;
}

inline int64_t code(at::ScalarType type) {
  return static_cast<int64_t>(type);
}

inline const c10::IValue kNone{};

}  // namespace edgefx::test

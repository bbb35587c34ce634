#include "run/operator_equivalents.h"

#include <edgefx/support/error.h>

#include "run/equivalent_testing.h"
#include "serialization/expect_error.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <limits>
#include <set>
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

std::string equivalentFault(std::string_view name, const Values& args) {
  return errorOf<std::runtime_error>([&] { runEquivalent(name, args); });
}

TEST(OperatorEquivalents, SchemasParseAndFitTheFunctions) {
  std::set<std::string_view> seen;
  for (const std::string_view name : equivalentNames()) {
    SCOPED_TRACE(std::string(name));
    EXPECT_TRUE(seen.insert(name).second);
    const OperatorEquivalent* equivalent = findEquivalent(name);
    ASSERT_NE(equivalent, nullptr);
    EXPECT_EQ(findEquivalent(name), equivalent);
    std::string dotted = equivalent->schema.name();
    dotted.replace(dotted.find("::"), 2, ".");
    const std::string& overload = equivalent->schema.overload_name();
    EXPECT_EQ(dotted + "." + (overload.empty() ? "default" : overload), name);
    Values none;
    EXPECT_MENTIONS(errorOf<InternalError>([&] { equivalent->run(none); }),
                    "expected " + std::to_string(equivalent->schema.arguments().size()) + " arguments");
  }
  EXPECT_EQ(findEquivalent("aten.relu.default"), nullptr);
  EXPECT_EQ(findEquivalent("aten.squeeze"), nullptr);
}

TEST(OperatorEquivalents, OnlyThoseThatSaySoAreInTheDispatcherOfOldLibTorch) {
  if (TORCH_VERSION_MAJOR >= 2) GTEST_SKIP();
  for (const std::string_view name : equivalentNames()) {
    const OperatorEquivalent& equivalent = *findEquivalent(name);
    const auto op = c10::Dispatcher::singleton().findSchema(equivalent.schema.operator_name());
    if (equivalent.replacesOlder) {
      EXPECT_TRUE(op) << name;
    } else if (name != "aten.item.default" && name != "aten._local_scalar_dense.default") {
      EXPECT_FALSE(op) << name;
    }
  }
}

TEST(OperatorEquivalents, SqueezeDimsIsAView) {
  const at::Tensor x = scattered({1, 3, 1, 2, 1});
  const at::Tensor squeezed = tensorOf("aten.squeeze.dims", {x, List{0, 1, -1}});
  EXPECT_EQ(squeezed.sizes(), (List{3, 1, 2}));
  EXPECT_TRUE(squeezed.is_alias_of(x));
  EXPECT_EQ(tensorOf("aten.squeeze.dims", {x, List{}}).sizes(), x.sizes());
  EXPECT_EQ(tensorOf("aten.squeeze.dims", {at::ones({}), List{0}}).dim(), 0);
  EXPECT_FALSE(tensorOf("aten.squeeze_copy.dims", {x, List{0}}).is_alias_of(x));
  EXPECT_EQ(tensorOf("aten.squeeze_.dims", {x.clone(), List{0, 2}}).sizes(), (List{3, 2, 1}));
  EXPECT_MENTIONS(errorOf<UsageError>([&] {
                    tensorOf("aten.squeeze.dims", {x, List{0, -5}});
                  }),
                  "dim 0 appears multiple times");
}

TEST(OperatorEquivalents, LogicalReductionsOverSeveralDims) {
  const at::Tensor x = floats({2, 2, 2}, {0, 0, 0, 1, 1, 1, 1, 1});
  expectSame(tensorOf("aten.any.dims", {x, List{1, 2}, false}), at::ones({2}, at::kBool));
  expectSame(tensorOf("aten.all.dims", {x, List{0, 2}, false}), at::zeros({2}, at::kBool));
  expectSame(tensorOf("aten.all.dims", {x, List{-1, -2}, true}),
             at::tensor(List{0, 1}).to(at::kBool).reshape({2, 1, 1}));
  expectSame(tensorOf("aten.any.dims", {x, kNone, false}), at::ones({}, at::kBool));
  expectSame(tensorOf("aten.all.dims", {x, kNone, true}), at::zeros({1, 1, 1}, at::kBool));
  expectSame(tensorOf("aten.any.dims", {x, List{}, false}), x.to(at::kBool));
  expectSame(tensorOf("aten.any.dims", {x.mul(3).to(at::kByte), List{}, false}), x.to(at::kByte));
  expectSame(tensorOf("aten.any.dims", {x.to(at::kByte), List{0, 1, 2}, false}), at::ones({}, at::kByte));
}

TEST(OperatorEquivalents, ShapesAsNumbers) {
  const at::Tensor x = scattered({2, 3, 4}).permute({0, 2, 1}).narrow(1, 1, 2);
  auto number = [&](std::string_view name, Values args) { return runEquivalent(name, args).at(0).toInt(); };
  EXPECT_EQ(number("aten.sym_size.int", {x, -1}), 3);
  EXPECT_EQ(number("aten.sym_stride.int", {x, 2}), 4);
  EXPECT_EQ(number("aten.sym_numel.default", {x}), 12);
  EXPECT_EQ(number("aten.sym_storage_offset.default", {x}), 1);
  EXPECT_EQ(runEquivalent("aten.sym_size.default", {x}).at(0).toIntVector(), (List{2, 2, 3}));
  EXPECT_EQ(runEquivalent("aten.sym_stride.default", {x}).at(0).toIntVector(), (List{12, 1, 4}));
  auto isContiguous = [&](const at::Tensor& tensor, at::MemoryFormat format) {
    return runEquivalent("aten.sym_is_contiguous.default", {tensor, static_cast<int64_t>(format)})
        .at(0)
        .toBool();
  };
  EXPECT_FALSE(isContiguous(x, at::MemoryFormat::Contiguous));
  EXPECT_TRUE(isContiguous(at::empty({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                           at::MemoryFormat::ChannelsLast));
}

TEST(OperatorEquivalents, EmptyPermutedHasTheStridesOfItsLayout) {
  const at::Tensor x = tensorOf("aten.empty_permuted.default",
                                {List{2, 3, 4, 5}, List{0, 2, 3, 1}, code(at::kHalf), kNone, kNone, kNone});
  EXPECT_EQ(x.scalar_type(), at::kHalf);
  EXPECT_EQ(x.sizes(), (List{2, 3, 4, 5}));
  EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_MENTIONS(
      errorOf<UsageError>([&] {
        runEquivalent("aten.empty_permuted.default", {List{2, 3}, List{0, 0}, kNone, kNone, kNone, kNone});
      }),
      "Duplicate dim not allowed: 0");
}

TEST(OperatorEquivalents, NewerDtypesAreRefused) {
  const std::string error = errorOf<UnsupportedError>([&] {
    runEquivalent("prims.convert_element_type.default", {at::ones({2}), 99});
  });
  EXPECT_MENTIONS(error, "expected a dtype that this LibTorch has, found number 99");
}

TEST(OperatorEquivalents, AssertionsThrowTheirText) {
  runEquivalent("aten._assert_scalar.default", {true, "bad"});
  runEquivalent("aten._assert_scalar.default", {3, "bad"});
  EXPECT_EQ(equivalentFault("aten._assert_scalar.default", {false, "u0 >= 0 is false"}), "u0 >= 0 is false");
  runEquivalent("aten._assert_async.msg", {at::ones({1}), "bad"});
  EXPECT_EQ(equivalentFault("aten._assert_async.msg", {at::zeros({}, at::kBool), "x must be positive"}),
            "x must be positive");
  EXPECT_MENTIONS(equivalentFault("aten._assert_async.msg", {at::ones({2}), "bad"}), "ambiguous");
  const at::Tensor token = at::empty({0});
  EXPECT_FALSE(tensorOf("aten._functional_assert_scalar.default", {1, "bad", token}).is_same(token));
  EXPECT_EQ(equivalentFault("aten._functional_assert_async.msg", {at::zeros({}), "bad", token}), "bad");
}

TEST(OperatorEquivalents, TensorMetadataIsCompared) {
  const at::Tensor x = at::ones({2, 3});
  const std::string_view name = "aten._assert_tensor_metadata.default";
  const c10::IValue device{c10::Device(at::kCPU)}, strided{static_cast<int64_t>(at::kStrided)};
  runEquivalent(name, {x, List{2, 3}, List{3, 1}, code(at::kFloat), device, strided});
  runEquivalent(name, {x, kNone, kNone, kNone, kNone, kNone});
  EXPECT_EQ(equivalentFault(name, {x, kNone, kNone, code(at::kInt), kNone, kNone}),
            "Tensor dtype mismatch! Expected: Int, Got: Float");
  EXPECT_MENTIONS(equivalentFault(name, {x, List{3, 2}, kNone, kNone, kNone, kNone}),
                  "Tensor sizes mismatch!");
  EXPECT_MENTIONS(equivalentFault(name, {x, kNone, List{1, 2}, kNone, kNone, kNone}),
                  "Tensor strides mismatch!");
  EXPECT_MENTIONS(equivalentFault(name, {x, kNone, kNone, kNone, c10::Device("meta"), kNone}),
                  "device mismatch!");
  EXPECT_TRUE(findEquivalent(name)->replacesOlder);
}

TEST(OperatorEquivalents, RangesAreChecked) {
  runEquivalent("aten.sym_constrain_range.default", {5, 5, 5});
  runEquivalent("aten.sym_constrain_range.default", {-5, kNone, kNone});
  EXPECT_EQ(equivalentFault("aten.sym_constrain_range.default", {6, 0, 5}),
            "Invalid value range for 6 between [0, 5].");
  runEquivalent("aten.sym_constrain_range_for_size.default", {0, kNone, kNone});
  EXPECT_MENTIONS(equivalentFault("aten.sym_constrain_range_for_size.default", {-1, kNone, kNone}),
                  "Invalid value range");
  EXPECT_MENTIONS(equivalentFault("aten.sym_constrain_range_for_size.default", {1, kNone, 2}),
                  "greater than 2. got: 2");
  EXPECT_MENTIONS(equivalentFault("aten._functional_sym_constrain_range.default", {6, 0, 5, at::empty({0})}),
                  "Invalid value range");
}

TEST(OperatorEquivalents, VariancesTakeAnyCorrection) {
  const at::Tensor x = scattered({4, 5});
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor squares = wide.sub(wide.mean(List{0}, true)).pow(2).sum(List{0});
  auto expected = [&](double correction) { return squares.div(std::max(0.0, 4 - correction)); };
  for (const c10::IValue& correction : {c10::IValue(0), c10::IValue(1), c10::IValue(2), c10::IValue(1.5)}) {
    const double number = correction.toScalar().toDouble();
    expectClose(tensorOf("aten.var.correction", {x, List{0}, correction, false}), expected(number));
    expectClose(tensorOf("aten.std.correction", {x, List{-2}, correction, true}),
                expected(number).sqrt().reshape({1, 5}));
  }
  expectClose(tensorOf("aten.var.correction", {x, List{0}, kNone, false}), expected(1));
  EXPECT_TRUE(tensorOf("aten.var.correction", {x, List{0}, 4, false}).isinf().all().item().toBool());
  const Values both = runEquivalent("aten.var_mean.correction", {x, kNone, 3, false});
  expectClose(both[0].toTensor(), wide.sub(wide.mean()).pow(2).sum().div(17));
  expectClose(both[1].toTensor(), wide.mean());
  const Values deviation = runEquivalent("aten.std_mean.correction", {x, List{0, 1}, 0, true});
  expectClose(deviation[0].toTensor(), wide.sub(wide.mean()).pow(2).mean().sqrt().reshape({1, 1}));
  expectClose(deviation[1].toTensor(), wide.mean().reshape({1, 1}));
}

TEST(OperatorEquivalents, TensorOperators) {
  const at::Tensor x = floats({2, 3}, {0, 1, 0, 2, 0, 3});
  EXPECT_EQ(runEquivalent("aten.item.default", {at::tensor(List{7})}).at(0).toInt(), 7);
  EXPECT_TRUE(runEquivalent("aten._local_scalar_dense.default", {at::ones({}, at::kBool)}).at(0).toBool());
  expectSame(tensorOf("aten.nonzero_static.default", {x, 2, -1}),
             at::tensor(List{0, 1, 1, 0}).reshape({2, 2}));
  expectSame(tensorOf("aten.nonzero_static.default", {x, 4, -1}),
             at::tensor(List{0, 1, 1, 0, 1, 2, -1, -1}).reshape({4, 2}));
  expectSame(tensorOf("aten._prelu_kernel.default", {floats({3}, {-2, 0, 2}), floats({1}, {0.5})}),
             floats({3}, {-1, 0, 2}));
  const at::Tensor bytes = at::full({2, 200}, 127, at::kChar);
  expectSame(tensorOf("aten._int_mm.default", {bytes, bytes.t()}),
             at::full({2, 2}, 127 * 127 * 200, at::kInt));
  expectSame(tensorOf("aten._weight_int8pack_mm.default",
                      {floats({1, 2}, {1, 2}), at::tensor(List{3, 4, 5, 6}).to(at::kChar).reshape({2, 2}),
                       floats({2}, {0.5, 2})}),
             floats({1, 2}, {5.5, 34}));
  c10::List<c10::optional<at::Tensor>> indices;
  indices.push_back(c10::nullopt);
  indices.push_back(at::tensor(List{2, 0}));
  expectSame(tensorOf("aten._unsafe_index.Tensor", {x, indices}), floats({2, 2}, {0, 0, 3, 2}));
  expectSame(tensorOf("aten._unsafe_index_put.default", {x, indices, floats({1}, {9}), true}),
             floats({2, 3}, {9, 1, 9, 11, 0, 12}));
  c10::List<c10::optional<at::Tensor>> outside;
  outside.push_back(at::tensor(List{1, 40}));
  expectSame(tensorOf("aten._unsafe_masked_index.default",
                      {floats({3}, {5, 6, 7}), at::tensor(List{1, 0}).to(at::kBool), outside, -1}),
             floats({2}, {6, -1}));
  expectSame(tensorOf("prims.iota.default", {3, 10, -2, code(at::kInt), c10::Device(at::kCPU), false}),
             at::tensor(List{10, 8, 6}).to(at::kInt));
}

TEST(OperatorEquivalents, DimOrders) {
  const at::Tensor x = scattered({2, 3, 4, 5});
  const at::Tensor last = tensorOf("dim_order_ops._to_dim_order_copy.default",
                                   {x, code(at::kDouble), kNone, kNone, kNone, false, List{0, 2, 3, 1}});
  EXPECT_TRUE(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  expectSame(last, x.to(at::kDouble));
  auto clone = [&](const at::Tensor& tensor, const c10::IValue& order) {
    return tensorOf("dim_order_ops._clone_dim_order.default", {tensor, false, order});
  };
  EXPECT_EQ(clone(last, kNone).strides(), last.strides());
  EXPECT_EQ(clone(last, List{}).strides(), last.strides());
  EXPECT_TRUE(clone(last, List{0, 1, 2, 3}).is_contiguous());
  EXPECT_TRUE(
      clone(scattered({2, 3, 4, 5, 6}), List{0, 2, 3, 4, 1}).is_contiguous(at::MemoryFormat::ChannelsLast3d));
  const at::Tensor empty =
      tensorOf("dim_order_ops._empty_dim_order.default",
               {List{1, 2, 3, 4}, code(at::kByte), kNone, kNone, kNone, List{0, 2, 3, 1}});
  EXPECT_TRUE(empty.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(empty.scalar_type(), at::kByte);
  EXPECT_MENTIONS(equivalentFault("dim_order_ops._clone_dim_order.default", {x, false, List{0, 3, 2, 1}}),
                  "Failed to map a given dim_order: [0, 3, 2, 1]");
  EXPECT_MENTIONS(equivalentFault("dim_order_ops._clone_dim_order.default", {x, false, List{0, 1}}),
                  "a tensor of 4 dimensions");
}

}  // namespace
}  // namespace edgefx::detail

#include <edgefx/ir/shape_inference.h>

#include "ir/shape_testing.h"

#include <gtest/gtest.h>

namespace edgefx::test {
namespace {

SymInt sym(std::string_view text) {
  return symbolForTest(text);
}

TEST(ShapeInference, PointwiseBroadcastsAndPromotes) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 3});
  Node& row = bench.tensor({3}, Dtype::Int64);
  Node& half = bench.tensor({2, 3}, Dtype::Float16);
  Node& scalar = bench.tensor({}, Dtype::Float64);
  EXPECT_EQ(bench.infer("aten.add.Tensor", {x, row}), "float32[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer(Target::edge("aten.mul.Tensor"), {half, scalar}), "float16[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer("aten.mul.Tensor", {row, scalar}), "float64[3]{1}");
  EXPECT_EQ(bench.infer("aten.add.Tensor", {row, 2.5}), "float32[3]{1}");
  EXPECT_EQ(bench.infer("aten.add.Tensor", {half, 2.5}), "float16[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer("aten.div.Tensor", {row, row}), "float32[3]{1}");
  EXPECT_EQ(bench.infer("aten.div.Tensor_mode", {row, row}, {{"rounding_mode", "floor"}}), "int64[3]{1}");
  EXPECT_EQ(bench.infer("aten.gt.Scalar", {x, 0}), "bool[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer("aten.sigmoid.default", {row}), "float32[3]{1}");
  EXPECT_EQ(bench.infer("aten.where.self", {bench.tensor({2, 1}, Dtype::Bool), row, scalar}),
            "float64[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer("aten.relu_.default", {x}), "float32[2, 3]{3, 1}");
}

TEST(ShapeInference, NamesWhatDoesNotFit) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 3});
  Node& y = bench.tensor({4, 3});
  EXPECT_EQ(bench.fault("aten.add.Tensor", {x, y}),
            "call of 'aten.add.Tensor': expected shapes that broadcast, found [2, 3] and [4, 3]");
  EXPECT_EQ(bench.fault("aten.softmax.int", {x, 2}),
            "call of 'aten.softmax.int': expected a dimension from -2 to 1, found 2");
  for (const std::string& fault :
       {bench.fault("aten.mm.default", {x, y}), bench.fault("aten.view.default", {x, {5, -1}}),
        bench.fault("aten.permute.default", {x, {0, 0}}),
        bench.fault("aten.cat.default", {{x, bench.tensor({2, 2})}}),
        bench.fault("aten.linear.default", {x, bench.tensor({4, 5})}),
        bench.fault("aten.conv2d.default", {bench.tensor({1, 3, 4, 4}), bench.tensor({8, 2, 3, 3})}),
        bench.fault("aten.conv2d.default", {bench.tensor({1, 3, 4, 4}), bench.tensor({8, 3, 5, 5})}),
        bench.fault("aten.expand.default", {x, {2, 4}}), bench.fault("aten.select.int", {x, 0, 2}),
        bench.fault("aten.split_with_sizes.default", {x, {1, 1}, 1}),
        bench.fault("aten.sum.dim_IntList", {x, {0, -2}}),
        bench.fault("aten.mean.default", {bench.tensor({2}, Dtype::Int64)}),
        bench.fault("aten.topk.default", {x, 4}), bench.fault("aten.arange.start_step", {0, 5, 0}),
        bench.fault("aten.full.default", {{-1}, 0}),
        bench.fault("aten.view.default", {bench.strided({2, 3}, {1, 2}), {6}}),
        bench.fault("operator.floordiv", {bench.number(sym("s0")), 0})}) {
    EXPECT_EQ(fault.find("no fault"), std::string::npos) << fault;
  }
  EXPECT_THROW(inferValue(x), UsageError);  // no call
}

TEST(ShapeInference, NullWhereItIsNotKnown) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 3});
  Node& unknown = bench.graph.placeholder("unknown");
  EXPECT_EQ(bench.infer("aten.relu.default", {unknown}), "null");
  EXPECT_EQ(bench.infer("aten.add.Tensor", {x, unknown}), "null");
  EXPECT_EQ(bench.infer("mylib.relu.default", {x}), "null");
  EXPECT_EQ(bench.infer("aten.nonzero.default", {x}), "null");
  EXPECT_EQ(bench.infer("aten.item.default", {bench.tensor({})}), "null");
  EXPECT_EQ(bench.infer("aten.index.Tensor", {x, {bench.tensor({2}, Dtype::Bool)}}), "null");
  EXPECT_EQ(bench.infer("aten.relu.default", {}), "null");
  EXPECT_EQ(bench.infer("aten.relu.default", {3}), "null");
  EXPECT_EQ(bench.infer("higher_order.cond", {x}), "null");
  EXPECT_EQ(bench.infer("operator.getitem", {x, 0}), "null");
  EXPECT_EQ(bench.infer("aten.add.Tensor", {bench.tensor({sym("s0")}), bench.tensor({sym("s1")})}), "null");
}

TEST(ShapeInference, SymbolicSizes) {
  ShapeBench bench;
  const SymInt s0 = sym("s0"), s1 = sym("s1");
  Node& x = bench.tensor({s0, 4, 6});
  Node& n = bench.number(s0);
  EXPECT_EQ(bench.infer("aten.add.Tensor", {x, bench.tensor({4, 1})}), "float32[s0, 4, 6]{24, 6, 1}");
  EXPECT_EQ(bench.infer("aten.view.default", {x, {n, -1}}), "float32[s0, 24]{24, 1}");
  EXPECT_EQ(bench.infer("aten.view.default", {x, {-1, 6}}), "float32[4*s0, 6]{6, 1}");
  EXPECT_EQ(bench.infer("aten.permute.default", {x, {2, 0, 1}}), "float32[6, s0, 4]{1, 24, 6}");
  EXPECT_EQ(bench.infer("aten.cat.default", {{x, bench.tensor({s1, 4, 6})}}),
            "float32[s0 + s1, 4, 6]{24, 6, 1}");
  EXPECT_EQ(bench.infer("aten.slice.Tensor", {x, 0, 1}), "float32[s0 - 1, 4, 6]{24, 6, 1}");
  EXPECT_EQ(bench.infer("aten.expand.default", {bench.tensor({1, 4}), {n, -1}}), "float32[s0, 4]{0, 1}");
  EXPECT_EQ(bench.infer("aten.bmm.default", {x, bench.tensor({s0, 6, 5})}), "float32[s0, 4, 5]{20, 5, 1}");
  EXPECT_EQ(bench.infer("aten.zeros.default", {{n, 2}}), "float32[s0, 2]{2, 1}");
  EXPECT_EQ(bench.infer("aten.arange.default", {n}), "int64[s0]{1}");
  EXPECT_EQ(bench.infer("aten.max_pool2d.default", {bench.tensor({1, 2, s0, 8}), {2, 2}}),
            "float32[1, 2, (s0//2), 4]{8*((s0//2)), 4*((s0//2)), 4, 1}");
  EXPECT_EQ(bench.infer("aten.mean.dim", {x, {0}, true}), "float32[1, 4, 6]{24, 6, 1}");
  EXPECT_EQ(bench.infer("aten.sym_size.int", {x, 0}), "SymInt(s0)");
  EXPECT_EQ(bench.infer("operator.mul", {n, 4}), "SymInt(4*s0)");
  EXPECT_EQ(bench.infer("operator.add", {bench.number(s1), n}), "SymInt(s0 + s1)");
  EXPECT_EQ(bench.infer("operator.floordiv", {n, 2}), "SymInt((s0//2))");
  EXPECT_EQ(bench.infer("torch.sym_max", {bench.number(s1), n}), "SymInt(Max(s0, s1))");
  EXPECT_EQ(bench.infer("operator.ge", {n, 2}), "SymBool(s0 >= 2)");
  EXPECT_EQ(bench.infer("torch.sym_float", {n}), "SymFloat(ToFloat(s0))");
}

TEST(ShapeInference, SeveralResultsAndTheirElements) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 7});
  Node& split = bench.graph.call("aten.split.Tensor", {x, 3, 1});
  split.setValue(inferValue(split));
  EXPECT_EQ(describeForTest(split.value()),
            "[float32[2, 3]{7, 1}, float32[2, 3]{7, 1}, float32[2, 1]{7, 1}]");
  EXPECT_EQ(bench.infer("operator.getitem", {split, -1}), "float32[2, 1]{7, 1}");
  EXPECT_NE(bench.fault("operator.getitem", {split, 3}).find("3 results"), std::string::npos);
  EXPECT_EQ(bench.infer("aten.max.dim", {x, 1}), "(float32[2]{1}, int64[2]{1})");
  EXPECT_EQ(bench.infer("aten.native_layer_norm.default", {x, {7}, Arg(), Arg(), 1e-5}),
            "(float32[2, 7]{7, 1}, float32[2, 1]{1, 1}, float32[2, 1]{1, 1})");
  EXPECT_EQ(bench.infer(
                "aten._native_batch_norm_legit_no_training.default",
                {bench.tensor({2, 3, 4, 4}), Arg(), Arg(), bench.tensor({3}), bench.tensor({3}), 0.1, 1e-5}),
            "(float32[2, 3, 4, 4]{48, 16, 4, 1}, float32[0]{1}, float32[0]{1})");
  EXPECT_EQ(bench.infer("aten.cat.default", {split, 1}), "float32[2, 7]{7, 1}");
}

TEST(ShapeInference, QuantizedAndDimOrderOperators) {
  ShapeBench bench;
  Node& x = bench.strided({1, 2, 3, 4}, {24, 1, 8, 2});
  EXPECT_EQ(
      bench.infer("quantized_decomposed.quantize_per_tensor.default", {x, 0.5, 0, -128, 127, Dtype::Int8}),
      "int8[1, 2, 3, 4]{24, 1, 8, 2}");
  Node& q = bench.tensor({2, 3}, Dtype::Int8);
  Node& scales = bench.tensor({3});
  EXPECT_EQ(bench.infer("quantized_decomposed.dequantize_per_channel.default",
                        {q, scales, Arg(), 1, -128, 127, Dtype::Int8}, {{"out_dtype", Dtype::Float16}}),
            "float16[2, 3]{3, 1}");
  EXPECT_EQ(bench.infer("dim_order_ops._to_dim_order_copy.default", {x},
                        {{"dtype", Dtype::Float16}, {"dim_order", {0, 1, 2, 3}}}),
            "float16[1, 2, 3, 4]{24, 12, 4, 1}");
}

TEST(ShapeInference, OtherOperatorsAskLibTorch) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 3, 4});
  EXPECT_EQ(bench.infer("aten.aminmax.default", {x}, {{"dim", 1}}),
            "(float32[2, 4]{4, 1}, float32[2, 4]{4, 1})");
  EXPECT_EQ(bench.infer("aten.pixel_shuffle.default", {bench.tensor({1, 4, 2, 2}), 2}),
            "float32[1, 1, 4, 4]{16, 16, 4, 1}");
  EXPECT_EQ(bench.infer("aten.einsum.default", {"bij,bkj->bik", {x, x}}), "float32[2, 3, 3]{9, 3, 1}");
  EXPECT_EQ(bench.infer("aten.randint.default", {5, {60000, 60000}}), "int64[60000, 60000]{60000, 1}");
  EXPECT_NE(bench.fault("aten.glu.default", {x, 1}).find("LibTorch says: "), std::string::npos);
  // With a symbolic number it is not asked.
  EXPECT_EQ(bench.infer("aten.pixel_shuffle.default", {bench.tensor({sym("s0"), 4, 2, 2}), 2}), "null");
  // An operator whose parts have no kernel: null, however often.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(bench.infer("aten.cdist.default", {x, x}), "null");
}

TEST(ShapeInference, LargeInputsEndSoon) {
  ShapeBench bench;
  Node& x = bench.tensor({int64_t{1} << 40, 4});
  EXPECT_EQ(bench.infer("aten.unbind.int", {x}), "null");
  EXPECT_EQ(bench.infer("aten.split.Tensor", {x, 1}), "null");
  EXPECT_EQ(bench.infer("aten.tensor_split.sections", {x, int64_t{1} << 40}), "null");
  EXPECT_EQ(bench.infer("aten.unsafe_split.Tensor", {x, 1}), "null");
  EXPECT_EQ(bench.infer("aten.relu.default", {bench.tensor(std::vector<SymInt>(100000, SymInt(1)))}), "null");
  EXPECT_NE(
      bench.fault("aten.view.default", {bench.strided({int64_t{1} << 40, int64_t{1} << 40}, {0, 0}), {-1}})
          .find("64 bits"),
      std::string::npos);

  // n + n // 3 becomes twice as long with every step.
  Node* n = &bench.number(sym("s0"));
  int steps = 0;
  for (; steps < 60 && n->value() != nullptr; ++steps) {
    Node& third = bench.graph.call("operator.floordiv", {*n, 3});
    third.setValue(inferValue(third));
    n = &bench.graph.call("operator.add", {*n, third});
    n->setValue(inferValue(*n));
  }
  EXPECT_GT(steps, 4);
  EXPECT_LT(steps, 60);
}

TEST(ShapeInference, ViewsKeepTheirPlace) {
  ShapeBench bench;
  Node& x = bench.tensor({4, 6});
  const auto offsetOf = [&](Target target, const Args& args) {
    return inferValue(bench.graph.call(target, args))->tensor()->storageOffset;
  };
  EXPECT_EQ(offsetOf("aten.select.int", {x, 0, -1}), SymInt(18));
  EXPECT_EQ(offsetOf("aten.slice.Tensor", {x, 1, 2}), SymInt(2));
  EXPECT_EQ(offsetOf("aten.slice_copy.Tensor", {x, 1, 2}), SymInt(0));
  EXPECT_EQ(offsetOf("aten.diagonal.default", {x, -1}), SymInt(6));
}

TEST(ShapeInference, GradientsAreNotRequired) {
  ShapeBench bench;
  TensorMeta meta = contiguousTensor(Dtype::Float32, {2});
  meta.requiresGrad = true;
  Node& x = bench.input(ValueMeta::of(meta));
  Node& list = bench.input(ValueMeta::of(ValueMeta::Sequence{{x.valueRef()}, true}));
  for (Node* call :
       {&bench.graph.call("aten.alias.default", {x}), &bench.graph.call("aten.relu_.default", {x}),
        &bench.graph.call("aten.view.default", {x, {1, 2}}),
        &bench.graph.call("operator.getitem", {list, 0})}) {
    EXPECT_FALSE(inferValue(*call)->tensor()->requiresGrad) << call->text();
  }
}

TEST(ShapeInference, OwnRulesComeFirst) {
  ShapeBench bench;
  Node& x = bench.tensor({2, 3});
  ShapeRules rules;
  rules.add("mylib.halve", [](const Node& node) {
    TensorMeta half = *node.arg(0).asNode().value()->tensor();
    half.sizes[0] = SymInt(half.sizes[0].value() / 2);
    return ValueMeta::of(std::move(half));
  });
  rules.add("mylib.halve.none", [](const Node&) { return ValueRef(); });
  rules.add("aten.relu.default", [](const Node&) { return ValueMeta::of(ValueMeta::None()); });
  const auto infer = [&](Target target) {
    return describeForTest(inferValue(bench.graph.call(target, {x}), &rules).get());
  };
  EXPECT_EQ(infer("mylib.halve.default"), "float32[1, 3]{3, 1}");
  EXPECT_EQ(infer(Target::edge("mylib.halve.out")), "float32[1, 3]{3, 1}");
  EXPECT_EQ(infer("mylib.halve.none"), "null");
  EXPECT_EQ(infer("aten.relu.default"), "None");
  EXPECT_EQ(infer("aten.neg.default"), "float32[2, 3]{3, 1}");
  EXPECT_THROW(rules.add("", [](const Node&) { return ValueRef(); }), UsageError);
  EXPECT_THROW(rules.add("mylib.f", {}), UsageError);
}

TEST(DescribeSame, ComparesWhatMatters) {
  const auto tensor = [](std::vector<SymInt> sizes, std::vector<SymInt> strides) {
    TensorMeta meta = contiguousTensor(Dtype::Float32, std::move(sizes));
    meta.strides = std::move(strides);
    return ValueMeta::of(std::move(meta));
  };
  const ValueRef x = tensor({1, 2}, {2, 1});
  EXPECT_TRUE(describeSame(x.get(), tensor({1, 2}, {7, 1}).get()));
  EXPECT_FALSE(describeSame(x.get(), tensor({1, 2}, {2, 3}).get()));
  EXPECT_FALSE(describeSame(x.get(), tensor({2, 2}, {2, 1}).get()));
  EXPECT_TRUE(describeSame(x.get(), nullptr));
  EXPECT_TRUE(describeSame(tensor({sym("s0*(s0 + 1)")}, {1}).get(), tensor({sym("s0**2 + s0")}, {1}).get()));
  EXPECT_TRUE(
      describeSame(tensor({sym("2*(s0//2)")}, {1}).get(), tensor({sym("s0")}, {1}).get()));  // if s0 is even
  EXPECT_FALSE(describeSame(tensor({sym("s0 + 1")}, {1}).get(), tensor({sym("s0")}, {1}).get()));
  EXPECT_FALSE(describeSame(tensor({sym("s0")}, {1}).get(), tensor({8}, {1}).get()));
  const ValueRef pair = ValueMeta::of(ValueMeta::Sequence{{x, x}, false});
  EXPECT_FALSE(describeSame(pair.get(), x.get()));
  EXPECT_FALSE(describeSame(pair.get(), ValueMeta::of(ValueMeta::Sequence{{x}, false}).get()));
  EXPECT_TRUE(describeSame(pair.get(), ValueMeta::of(ValueMeta::Sequence{{x, {}}, false}).get()));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/ir/graph_module.h>
#include <edgefx/partition/operator_support.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

// x -> add (edge) -> mul -> output.
class OperatorSupportTest : public testing::Test {
 protected:
  OperatorSupportTest() { mul.setValue(test::tensorValue({2}, Dtype::Float16)); }

  Node& valued(Node& node, Dtype dtype) {
    node.setValue(test::tensorValue({2}, dtype));
    return node;
  }

  Graph graph;
  Node& x = valued(graph.placeholder("x"), Dtype::Int64);
  Node& add = valued(graph.call(Target::edge("aten.add.Tensor"), {x, 1}), Dtype::Float32);
  Node& mul = graph.call("aten.mul.Tensor", {add, x});
};

TEST_F(OperatorSupportTest, OperatorsOfEitherDialect) {
  const OperatorSupport adds = support::operators({"aten.add.Tensor"});
  EXPECT_TRUE(adds.supports(add));
  EXPECT_FALSE(adds.supports(mul));
  EXPECT_FALSE(adds.supports(x));
  EXPECT_TRUE(support::operators({Target::edge("aten.mul.Tensor")}).supports(mul));
  EXPECT_EQ(adds.whyNot(add), "");
  EXPECT_EQ(adds.whyNot(mul), "it calls aten.mul.Tensor");
  EXPECT_EQ(adds.whyNot(x), "it is a placeholder node");
}

TEST_F(OperatorSupportTest, ExactTargets) {
  EXPECT_FALSE(support::targets({"aten.add.Tensor"}).supports(add));
  EXPECT_TRUE(support::targets({Target::edge("aten.add.Tensor")}).supports(add));
  EXPECT_TRUE(support::targets({"aten.mul.Tensor"}).supports(mul));
  EXPECT_EQ(support::targets({"aten.add.Tensor"}).whyNot(add),
            "it calls executorch.exir.dialects.edge._ops.aten.add.Tensor");
}

TEST_F(OperatorSupportTest, AnyCall) {
  EXPECT_TRUE(support::anyCall().supports(add));
  EXPECT_FALSE(support::anyCall().supports(x));
  EXPECT_FALSE(support::anyCall().supports(graph.getAttr("branch")));
}

TEST_F(OperatorSupportTest, Dtypes) {
  EXPECT_TRUE(support::outputDtypes({Dtype::Float32}).supports(add));
  EXPECT_FALSE(support::outputDtypes({Dtype::Float32}).supports(mul));
  EXPECT_TRUE(support::inputDtypes({Dtype::Int64}).supports(add));
  EXPECT_FALSE(support::inputDtypes({Dtype::Float32}).supports(mul));
  EXPECT_TRUE(support::inputDtypes({Dtype::Float32, Dtype::Int64}).supports(mul));
  const OperatorSupport both = support::dtypes({Dtype::Float32, Dtype::Int64});
  EXPECT_TRUE(both.supports(add));
  EXPECT_EQ(both.whyNot(mul), "its result has dtype torch.float16, not torch.float32 or torch.int64");
  EXPECT_EQ(support::inputDtypes({Dtype::Float32}).whyNot(mul),
            "its input '%x' has dtype torch.int64, not torch.float32");
}

TEST_F(OperatorSupportTest, DtypesInsideSequences) {
  Node& split = graph.call("aten.split.Tensor", {x, 1});
  split.setValue(ValueMeta::of(ValueMeta::Sequence{
      {test::tensorValue({1}), ValueRef(), test::tensorValue({1}, Dtype::Float64)}, true}));
  EXPECT_FALSE(support::outputDtypes({Dtype::Float32}).supports(split));
  EXPECT_TRUE(support::outputDtypes({Dtype::Float32, Dtype::Float64}).supports(split));
}

TEST_F(OperatorSupportTest, UnknownValuesHaveNoSupportedDtype) {
  Node& relu = graph.call("aten.relu.default", {x});
  EXPECT_EQ(support::outputDtypes({Dtype::Float32}).whyNot(relu),
            "its result has no known value, not torch.float32");
  Node& number = graph.placeholder("n");
  number.setValue(ValueMeta::of(ValueMeta::SymIntValue{4}));
  Node& cond = graph.call("higher_order.cond", {number, graph.getAttr("branch")});
  EXPECT_TRUE(support::inputDtypes({Dtype::Float32}).supports(cond));
}

TEST_F(OperatorSupportTest, Combinations) {
  const OperatorSupport adds = support::operators({"aten.add.Tensor"}), calls = support::anyCall();
  const OperatorSupport few =
      support::predicate([](const Node& node) { return node.numUsers() > 0; }, "nothing uses it");
  EXPECT_TRUE((adds && few).supports(add));
  EXPECT_EQ((calls && few).whyNot(mul), "nothing uses it");
  EXPECT_EQ((adds && few).whyNot(mul), "it calls aten.mul.Tensor");
  EXPECT_TRUE((adds || calls).supports(mul));
  EXPECT_EQ((adds || few).whyNot(mul), "it calls aten.mul.Tensor, and nothing uses it");
  EXPECT_TRUE((!adds).supports(mul));
  EXPECT_EQ((!adds).whyNot(add), "it calls aten.add.Tensor");
  EXPECT_EQ((!(adds || calls)).whyNot(mul), "(it calls aten.add.Tensor or it calls a function)");
  EXPECT_EQ((!!adds).whyNot(mul), "not (it calls aten.add.Tensor)");
}

TEST_F(OperatorSupportTest, TheRightSideIsAskedOnlyIfNeeded) {
  int asked = 0;
  const OperatorSupport counts = support::predicate([&asked](const Node&) { return ++asked > 0; }, "");
  EXPECT_FALSE((support::operators({"aten.mm.default"}) && counts).supports(add));
  EXPECT_TRUE((support::anyCall() || counts).supports(add));
  EXPECT_EQ(asked, 0);
  EXPECT_TRUE((support::anyCall() && counts).supports(add));
  EXPECT_EQ(asked, 1);
}

TEST_F(OperatorSupportTest, WhatADelegateOwnsIsNotSupported) {
  Node& module = graph.getAttr("lowered_module_0");
  Node& call = graph.call("higher_order.executorch_call_delegate", {module, add});
  Node& first = graph.call("operator.getitem", {call, 0});
  Node& nested = graph.call("operator.getitem", {first, 0});
  const OperatorSupport free = support::notDelegated();
  for (const Node* node : {&module, &call, &first, &nested}) {
    EXPECT_EQ(free.whyNot(*node), "it belongs to a delegate") << node->name();
  }
  EXPECT_TRUE(free.supports(add));  // an argument of the delegate
  EXPECT_TRUE(free.supports(graph.getAttr("true_graph_0")));
  EXPECT_TRUE(free.supports(graph.call("operator.getitem", {mul, 0})));
}

}  // namespace
}  // namespace edgefx

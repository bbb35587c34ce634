#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/operators.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::Names;
using test::namesOf;

class DeadCode : public testing::Test {
 protected:
  Node& call(Target target, const Args& args, std::string_view name) {
    return graph.call(target, args, {}, name);
  }
  Names left() { return namesOf(graph.nodes()); }

  GraphModule top;
  Graph& graph = top.graph();
  Node& x = graph.placeholder("x");
};

TEST_F(DeadCode, Fx30ErasesChains) {
  Node& a = call("aten.relu.default", {x}, "a");
  call("aten.relu.default", {call("aten.neg.default", {a}, "b")}, "c");
  graph.placeholder("unused");
  graph.output(a);
  EXPECT_EQ(eliminateDeadCode(top), 2u);
  EXPECT_EQ(left(), (Names{"x", "a", "unused", "output"}));
  EXPECT_EQ(eliminateDeadCode(top), 0u);
  EXPECT_EQ(graph.uniqueName("b"), "b_1");
}

TEST_F(DeadCode, Fx31ImpureNodesStay) {
  for (const char* target : {"aten.add_.Tensor",
                             "aten.rand.default",
                             "aten.bernoulli.default",
                             "aten.dropout.default",
                             "aten.native_dropout.default",
                             "aten.multinomial.default",
                             "aten.normal_functional.default",
                             "aten.rand_like.default",
                             "aten._assert_async.msg",
                             "aten._assert_async.default",
                             "aten._assert_scalar.default",
                             "aten._assert_tensor_metadata.default",
                             "aten.sym_constrain_range.default",
                             "aten.sym_constrain_range_for_size.default",
                             "aten._native_batch_norm_legit.default",
                             "operator.setitem",
                             "aten.relu.out",
                             "torch._C._set_grad_enabled",
                             "higher_order.with_effects",
                             "builtins.print",
                             "profiler._record_function_enter_new.default"}) {
    call(target, {x}, "n");
    call(Target(target).toEdge(), {x}, "n");
  }
  const size_t before = graph.size();
  EXPECT_EQ(eliminateDeadCode(top), 0u) << fxText(graph);
  EXPECT_EQ(graph.size(), before);
}

TEST_F(DeadCode, Fx32PureNodesGo) {
  for (const char* target :
       {"operator.getitem", "operator.add", "higher_order.executorch_call_delegate", "aten.item.default",
        "aten.nonzero.default", "my.custom.default", "aten.batch_norm.default", "aten.select.int",
        "higher_order.auto_functionalized", "higher_order.auto_functionalized_v2", "higher_order.cond",
        "aten.add", "aten._native_batch_norm_legit_functional.default",
        "quantized_decomposed.quantize_per_tensor.default", "aten.sym_size.int",
        "aten.empty_permuted.default"}) {
    call(target, {x}, "n");
    call(Target(target).toEdge(), {x}, "n");
  }
  eliminateDeadCode(top);
  EXPECT_EQ(left(), Names{"x"});
}

TEST_F(DeadCode, CallsThatReturnNothingStay) {
  Node& log = call("fxlog.log.default", {x}, "log");
  log.setValue(ValueMeta::of(ValueMeta::None()));
  Node& pure = call("fxlog.other.default", {x}, "other");
  pure.setValue(ValueMeta::of(contiguousTensor(Dtype::Float32, {2})));
  EXPECT_EQ(eliminateDeadCode(top), 1u);
  EXPECT_EQ(left(), (Names{"x", "log"}));
}

TEST_F(DeadCode, WritesThroughViewsStay) {
  Node& m = graph.placeholder("m");
  Node& n = graph.placeholder("n");
  call("aten.add_.Tensor", {n, 1}, "add_");
  call("aten.tan.default", {x}, "tan");
  Node& select = call("aten.select.int", {m, 0, 0}, "select");
  call("aten.fill_.Scalar", {select, 5}, "fill_");
  Node& gt = call("aten.gt.Scalar", {call("aten.sum.default", {x}, "total"), 0}, "gt");
  call("aten._assert_async.msg", {gt, "x must be positive"}, "check");
  graph.output(Arg::tuple({call("aten.sin.default", {x}, "sin")}));
  EXPECT_EQ(eliminateDeadCode(top), 1u);
  EXPECT_EQ(left(),
            (Names{"x", "m", "n", "add_", "select", "fill_", "total", "gt", "check", "sin", "output"}));
}

// cond(x, yes, no), whose result is unused; `yes` holds a check.
class DeadBranch : public DeadCode {
 protected:
  DeadBranch() {
    auto yes = test::reluGraph();
    {
      InsertionGuard guard(*yes, before(*yes->back()));
      check = &yes->call("aten._assert_async.msg", {*yes->front(), "neg"});
      yes->call("aten.neg.default", {*yes->front()});
    }
    top.addChild("yes", std::make_unique<GraphModule>(std::move(yes)));
    top.addChild("no", std::make_unique<GraphModule>(test::reluGraph()));
    top.addChild("never_named", std::make_unique<GraphModule>(test::reluGraph()));
    cond =
        &call("higher_order.cond", {x, graph.getAttr("yes"), graph.getAttr("no"), Arg::tuple({x})}, "cond");
    call("operator.getitem", {*cond, 0}, "getitem");
    graph.output(x);
  }

  Node* check;
  Node* cond;
};

TEST_F(DeadBranch, EffectInABranchKeepsTheCall) {
  EXPECT_TRUE(isImpure(*cond, top));
  EXPECT_EQ(eliminateDeadCode(top), 2u);
  EXPECT_EQ(left(), (Names{"x", "yes", "no", "cond", "output"}));
  EXPECT_EQ(namesOf(top.findChild("yes")->graph().nodes()),
            (Names{"x", "relu_default", "_assert_async_msg", "output"}));
  EXPECT_EQ(top.children().size(), 3u);
}

TEST_F(DeadBranch, CallWithoutEffectsGoesWithItsBranches) {
  top.findChild("yes")->graph().erase(*check);
  EXPECT_FALSE(isImpure(*cond, top));
  EXPECT_EQ(eliminateDeadCode(top), 4u);
  EXPECT_EQ(left(), (Names{"x", "output"}));
  ASSERT_EQ(top.children().size(), 1u);
  EXPECT_EQ(top.children()[0].name, "never_named");
}

TEST_F(DeadBranch, SharedBranchStays) {
  top.findChild("yes")->graph().erase(*check);
  Node& shared = [&]() -> Node& {
    InsertionGuard guard(graph, before(graph.outputNode()));
    return call("higher_order.map_impl", {*graph.find("no"), Arg::list({x}), Arg::list({})}, "mapped");
  }();
  graph.outputNode().setArgs({shared});
  eliminateDeadCode(top);
  EXPECT_EQ(left(), (Names{"x", "no", "mapped", "output"}));
  EXPECT_EQ(top.findChild("yes"), nullptr);
  EXPECT_NE(top.findChild("no"), nullptr);
}

TEST_F(DeadBranch, EffectFarBelow) {
  top.findChild("yes")->graph().erase(*check);
  GraphModule* at = top.findChild("no");
  for (int i = 0; i < 3; ++i) {
    Graph& level = at->graph();
    InsertionGuard guard(level, before(level.outputNode()));
    level.call("higher_order.while_loop", {level.getAttr("body"), Arg::tuple({*level.front()})});
    at = &at->addChild("body", std::make_unique<GraphModule>(test::reluGraph()));
  }
  EXPECT_FALSE(isImpure(*cond, top));
  {
    InsertionGuard guard(at->graph(), before(at->graph().outputNode()));
    at->graph().call("aten.add_.Tensor", {*at->graph().front(), 1});
  }
  EXPECT_TRUE(isImpure(*cond, top));
  EXPECT_EQ(eliminateDeadCode(top), 2u);  // getitem and the neg in the other branch
}

TEST_F(DeadCode, CalledModules) {
  top.addChild("pure", std::make_unique<GraphModule>(test::reluGraph()));
  graph.callModule("pure", {x});
  graph.callModule("unknown", {x});
  EXPECT_EQ(eliminateDeadCode(top), 1u);
  EXPECT_EQ(left(), (Names{"x", "unknown"}));
  EXPECT_TRUE(top.children().empty());
}

TEST_F(DeadCode, OwnTestDecides) {
  graph.placeholder("y");
  call("aten.add_.Tensor", {x, 1}, "write");
  call("aten.relu.default", {x}, "keep_me");
  graph.output(x);
  EXPECT_EQ(
      eliminateDeadCode(top, [](const Node& node, const GraphModule&) { return node.name() == "keep_me"; }),
      1u);
  EXPECT_EQ(left(), (Names{"x", "y", "keep_me", "output"}));
}

// A chain of conds, each in a branch of the one before, and all dead but for one effect at the bottom:
// looking into the branches of each anew would be quadratic, and recursion would overflow the stack.
TEST_F(DeadCode, DeepNestingIsLinear) {
  constexpr int kDepth = 20000;
  GraphModule* at = &top;
  for (int i = 0; i < kDepth; ++i) {
    Graph& level = at->graph();
    Node& input = i == 0 ? x : level.placeholder("x");
    level.call("higher_order.cond", {input, level.getAttr("m"), level.getAttr("m"), Arg::tuple({input})});
    level.output(input);
    at = &at->addChild("m", std::make_unique<GraphModule>());
  }
  at->graph().call("aten.add_.Tensor", {at->graph().placeholder("x"), 1});
  EXPECT_EQ(eliminateDeadCode(top), 0u);
  at->graph().erase(*at->graph().back());
  EXPECT_EQ(eliminateDeadCode(top), 3u);
}

}  // namespace
}  // namespace edgefx

#include <edgefx/ir/target.h>
#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace edgefx {
namespace {

TEST(Target, Fx42TextsOfOperators) {
  const Target add = "aten.add.Tensor";
  EXPECT_EQ(add.kind(), TargetKind::Operator);
  EXPECT_EQ(add.name(), "aten.add.Tensor");
  EXPECT_EQ(add.ns(), "aten");
  EXPECT_EQ(add.op(), "add");
  EXPECT_EQ(add.overload(), "Tensor");
  EXPECT_EQ(add.fxText(), "torch.ops.aten.add.Tensor");
  EXPECT_EQ(add.fileText(), "torch.ops.aten.add.Tensor");
  EXPECT_EQ(add.argumentText(), "aten.add.Tensor");

  const Target edge = Target::edge("my.foo.default");
  EXPECT_EQ(edge.kind(), TargetKind::EdgeOperator);
  EXPECT_EQ(edge.fxText(), "executorch.exir.dialects.edge._ops.my.foo.default");
  EXPECT_EQ(edge.fileText(), "torch.ops.my.foo.default");
  EXPECT_EQ(edge.name(), "my.foo.default");
}

TEST(Target, Fx42TextsOfOthers) {
  EXPECT_EQ(Target("aten.add").kind(), TargetKind::Packet);
  EXPECT_EQ(Target("aten.add").fxText(), "torch.ops.aten.add");
  EXPECT_EQ(Target("higher_order.cond").kind(), TargetKind::HigherOrder);
  EXPECT_EQ(Target("higher_order.cond").fxText(), "torch.ops.higher_order.cond");
  EXPECT_EQ(Target("higher_order.cond").name(), "cond");
  for (const char* function : {"operator.getitem", "builtins.round", "math.floor", "torch.sym_max",
                               "torch.nn.functional.relu", "executorch.exir.memory.alloc"}) {
    EXPECT_EQ(Target(function).kind(), TargetKind::Function) << function;
    EXPECT_EQ(Target(function).fxText(), function);
    EXPECT_EQ(Target(function).name(), function);
    EXPECT_EQ(Target(function).op(), "");
  }
}

TEST(Target, SpellingsOfOneOperatorAreEqual) {
  EXPECT_EQ(Target("aten.add.Tensor"), Target("torch.ops.aten.add.Tensor"));
  EXPECT_EQ(Target("higher_order.cond"), Target("torch.ops.higher_order.cond"));
  EXPECT_EQ(Target("_operator.add"), Target("operator.add"));
  EXPECT_EQ(Target("executorch.exir.dialects.edge._ops.aten.add.Tensor"), Target::edge("aten.add.Tensor"));
  EXPECT_EQ(Target("operator.add").fileText(), "_operator.add");
  EXPECT_FALSE(Target("aten.add.Tensor") == Target("aten.add.Scalar"));
  EXPECT_FALSE(Target("aten.add.Tensor") == Target::edge("aten.add.Tensor"));
}

TEST(Target, ChangesDialect) {
  const Target aten = "aten.add.Tensor";
  EXPECT_EQ(aten.toEdge(), Target::edge("aten.add.Tensor"));
  EXPECT_EQ(aten.toEdge().toEdge(), aten.toEdge());
  EXPECT_EQ(aten.toEdge().toAten(), aten);
  EXPECT_EQ(aten.toAten(), aten);
  EXPECT_EQ(Target("operator.add").toEdge(), Target("operator.add"));
  EXPECT_EQ(Target("higher_order.cond").toEdge(), Target("higher_order.cond"));
}

TEST(Target, Fx19NameCandidates) {
  EXPECT_EQ(Target("aten.sum.dim_IntList").nameCandidate(), "sum.dim_int_list");
  EXPECT_EQ(Target("aten.add.Tensor").nameCandidate(), "add.tensor");
  EXPECT_EQ(Target::edge("aten.add.Tensor").nameCandidate(), "aten.add.tensor");
  EXPECT_EQ(Target::edge("dim_order_ops._clone_dim_order.default").nameCandidate(),
            "dim_order_ops._clone_dim_order.default");
  EXPECT_EQ(Target("higher_order.cond").nameCandidate(), "cond");
  EXPECT_EQ(Target("higher_order.executorch_call_delegate").nameCandidate(), "executorch_call_delegate");
  EXPECT_EQ(Target("operator.getitem").nameCandidate(), "getitem");
  // Only targets given as text lose their underscores: the name of a function keeps them.
  EXPECT_EQ(Target("aten.__and__.Tensor").nameCandidate(), "__and__.tensor");
}

TEST(Target, RefusesMalformedNames) {
  for (const char* name : {"", ".", "aten.", ".add", "aten..add", "aten.add Tensor", "aten.add\n", "a\x7f"}) {
    EXPECT_THROW(Target{name}, UsageError) << "'" << name << "'";
  }
  EXPECT_THROW(Target::edge("aten.add"), UsageError);
  EXPECT_THROW(Target::edge("operator.add"), UsageError);
}

TEST(Target, InternsFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<std::string_view>> texts(4);
  for (auto& mine : texts) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 500; ++i)
        mine.push_back(Target("threads.op" + std::to_string(i) + ".default").fxText());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : texts) {
    for (size_t i = 0; i < other.size(); ++i) EXPECT_EQ(other[i].data(), texts[0][i].data());
  }
}

}  // namespace
}  // namespace edgefx

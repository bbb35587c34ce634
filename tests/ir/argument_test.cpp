#include <edgefx/ir/argument.h>
#include <edgefx/ir/graph.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace edgefx {
namespace {

using test::messageOf;

static_assert(sizeof(Argument) == 16);

class ArgumentTest : public testing::Test {
 protected:
  const Argument& store(Arg value) { return graph.call("my.op.default", {std::move(value)}).arg(0); }

  Graph graph;
  Node& x = graph.placeholder("x");
};

TEST_F(ArgumentTest, Fx3HoldsEveryKind) {
  EXPECT_TRUE(store({}).isNone() || store({}).isSequence());
  EXPECT_TRUE(store(nullptr).isNone());
  EXPECT_TRUE(store(Arg()).isNone());
  EXPECT_TRUE(store(true).asBool());
  EXPECT_EQ(store(-3).asInt(), -3);
  EXPECT_EQ(store(uint8_t{200}).asInt(), 200);
  EXPECT_EQ(store(std::numeric_limits<int64_t>::min()).asInt(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(store(0.5f).asFloat(), 0.5);
  EXPECT_EQ(store(Arg::complex(1, -2)).asComplex(), std::pair(1.0, -2.0));
  EXPECT_EQ(store("text").asString(), "text");
  EXPECT_EQ(store(std::string(100, 'a')).asString(), std::string(100, 'a'));
  EXPECT_EQ(&store(x).asNode(), &x);
  EXPECT_EQ(store(x).findNode(), &x);
  EXPECT_EQ(store(1).findNode(), nullptr);
  EXPECT_EQ(store(Dtype::BFloat16).asDtype(), Dtype::BFloat16);
  EXPECT_EQ(store(Layout::Strided).asLayout(), Layout::Strided);
  EXPECT_EQ(store(MemoryFormat::Preserve).asMemoryFormat(), MemoryFormat::Preserve);
  EXPECT_EQ(store(Arg::device("cuda:1")).asDevice(), "cuda:1");
  EXPECT_EQ(store(Target("aten.add.Tensor")).asOperator(), Target("aten.add.Tensor"));
  EXPECT_EQ(store(Arg::ellipsis()).kind(), ArgumentKind::Ellipsis);
  EXPECT_EQ(store(Arg::slice(1, x, nullptr)).items().size(), 3u);
  EXPECT_EQ(store(Arg::range(0, 3, 1)).kind(), ArgumentKind::Range);
  EXPECT_EQ(store(SymExpr::parse("Symbol('s0', integer=True)")).kind(), ArgumentKind::Symbolic);
}

TEST_F(ArgumentTest, Fx3ListsAndTuplesDiffer) {
  const Argument& list = store({1, 2});
  const Argument& tuple = store(Arg::tuple({1, 2}));
  EXPECT_EQ(list.kind(), ArgumentKind::List);
  EXPECT_EQ(tuple.kind(), ArgumentKind::Tuple);
  EXPECT_TRUE(list.isSequence() && tuple.isSequence());
  EXPECT_FALSE(list == tuple);
  EXPECT_EQ(list.items()[1].asInt(), 2);
  EXPECT_EQ(store(Arg::list({})).items().size(), 0u);
}

TEST_F(ArgumentTest, DictKeepsInsertionOrder) {
  const Argument& dict = store(Arg::dict({{"b", 1}, {"a", {x}}}));
  std::string keys;
  for (auto [key, value] : dict.asDict()) keys += key;
  EXPECT_EQ(keys, "ba");
  ASSERT_NE(dict.asDict().find("a"), nullptr);
  EXPECT_EQ(&dict.asDict().find("a")->items()[0].asNode(), &x);
  EXPECT_EQ(dict.asDict().find("c"), nullptr);
}

TEST_F(ArgumentTest, WrongKindNamesBoth) {
  EXPECT_EQ(messageOf<UsageError>([&] { store(1).asString(); }),
            "expected an argument of kind string, found int");
  EXPECT_EQ(messageOf<UsageError>([&] { store("a").asInt(); }),
            "expected an argument of kind int, found string");
  EXPECT_EQ(messageOf<UsageError>([&] { store(Dtype::Int8).asLayout(); }),
            "expected an argument of kind layout, found dtype");
  EXPECT_THROW(store(1).asFloat(), UsageError);
  EXPECT_THROW(store(Arg::list({})).asDict(), UsageError);
}

TEST_F(ArgumentTest, EqualityComparesBitsOfFloats) {
  EXPECT_FALSE(store(0.0) == store(-0.0));
  EXPECT_TRUE(store(std::nan("")) == store(std::nan("")));
  EXPECT_FALSE(store(1) == store(1.0));
  EXPECT_TRUE(store({1, {x, "a"}, Arg::complex(1, 2)}) == store({1, {x, "a"}, Arg::complex(1, 2)}));
  EXPECT_FALSE(store({1, {x, "a"}}) == store({1, {x, "b"}}));
  EXPECT_TRUE(store(Arg::dict({{"k", 1}})) == store(Arg::dict({{"k", 1}})));
  EXPECT_FALSE(store(Arg::dict({{"k", 1}})) == store(Arg::dict({{"l", 1}})));
}

TEST_F(ArgumentTest, BorrowedArgumentsAreCopied) {
  Node& node = graph.call("my.op.default", {{x, "deep", Arg::complex(1, 2)}});
  Graph& same = graph;
  Node& copy = same.call("my.op.default", {node.arg(0), node.arg(0).items()[1]});
  node.setArgs({});
  EXPECT_EQ(copy.text(),
            "%op_default_1 : [num_users=0] = call_function[target=torch.ops.my.op.default](args = ([%x, "
            "deep, (1+2j)], deep), kwargs = {})");
}

TEST_F(ArgumentTest, RefusesEndlessNesting) {
  Arg nested = 1;
  for (int i = 0; i < 60; ++i) nested = Arg::list({std::move(nested)});
  EXPECT_EQ(store(nested).kind(), ArgumentKind::List);
  for (int i = 0; i < 10; ++i) nested = Arg::list({std::move(nested)});
  const size_t before = graph.size();
  EXPECT_THROW(store(nested), UsageError);
  EXPECT_EQ(graph.size(), before);
}

TEST_F(ArgumentTest, RefusesNullNodes) {
  Node* none = nullptr;
  EXPECT_EQ(messageOf<UsageError>([&] { store(none); }), "an argument is a null node");
}

}  // namespace
}  // namespace edgefx

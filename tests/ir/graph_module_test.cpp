#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/graph_module.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::messageOf;

std::unique_ptr<GraphModule> makeModule() {
  return std::make_unique<GraphModule>(test::reluGraph());
}

TEST(GraphModule, FindsChildrenByPath) {
  GraphModule top;
  GraphModule& a = top.addChild("a", makeModule());
  GraphModule& b = a.addChild("b", makeModule());
  EXPECT_EQ(top.findChild(""), &top);
  EXPECT_EQ(top.findChild("a"), &a);
  EXPECT_EQ(top.findChild("a.b"), &b);
  for (const char* path : {"b", "a.c", "a.b.c", ".", ".a", "a.", "a..b", "a.b."}) {
    EXPECT_EQ(top.findChild(path), nullptr) << path;
  }
}

TEST(GraphModule, RefusesBadChildren) {
  GraphModule top;
  top.addChild("a", makeModule());
  EXPECT_EQ(messageOf<UsageError>([&] { top.addChild("a", makeModule()); }),
            "there is a child module 'a' already");
  EXPECT_THROW(top.addChild("", makeModule()), UsageError);
  EXPECT_THROW(top.addChild("b.c", makeModule()), UsageError);
  EXPECT_THROW(top.addChild("b", nullptr), UsageError);
  EXPECT_THROW(GraphModule(std::unique_ptr<Graph>()), UsageError);
  EXPECT_EQ(top.children().size(), 1u);
}

TEST(GraphModule, RemovesChildren) {
  GraphModule top;
  for (const char* name : {"a", "b", "c", "d"}) top.addChild(name, makeModule());
  EXPECT_NE(top.removeChild("b"), nullptr);
  EXPECT_EQ(top.removeChild("b"), nullptr);
  EXPECT_EQ(top.findChild("b"), nullptr);
  EXPECT_EQ(top.removeChildrenIf([](const GraphModule::Child& child) { return child.name != "c"; }), 2u);
  ASSERT_EQ(top.children().size(), 1u);
  EXPECT_EQ(top.findChild("c"), top.children()[0].module.get());
  EXPECT_EQ(top.findChild("d"), nullptr);
  top.addChild("b", makeModule());
  EXPECT_NE(top.findChild("b"), nullptr);
}

TEST(GraphModule, Fx36CloneIsDeep) {
  GraphModule top(test::reluGraph());
  GraphModule& child = top.addChild("a", makeModule());
  top.metadata.emplace_back("k", "v");
  child.metadata.emplace_back("l", "w");
  std::unique_ptr<GraphModule> clone = top.clone();
  child.graph().placeholder("new");
  child.metadata.clear();
  top.addChild("b", makeModule());
  EXPECT_EQ(clone->children().size(), 1u);
  EXPECT_EQ(clone->metadata, top.metadata);
  EXPECT_EQ(clone->findChild("a")->metadata.size(), 1u);
  EXPECT_EQ(clone->findChild("a")->graph().find("new"), nullptr);
  EXPECT_NE(clone->findChild("a"), &child);
}

TEST(GraphModule, MovesWithItsChildren) {
  GraphModule top;
  top.addChild("a", makeModule());
  GraphModule moved = std::move(top);
  EXPECT_NE(moved.findChild("a"), nullptr);
  GraphModule target;
  target.addChild("old", makeModule());
  target = std::move(moved);
  EXPECT_EQ(target.findChild("old"), nullptr);
  EXPECT_NE(target.findChild("a"), nullptr);
}

TEST(GraphModule, NamedModulesListsEachOnce) {
  GraphModule top;
  GraphModule& a = top.addChild("a", makeModule());
  a.addChild("b", makeModule());
  top.addChild("unnamed", makeModule());
  top.graph().getAttr("a.b");
  top.graph().getAttr("a");
  top.graph().getAttr("a");
  top.graph().getAttr("missing");
  a.graph().callModule("b", {});
  std::vector<std::string> paths;
  for (const NestedModule& nested : namedModules(top)) paths.push_back(nested.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"", "a.b", "a"}));
}

TEST(GraphModule, TenThousandLevels) {
  constexpr int kDepth = 10000;
  GraphModule top;
  GraphModule* at = &top;
  for (int i = 0; i < kDepth; ++i) {
    GraphModule& child = at->addChild("m", makeModule());
    at->graph().getAttr("m");
    at = &child;
  }
  std::unique_ptr<GraphModule> clone = top.clone();
  size_t levels = 0;
  for (const GraphModule* level = clone.get(); level != nullptr; level = level->findChild("m")) ++levels;
  EXPECT_EQ(levels, kDepth + 1u);
  EXPECT_EQ(fxText(*clone).size(), fxText(top).size());
  EXPECT_FALSE(lint(*clone).empty());
  EXPECT_EQ(eliminateDeadCode(*clone), 1u);
  EXPECT_TRUE(clone->children().empty());
}

// Each level names the next one and the one behind it, so there are exponentially many ways to the last.
TEST(GraphModule, ManyWaysToOneModule) {
  GraphModule top(test::reluGraph());
  GraphModule* at = &top;
  for (int i = 0; i < 60; ++i) {
    InsertionGuard guard(at->graph(), after(*at->graph().front()));
    at->graph().getAttr("m");
    if (i < 59) at->graph().getAttr("m.m");
    at = &at->addChild("m", makeModule());
  }
  EXPECT_EQ(namedModules(top).size(), 61u);
  EXPECT_EQ(test::lintText(top), "");
  EXPECT_EQ(eliminateDeadCode(top), 2u);
}

TEST(GraphModule, ManyChildren) {
  constexpr int kChildren = 20000;
  const test::CpuTimer timer;
  GraphModule top;
  Arg::List branches;
  for (int i = 0; i < kChildren; ++i) {
    const std::string name = "branch_" + std::to_string(i);
    top.addChild(name, makeModule());
    branches.emplace_back(top.graph().getAttr(name));
  }
  top.graph().output(Arg::tuple({top.graph().call("higher_order.cond", {Arg::list(std::move(branches))})}));
  EXPECT_EQ(namedModules(top).size(), kChildren + 1u);
  EXPECT_EQ(test::lintText(*top.clone()), "");
  top.graph().outputNode().setArgs({nullptr});
  EXPECT_EQ(eliminateDeadCode(top), kChildren + 1u);
  EXPECT_EQ(top.children().size(), 0u);
  EXPECT_LT(timer.seconds(), 10);
}

}  // namespace
}  // namespace edgefx

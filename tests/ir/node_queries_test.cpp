#include <edgefx/ir/node_queries.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::Names;
using test::namesOf;

TEST(NodeQueries, Getitem) {
  Graph graph;
  Node& x = graph.placeholder("x");
  Node& split = graph.call("aten.split.Tensor", {x, 1});
  Node& first = graph.call("operator.getitem", {split, 0}, {}, "first");
  Node& last = graph.call("operator.getitem", {split, -1}, {}, "last");
  Node& byNode = graph.call("operator.getitem", {split, x}, {}, "by_node");
  Node& short_ = graph.call("operator.getitem", {split}, {}, "too_short");
  Node& other = graph.call("aten.stack.default", {{split}}, {}, "other");
  Node& asIndex = graph.call("operator.getitem", {x, split}, {}, "as_index");
  EXPECT_EQ(getitemIndex(first), 0);
  EXPECT_EQ(getitemIndex(last), -1);
  for (const Node* node : {&byNode, &short_, &other, &asIndex, &x, &split}) {
    EXPECT_EQ(getitemIndex(*node), std::nullopt) << node->name();
  }
  EXPECT_EQ(namesOf(getitemUsers(split)), (Names{"first", "last"}));
}

TEST(NodeQueries, AFaultTellsNodeInputsAndSourceLine) {
  Graph graph;
  Node& x = graph.placeholder("x");
  x.setValue(ValueMeta::of(contiguousTensor(Dtype::Float32, {2, 3})));
  Node& unknown = graph.placeholder("unknown");
  Node& add = graph.call("aten.add.Tensor", {x, unknown}, {}, "add");
  EXPECT_EQ(nodeFault(add, "no kernel").render(),
            "edgefx: node '%add': no kernel\n    " + add.text() + "\n  note: inputs: %x float32[2, 3]");

  NodeMeta meta;
  meta.set("stack_trace", "  File \"model.py\", line 12, in forward\n    return x + y");
  add.setMeta(MetaRef::make(meta));
  const Diagnostic fault = nodeFault(add, "no kernel");
  EXPECT_EQ(fault.notes, (std::vector<std::string>{"inputs: %x float32[2, 3]", "at model.py:12 in forward"}));
  EXPECT_TRUE(nodeFault(x, "no kernel").notes.empty());
}

TEST(NodeQueries, Branches) {
  GraphModule top;
  Graph& graph = top.graph();
  Node& x = graph.placeholder("x");
  GraphModule& no = top.addChild("no", std::make_unique<GraphModule>(test::reluGraph()));
  GraphModule& yes = top.addChild("yes", std::make_unique<GraphModule>(test::reluGraph()));
  Node& yesNode = graph.getAttr("yes");
  Node& noNode = graph.getAttr("no");
  Node& again = graph.getAttr("yes");
  Node& missing = graph.getAttr("missing");
  Node& cond = graph.call("higher_order.cond", {x, yesNode, noNode, {again, missing, x}});
  EXPECT_EQ(branchesOf(cond, top), (std::vector<GraphModule*>{&yes, &no}));
  EXPECT_EQ(branchesOf(std::as_const(cond), std::as_const(top)),
            (std::vector<const GraphModule*>{&yes, &no}));
  EXPECT_TRUE(branchesOf(graph.call("aten.relu.default", {x}), top).empty());
}

}  // namespace
}  // namespace edgefx

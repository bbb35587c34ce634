#include <edgefx/ir/fx_text.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace edgefx {
namespace {

class FxText : public testing::Test {
 protected:
  std::string of(Arg value) {
    std::string out;
    appendFxText(out, graph.call("my.op.default", {std::move(value)}).arg(0));
    return out;
  }
  std::string returned(Arg value) {
    Node& node = graph.output(std::move(value));
    std::string out = node.text();
    graph.erase(node);
    return out;
  }

  Graph graph;
  Node& x = graph.placeholder("x");
  Node& y = graph.placeholder("y");
};

TEST_F(FxText, Fx40Graph) {
  EXPECT_EQ(fxText(Graph()), "graph():");
  EXPECT_EQ(fxText(*test::reluGraph()),
            "graph():\n"
            "    %x : [num_users=1] = placeholder[target=x]\n"
            "    %relu_default : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = "
            "(%x,), kwargs "
            "= {})\n"
            "    return (relu_default,)");
}

TEST_F(FxText, Fx41Forms) {
  EXPECT_EQ(x.text(), "%x : [num_users=0] = placeholder[target=x]");
  EXPECT_EQ(graph.placeholderWithDefault("d", 1.0).text(),
            "%d : [num_users=0] = placeholder[target=d](default=1.0)");
  EXPECT_EQ(graph.placeholderWithDefault("e", "s").text(),
            "%e : [num_users=0] = placeholder[target=e](default=s)");
  EXPECT_EQ(graph.placeholderWithDefault("f", {"s"}).text(),
            "%f : [num_users=0] = placeholder[target=f](default=['s'])");
  EXPECT_EQ(graph.placeholderWithDefault("g", Arg::device("cpu")).text(),
            "%g : [num_users=0] = placeholder[target=g](default=cpu)");
  EXPECT_EQ(graph.getAttr("a.b").text(), "%a_b : [num_users=0] = get_attr[target=a.b]");
  EXPECT_EQ(graph.callModule("m", {x}, {{"k", y}}).text(),
            "%m : [num_users=0] = call_module[target=m](args = (%x,), kwargs = {k: %y})");
  EXPECT_EQ(graph.call("operator.getitem", {x, 0}).text(),
            "%getitem : [num_users=0] = call_function[target=operator.getitem](args = (%x, 0), kwargs = {})");
  EXPECT_EQ(graph.call("aten.add", {}).text(),
            "%add : [num_users=0] = call_function[target=torch.ops.aten.add](args = (), kwargs = {})");
}

TEST_F(FxText, Fx43Arguments) {
  EXPECT_EQ(of(x), "%x");
  EXPECT_EQ(of(Arg::list({x, 1})), "[%x, 1]");
  EXPECT_EQ(of(Arg::tuple({x})), "(%x,)");
  EXPECT_EQ(of(Arg::tuple({})), "()");
  EXPECT_EQ(of(Arg::list({})), "[]");
  EXPECT_EQ(of(Arg::dict({{"a", x}, {"b", {y}}})), "{a: %x, b: [%y]}");
  EXPECT_EQ(of("it's\n\"raw\""), "it's\n\"raw\"");
  EXPECT_EQ(of(nullptr), "None");
  EXPECT_EQ(of(true), "True");
  EXPECT_EQ(of(false), "False");
  EXPECT_EQ(of(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(of(Dtype::Float32), "torch.float32");
  EXPECT_EQ(of(Arg::device("cuda:1")), "cuda:1");
  EXPECT_EQ(of(MemoryFormat::ChannelsLast), "torch.channels_last");
  EXPECT_EQ(of(MemoryFormat::Contiguous), "torch.contiguous_format");
  EXPECT_EQ(of(Layout::Strided), "torch.strided");
  EXPECT_EQ(of(Arg::complex(1, 2)), "(1+2j)");
  EXPECT_EQ(of(Arg::complex(0, -1.5)), "-1.5j");
  EXPECT_EQ(of(Target("aten.add.Tensor")), "aten.add.Tensor");
  EXPECT_EQ(of(SymExpr::parse("Add(Mul(Integer(2), Symbol('s77', integer=True)), Integer(1))")), "2*s77 + 1");
}

TEST_F(FxText, Fx44Floats) {
  const std::pair<double, const char*> expected[] = {
      {1.0, "1.0"},
      {0.1, "0.1"},
      {1e-05, "1e-05"},
      {1e16, "1e+16"},
      {1e15, "1000000000000000.0"},
      {-0.0, "-0.0"},
      {5e-324, "5e-324"},
      {1e23, "1e+23"},
      {INFINITY, "inf"},
      {-INFINITY, "-inf"},
      {std::nan(""), "nan"},
  };
  for (const auto& [value, text] : expected) EXPECT_EQ(of(value), text);
}

TEST_F(FxText, Fx45PythonTextInsideSlices) {
  EXPECT_EQ(of(Arg::slice(nullptr, y, 2)), "slice(None, y, 2)");
  EXPECT_EQ(of(Arg::range(0, 3, 1)), "range(0, 3)");
  EXPECT_EQ(of(Arg::range(0, 3, 2)), "range(0, 3, 2)");
  EXPECT_EQ(of(Arg::ellipsis()), "Ellipsis");
  EXPECT_EQ(of(Arg::tuple({Arg::slice(x, nullptr, nullptr), Arg::ellipsis(), 0})),
            "(slice(x, None, None), Ellipsis, 0)");
  EXPECT_EQ(of(Arg::slice("a", nullptr, nullptr)), "slice('a', None, None)");
}

TEST_F(FxText, Fx46PythonTextOfTheReturnedValue) {
  EXPECT_EQ(returned(Arg::tuple({x, nullptr, 1, 2.5, "s"})), "return (x, None, 1, 2.5, 's')");
  EXPECT_EQ(returned(Arg::tuple({x})), "return (x,)");
  EXPECT_EQ(returned({x}), "return [x]");
  EXPECT_EQ(returned(x), "return x");
  EXPECT_EQ(returned(Arg::dict({{"a", x}})), "return {'a': x}");
  EXPECT_EQ(returned(Arg::tuple({{x}, Arg::tuple({y})})), "return ([x], (y,))");
  EXPECT_EQ(returned(nullptr), "return None");
  EXPECT_EQ(returned("s"), "return s");
  EXPECT_EQ(returned({Arg::device("cuda:1"), Dtype::Int8}),
            "return [device(type='cuda', index=1), torch.int8]");
}

TEST_F(FxText, NestedModules) {
  GraphModule top(test::reluGraph());
  top.addChild("late", std::make_unique<GraphModule>());
  GraphModule& first = top.addChild("first", std::make_unique<GraphModule>());
  first.addChild("inner", std::make_unique<GraphModule>());
  first.graph().getAttr("inner");
  top.addChild("unnamed", std::make_unique<GraphModule>());
  top.graph().getAttr("first");
  top.graph().getAttr("late");
  const std::string text = fxText(top);
  EXPECT_EQ(text.substr(text.find("# submodule")),
            "# submodule first\ngraph():\n    %inner : [num_users=0] = get_attr[target=inner]\n"
            "# submodule first.inner\ngraph():\n# submodule late\ngraph():\n");
}

}  // namespace
}  // namespace edgefx

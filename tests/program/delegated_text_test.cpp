#include <edgefx/program/delegated_text.h>
#include <edgefx/program/lowered_module.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace edgefx::test {
namespace {

LoweredModuleRef delegateOf(std::string backend, ExportedProgram program) {
  auto lowered = std::make_shared<LoweredModule>();
  lowered->backendId = std::move(backend);
  lowered->program = std::move(program);
  return lowered;
}

ExportedProgram compiledRelu() {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call("aten.relu.default", {x}, tensorValue({2})));
  return builder.finish();
}

Node& callDelegate(Graph& graph, Node& input) {
  Node& module = graph.getAttr("lowered_module_0");
  Node& call = graph.call("higher_order.executorch_call_delegate", {module, input});
  return graph.call("operator.getitem", {call, 0});
}

constexpr const char* kLoweredRelu =
    "  %lowered_module_0 : [num_users=1] = get_attr[target=lowered_module_0]\n"
    "    backend_id: Some\n"
    "    lowered graph():\n"
    "      %x : [num_users=1] = placeholder[target=x]\n"
    "      %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = "
    "{})\n"
    "      return (relu,)\n"
    "  %executorch_call_delegate : [num_users=1] = "
    "call_function[target=torch.ops.higher_order.executorch_call_delegate](args = (%lowered_module_0, %x), "
    "kwargs = {})\n"
    "  %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%executorch_call_delegate, "
    "0), kwargs = {})\n"
    "  return (getitem,)\n";

TEST(DelegatedText, ShowsWhatADelegateHolds) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(callDelegate(builder.graph(), x));
  addLoweredModule(builder.program().graphModule(), "lowered_module_0", delegateOf("Some", compiledRelu()));
  EXPECT_EQ(delegatedText(builder.finish()),
            "graph():\n  %x : [num_users=1] = placeholder[target=x]\n" + std::string(kLoweredRelu));
}

TEST(DelegatedText, NestedGraphsFollow) {
  auto branch = std::make_unique<Graph>();
  Node& x = branch->placeholder("x");
  branch->output(Arg::tuple({callDelegate(*branch, x)}));
  ProgramBuilder builder;
  Node& predicate = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& graph = builder.branch("true_graph_0", std::move(branch));
  builder.userOutput(builder.call("higher_order.cond", {predicate, graph, graph}, tensorValue({2})));
  addLoweredModule(*builder.program().graphModule().findChild("true_graph_0"), "lowered_module_0",
                   delegateOf("Some", compiledRelu()));
  // The top level has no delegate of that name, so its get_attr node is no delegate.
  EXPECT_EQ(delegatedText(builder.finish()),
            "graph():\n"
            "  %p : [num_users=1] = placeholder[target=p]\n"
            "  %true_graph_0 : [num_users=1] = get_attr[target=true_graph_0]\n"
            "  %cond : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%p, "
            "%true_graph_0, %true_graph_0), kwargs = {})\n"
            "  return (cond,)\n"
            "# submodule true_graph_0\n"
            "graph():\n"
            "  %x : [num_users=1] = placeholder[target=x]\n" +
                std::string(kLoweredRelu));
}

TEST(DelegatedText, DelegatesInsideOfDelegatesStayHidden) {
  ProgramBuilder inner;
  Node& y = inner.userInput("y", tensorValue({2}));
  inner.userOutput(callDelegate(inner.graph(), y));
  addLoweredModule(inner.program().graphModule(), "lowered_module_0", delegateOf("Inner", compiledRelu()));

  ProgramBuilder outer;
  Node& x = outer.userInput("x", tensorValue({2}));
  outer.userOutput(callDelegate(outer.graph(), x));
  addLoweredModule(outer.program().graphModule(), "lowered_module_0", delegateOf("Outer", inner.finish()));
  const std::string text = delegatedText(outer.finish());
  EXPECT_NE(text.find("    backend_id: Outer\n"), std::string::npos);
  EXPECT_NE(text.find("      %lowered_module_0 : "), std::string::npos);
  EXPECT_EQ(text.find("Inner"), std::string::npos);
}

}  // namespace
}  // namespace edgefx::test

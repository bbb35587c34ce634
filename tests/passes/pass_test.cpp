#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>

#include "passes/pass_testing.h"

#include <memory>
#include <stdexcept>

namespace edgefx::test {
namespace {

using PassNames = std::vector<std::string>;

std::unique_ptr<Graph> unaryBranch(const char* op) {
  auto graph = std::make_unique<Graph>();
  Node& x = graph->placeholder("x");
  x.setValue(tensorValue({2}));
  Node& y = graph->call(op, {x}, {}, Target(op).op());
  y.setValue(tensorValue({2}));
  graph->output(Arg::tuple({y}));
  return graph;
}

// cond(flag, relu, cond-free tanh, (x,)) and its item.
ExportedProgram condProgram() {
  ProgramBuilder builder;
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& yes = builder.branch("yes", unaryBranch("aten.relu.default"));
  Node& no = builder.branch("no", unaryBranch("aten.tanh.default"));
  ValueMeta::Sequence results;
  results.elements = {tensorValue({2})};
  Node& cond =
      builder.call("higher_order.cond", {flag, yes, no, Arg::tuple({x})}, ValueMeta::of(std::move(results)));
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, tensorValue({2})));
  return builder.finish();
}

// w, v: parameters; a, b: user inputs; (a * w + b, a).
ExportedProgram fourInputs() {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({4}));
  builder.parameter("v", sampleTensor({4}));
  Node& a = builder.userInput("a", tensorValue({4}));
  Node& b = builder.userInput("b", tensorValue({4}));
  Node& mul = builder.call("aten.mul.Tensor", {a, w}, tensorValue({4}));
  builder.userOutput(builder.call("aten.add.Tensor", {mul, b}, tensorValue({4})));
  builder.userOutput(mul);
  return builder.finish();
}

bool runOn(ExportedProgram& program, std::function<bool(GraphModule&)> edit) {
  return graphPass("edit", std::move(edit))->run(program);
}

TEST(GraphPass, VisitsEveryGraphThatIsNamed) {
  ExportedProgram program = condProgram();
  program.graphModule().addChild("unnamed", std::make_unique<GraphModule>(unaryBranch("aten.neg.default")));
  PassNames seen;
  EXPECT_FALSE(runOn(program, [&](GraphModule& module) {
    seen.emplace_back(module.graph().back()->prev()->name());
    return false;
  }));
  EXPECT_EQ(seen, (PassNames{"getitem", "relu", "tanh"}));
}

TEST(GraphPass, SaysWhetherAnyGraphChanged) {
  ExportedProgram program = condProgram();
  EXPECT_TRUE(runOn(program, [](GraphModule& module) { return module.graph().find("relu") != nullptr; }));
}

TEST(GraphPass, GraphsThatARunDropsAreNotVisited) {
  ExportedProgram program = condProgram();
  size_t visited = 0;
  runOn(program, [&](GraphModule& module) {
    ++visited;
    if (Node* cond = module.graph().find("cond")) {
      Node& x = *module.graph().find("x");
      Node& getitem = *module.graph().find("getitem");
      getitem.replaceAllUsesWith(x);
      module.graph().erase(getitem);
      module.graph().erase(*cond);
      for (const char* name : {"yes", "no"}) {
        module.graph().erase(*module.graph().find(name));
        module.removeChild(name);
      }
    }
    return true;
  });
  EXPECT_EQ(visited, 1u);
  EXPECT_EQ(program.signature.outputs.front().arg.name, "x");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(GraphPass, AnErrorInABranchNamesTheGraph) {
  ExportedProgram program = condProgram();
  const auto error = caught<UsageError>([&] {
    runOn(program, [](GraphModule& module) -> bool {
      if (module.graph().find("tanh") != nullptr) throw UsageError(Diagnostic("no tanh"));
      return false;
    });
  });
  EXPECT_EQ(error.diagnostics().front().graph, "no");
}

TEST(GraphPass, EM9_W2_SpecsFollowPlaceholdersThatMove) {
  ExportedProgram program = fourInputs();
  runOn(program, [](GraphModule& module) {
    Node& v = *module.graph().find("p_v");
    v.moveBefore(*module.graph().find("p_w"));
    return true;
  });
  EXPECT_EQ(inputNames(program), (PassNames{"p_v", "p_w", "a", "b"}));
  EXPECT_EQ(program.signature.inputs[0].target, "v");
  EXPECT_EQ(program.signature.inputs[1].target, "w");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(GraphPass, EM9_W2_AnErasedPlaceholderTakesItsOwnSpecAlong) {
  ExportedProgram program = fourInputs();
  runOn(program, [](GraphModule& module) {
    module.graph().erase(*module.graph().find("p_v"));
    return true;
  });
  EXPECT_EQ(inputNames(program), (PassNames{"p_w", "a", "b"}));
  EXPECT_EQ(program.signature.inputs[1].kind, InputKind::UserInput);
  EXPECT_TRUE(program.stateDict().contains("w"));
  EXPECT_FALSE(program.stateDict().contains("v"));
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(GraphPass, W24_SpecsFollowNames) {
  ExportedProgram program = fourInputs();
  program.moduleCallGraph.front().signature->inputs = {program.signature.inputs[2].arg};
  runOn(program, [](GraphModule& module) {
    Graph& graph = module.graph();
    graph.find("a")->rename("first");
    graph.find("p_w")->rename("weight");
    graph.find("add")->rename("sum_of_all");
    return true;
  });
  EXPECT_EQ(inputNames(program), (PassNames{"weight", "p_v", "first", "b"}));
  EXPECT_EQ(program.signature.outputs[0].arg.name, "sum_of_all");
  EXPECT_EQ(program.moduleCallGraph.front().signature->inputs.front().name, "first");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(GraphPass, MutationTargetsFollowTheNamesOfUserInputs) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& next = builder.call("aten.relu.default", {x}, tensorValue({2}));
  builder.result(OutputKind::UserInputMutation, next, "x");
  ExportedProgram program = builder.finish();
  runOn(program, [](GraphModule& module) {
    module.graph().find("x")->rename("state");
    return true;
  });
  EXPECT_EQ(program.signature.outputs.front().target, "state");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(GraphPass, AResultMayBeAnotherNode) {
  ExportedProgram program = fourInputs();
  runOn(program, [](GraphModule& module) {
    Graph& graph = module.graph();
    Node& add = *graph.find("add");
    const InsertionGuard guard(graph, after(add));
    Node& relu = graph.call("aten.relu.default", {add}, {}, "relu");
    relu.setValue(add.valueRef());
    add.replaceAllUsesWith(relu, [&](const Node& user) { return user.isOutput(); });
    return true;
  });
  EXPECT_EQ(program.signature.outputs[0].arg.name, "relu");
  EXPECT_EQ(render(checkProgram(program)), "");
}

// Edits that the signature cannot follow: each must be refused, naming the node.
void expectRefused(std::function<void(Graph&)> edit, std::string_view node, std::string_view part) {
  ExportedProgram program = fourInputs();
  const GraphSignature before = program.signature;
  const auto error = caught<VerificationError>([&] {
    runOn(program, [&](GraphModule& module) {
      edit(module.graph());
      return true;
    });
  });
  EXPECT_EQ(error.diagnostics().front().node, node);
  EXPECT_CONTAINS(error.diagnostics().front().message, part);
  EXPECT_EQ(program.signature, before);
}

TEST(GraphPass, EM9_W2_ChangesWithoutASpecAreRefused) {
  expectRefused(
      [](Graph& graph) {
        const InsertionGuard guard(graph, before(*graph.find("a")));
        graph.placeholder("extra").setValue(tensorValue({4}));
      },
      "extra", "ProgramRewriter");
  expectRefused([](Graph& graph) { graph.find("b")->moveBefore(*graph.find("a")); }, "a", "order");
  expectRefused(
      [](Graph& graph) {
        graph.find("b")->replaceAllUsesWith(*graph.find("a"));
        graph.erase(*graph.find("b"));
      },
      "b", "USER_INPUT");
  expectRefused([](Graph& graph) { graph.outputNode().setArgs({Arg::tuple({*graph.find("add")})}); },
                "output", "expected 2 results, found 1");
  expectRefused(
      [](Graph& graph) {
        graph.outputNode().setArgs({Arg::tuple({*graph.find("mul"), *graph.find("add")})});
      },
      "mul", "order");
}

TEST(GraphPass, AWrittenBufferStays) {
  ExportedProgram program = countingProgram();
  const auto error = caught<VerificationError>([&] {
    runOn(program, [](GraphModule& module) {
      Graph& graph = module.graph();
      graph.find("b_count")->replaceAllUsesWith(*graph.find("b_scale"));
      graph.erase(*graph.find("b_count"));
      return true;
    });
  });
  EXPECT_EQ(error.diagnostics().front().node, "b_count");
}

TEST(GraphPass, AGraphMayBePutInThePlaceOfTheOldOne) {
  ExportedProgram program = fourInputs();
  runOn(program, [](GraphModule& module) {
    GraphModule other(module.graph().clone());
    other.graph().find("p_v")->moveBefore(*other.graph().find("p_w"));
    module = std::move(other);
    return true;
  });
  EXPECT_EQ(inputNames(program), (PassNames{"p_v", "p_w", "a", "b"}));
  EXPECT_EQ(program.signature.inputs[0].target, "v");
  EXPECT_EQ(render(checkProgram(program)), "");
}

TEST(Passes, NeedNameAndFunction) {
  EXPECT_THROW(programPass("", [](ExportedProgram&) { return false; }), UsageError);
  EXPECT_THROW(programPass("p", {}), UsageError);
  EXPECT_THROW(graphPass("", [](GraphModule&) { return false; }), UsageError);
  EXPECT_THROW(graphPass("p", {}), UsageError);
}

}  // namespace
}  // namespace edgefx::test

#include "ir/graph_testing.h"
#include "passes/pass_testing.h"

namespace edgefx::test {
namespace {

using CseNames = std::vector<std::string>;

class CommonSubexpressions : public testing::Test {
 protected:
  Node& op(Target target, const Args& args, ValueRef value = tensorValue({4})) {
    return builder.call(target, args, std::move(value));
  }
  ExportedProgram run() { return afterPass(builder.finish(), "common-subexpressions"); }

  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
};

TEST_F(CommonSubexpressions, TheFirstOfEqualCallsStays) {
  Node& a = op("aten.relu.default", {x});
  Node& b = op("aten.relu.default", {x});
  Node& c = op("aten.neg.default", {a});
  Node& d = op("aten.neg.default", {b});
  builder.userOutput(op("aten.add.Tensor", {c, d}));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made), (CseNames{"relu", "neg", "add"}));
  EXPECT_EQ(made.graph().find("add")->text(),
            "%add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%neg, %neg), "
            "kwargs = {})");
}

TEST_F(CommonSubexpressions, ArgumentsKeywordsAndValuesCount) {
  Node& a = op("aten.add.Tensor", {x, 1});
  Node& b = op("aten.add.Tensor", {x, 1.0});
  Node& c = op("aten.add.Tensor", {x, 2});
  Node& d = op("aten.add.Tensor", {x, 1});
  d.setKwarg("alpha", 2);
  Node& e = op("aten.sub.Tensor", {x, 1});
  Node& f = op("aten.add.Tensor", {x, 0.0});
  Node& g = op("aten.add.Tensor", {x, -0.0});
  Node* sum = &a;
  for (Node* node : {&b, &c, &d, &e, &f, &g}) sum = &op("aten.add.Tensor", {*sum, *node});
  builder.userOutput(*sum);
  EXPECT_EQ(callNames(run()).size(), 13u);
}

TEST_F(CommonSubexpressions, CallsWithOtherDescribedValuesStay) {
  Node& a = op("aten.relu.default", {x});
  Node& b = op("aten.relu.default", {x}, tensorValue({4}, Dtype::Float64));
  builder.userOutput(a);
  builder.userOutput(op("aten.neg.default", {b}, tensorValue({4}, Dtype::Float64)));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({commonSubexpressionsPass()}).run(program));
}

TEST_F(CommonSubexpressions, RandomUnknownAndUninitializedCallsStay) {
  for (const char* target : {"aten.rand_like.default", "mylib.sample.default", "aten.empty_like.default",
                             "aten.bernoulli.default"}) {
    builder.userOutput(op("aten.add.Tensor", {op(target, {x}), op(target, {x})}));
  }
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({commonSubexpressionsPass()}).run(program));
}

TEST_F(CommonSubexpressions, NotAcrossWritesInPlace) {
  Node& before = op("aten.neg.default", {x});
  op("aten.add_.Tensor", {x, 1});
  Node& after = op("aten.neg.default", {x});
  builder.userOutput(op("aten.sub.Tensor", {before, after}));
  EXPECT_EQ(callNames(run()).size(), 4u);
}

TEST_F(CommonSubexpressions, NotIfAResultIsWrittenInPlace) {
  Node& a = op("aten.neg.default", {x});
  Node& b = op("aten.neg.default", {x});
  op("aten.add_.Tensor", {op("aten.view.default", {a, Arg::list({4})}), 1});
  builder.userOutput(op("aten.sub.Tensor", {a, b}));
  EXPECT_EQ(callNames(run()).size(), 5u);
}

// Two buffers in one memory: what is written to one shows in the other.
TEST_F(CommonSubexpressions, NotAcrossWritesToSharedStorage) {
  const at::Tensor shared = sampleTensor({4});
  Node& one = builder.buffer("one", shared);
  Node& two = builder.buffer("two", shared);
  Node& before = op("aten.neg.default", {one});
  op("aten.add_.Tensor", {two, 1});
  Node& after = op("aten.neg.default", {one});
  builder.userOutput(op("aten.sub.Tensor", {before, after}));
  EXPECT_EQ(callNames(run()).size(), 4u);
}

TEST_F(CommonSubexpressions, TwoResultsStayTwoTensors) {
  builder.userOutput(op("aten.neg.default", {x}));
  builder.userOutput(op("aten.neg.default", {x}));
  builder.userOutput(op("aten.relu.default", {op("aten.neg.default", {x})}));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made), (CseNames{"neg", "neg_1", "relu"}));
  EXPECT_EQ(resultLine(made), "return (neg, neg_1, relu)");
}

TEST_F(CommonSubexpressions, ResultsTakeTheNameOfWhatStays) {
  Node& a = op("aten.neg.default", {x});
  Node& b = op("aten.neg.default", {x});
  builder.userOutput(op("aten.relu.default", {a}));
  builder.userOutput(b);
  const ExportedProgram made = run();
  EXPECT_EQ(resultLine(made), "return (relu, neg)");
  EXPECT_EQ(made.signature.outputs[1].arg.name, "neg");
}

TEST_F(CommonSubexpressions, BranchesAreLookedInto) {
  auto graph = std::make_unique<Graph>();
  Node& inner = graph->placeholder("y");
  inner.setValue(tensorValue({4}));
  Node& a = graph->call("aten.neg.default", {inner}, {}, "neg");
  Node& b = graph->call("aten.neg.default", {inner}, {}, "neg");
  Node& sum = graph->call("aten.add.Tensor", {a, b}, {}, "add");
  for (Node* node : {&a, &b, &sum}) node->setValue(tensorValue({4}));
  graph->output(Arg::tuple({sum}));
  Node& branch = builder.branch("body", std::move(graph));
  ValueMeta::Sequence results;
  results.elements = {tensorValue({4})};
  Node& call = op("higher_order.invoke_subgraph", {branch, "body", x}, ValueMeta::of(std::move(results)));
  builder.userOutput(op("operator.getitem", {call, 0}));
  const ExportedProgram made = run();
  EXPECT_EQ(callNames(made.graphModule().findChild("body")->graph()), (CseNames{"neg", "add"}));
}

TEST_F(CommonSubexpressions, MetadataOfBothIsKept) {
  Node& a = op("aten.neg.default", {x});
  Node& b = op("aten.neg.default", {x});
  a.editMeta([](NodeMeta& meta) { meta.set("stack_trace", "here"); });
  b.editMeta([](NodeMeta& meta) { meta.set("custom", "there"); });
  builder.userOutput(op("aten.add.Tensor", {a, b}));
  const ExportedProgram made = run();
  EXPECT_EQ(made.graph().find("neg")->meta().stackTrace(), "here");
  EXPECT_NE(made.graph().find("neg")->meta().find("custom"), nullptr);
}

// Equal hashes for all but the last argument, and one chain of equal calls: neither takes quadratic time.
TEST_F(CommonSubexpressions, ManyCallsAreLinear) {
  constexpr int kCalls = 40000;
  Node* last = &x;
  for (int i = 0; i < kCalls; ++i) {
    Node& same = op("aten.neg.default", {x}, i % 2 == 0 ? tensorValue({4}) : tensorValue({4}, Dtype::Int32));
    last = &op("aten.add.Tensor", {*last, same});
  }
  builder.userOutput(*last);
  ExportedProgram program = builder.finish();
  const test::CpuTimer timer;
  EXPECT_TRUE(commonSubexpressionsPass()->run(program));
  EXPECT_LT(timer.seconds(), 20);  // anything quadratic takes longer
}

}  // namespace
}  // namespace edgefx::test

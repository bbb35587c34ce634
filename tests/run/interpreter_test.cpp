#include <edgefx/run/interpreter.h>
#include <edgefx/support/error.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using test::callDelegate;
using test::countingProgram;
using test::getitem;
using test::ProgramBuilder;
using test::sampleLowered;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

using Values = std::vector<c10::IValue>;

void expectEqual(const at::Tensor& found, const at::Tensor& expected) {
  EXPECT_EQ(found.sizes(), expected.sizes());
  EXPECT_TRUE(at::equal(found, expected)) << found << "\nexpected\n" << expected;
}

SymInt symbol(const char* name) {
  return SymInt(Symbolic{SymExpr::symbol(name), {}});
}

template <typename E>
std::string messageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void expectHas(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << "expected \"" << part << "\" in:\n" << text;
}

TEST(Interpreter, RunsOperatorsOnStoredTensorsAndInputs) {
  const ExportedProgram program = tinyProgram();
  const at::Tensor x = sampleTensor({1, 4});
  const Values results = Interpreter(program).run({x});
  ASSERT_EQ(results.size(), 1u);
  const at::Tensor& weight = program.stateDict().find("weight")->tensor();
  const at::Tensor& scale = program.stateDict().find("scale")->tensor();
  expectEqual(results[0].toTensor(), at::relu(at::linear(x, weight) * scale));
}

TEST(Interpreter, EdgeOperatorsRunAsTheOperatorsThatTheyWrap) {
  ExportedProgram program = tinyProgram();
  const at::Tensor x = sampleTensor({1, 4});
  const Values expected = Interpreter(program).run({x});
  wrapAsEdge(program);
  expectEqual(Interpreter(program).run({x})[0].toTensor(), expected[0].toTensor());
}

TEST(Interpreter, StateCarriesOverAndTheProgramStaysAsItIs) {
  const ExportedProgram program = countingProgram();
  const at::Tensor before = program.stateDict().find("count")->tensor().clone();
  Interpreter interpreter(program);
  const Values input{sampleTensor({1, 4})};
  interpreter.run(input);
  const at::Tensor once = interpreter.state("count").clone();
  interpreter.run(input);
  EXPECT_NE(once.item().toDouble(), before.item().toDouble());
  EXPECT_DOUBLE_EQ(interpreter.state("count").item().toDouble() - once.item().toDouble(),
                   once.item().toDouble() - before.item().toDouble());
  expectEqual(program.stateDict().find("count")->tensor(), before);
  interpreter.resetState();
  expectEqual(interpreter.state("count"), before);
  expectHas(messageOf<UsageError>([&] { interpreter.state("coun"); }), "'coun'");
}

// b_cache is written through a view, without a word in the signature.
ExportedProgram inPlaceProgram(bool fails = false) {
  ProgramBuilder builder;
  Node& cache = builder.buffer("cache", sampleTensor({2, 2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& row = builder.call("aten.select.int", {cache, 0, 0}, tensorValue({2}));
  Node& added = builder.call("aten.add_.Tensor", {row, x}, tensorValue({2}));
  builder.userOutput(builder.call("aten.mul.Tensor", {added, 1.0}, tensorValue({2})));
  if (fails) builder.call("aten.mm.default", {added, added}, tensorValue({2}));
  return builder.finish();
}

TEST(Interpreter, BuffersWrittenInPlaceAreCopies) {
  const ExportedProgram program = inPlaceProgram();
  const at::Tensor before = program.stateDict().find("cache")->tensor().clone();
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({2});
  interpreter.run({x});
  expectEqual(interpreter.run({x})[0].toTensor(), before[0] + x + x);
  expectEqual(interpreter.state("cache")[0], before[0] + x + x);
  expectEqual(interpreter.state("cache")[1], before[1]);
  expectEqual(program.stateDict().find("cache")->tensor(), before);
}

TEST(Interpreter, AFailedRunLeavesStateAndInputsAlone) {
  const ExportedProgram program = inPlaceProgram(true);
  Interpreter interpreter(program);
  EXPECT_THROW(interpreter.run({sampleTensor({2})}), ExecutionError);
  expectEqual(interpreter.state("cache"), program.stateDict().find("cache")->tensor());
}

TEST(Interpreter, BuffersThatShareMemoryShowEachOthersChanges) {
  const at::Tensor whole = sampleTensor({4});
  ProgramBuilder builder;
  Node& head = builder.buffer("head", whole.slice(0, 0, 2));
  builder.buffer("whole", whole);
  Node& added = builder.call("aten.add.Tensor", {head, 10}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, added, "head");
  const ExportedProgram program = builder.finish();
  Interpreter interpreter(program);
  interpreter.run(Values{});
  expectEqual(interpreter.state("whole").slice(0, 0, 2), whole.slice(0, 0, 2) + 10);
  expectEqual(interpreter.state("whole").slice(0, 2, 4), whole.slice(0, 2, 4));
}

TEST(Interpreter, MutatedInputsAreWrittenAtTheEnd) {
  for (const bool inPlace : {false, true}) {
    ProgramBuilder builder;
    Node& x = builder.userInput("x", tensorValue({2}));
    Node& added = builder.call(inPlace ? "aten.add_.Tensor" : "aten.add.Tensor", {x, 1}, tensorValue({2}));
    if (!inPlace) builder.result(OutputKind::UserInputMutation, added, "x");
    builder.userOutput(builder.call("aten.mul.Tensor", {added, 2}, tensorValue({2})));
    const ExportedProgram program = builder.finish();
    at::Tensor given = sampleTensor({2});
    const Values results = Interpreter(program).run({given});
    expectEqual(given, sampleTensor({2}) + 1);
    expectEqual(results[0].toTensor(), (sampleTensor({2}) + 1) * 2);
  }
}

TEST(Interpreter, ResultsAreTheCallersOwn) {
  ProgramBuilder builder;
  Node& old = builder.buffer("b", sampleTensor({2}));
  Node& added = builder.call("aten.add.Tensor", {old, 1}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, added, "b");
  builder.userOutput(added);
  builder.userOutput(old);
  const ExportedProgram program = builder.finish();
  Interpreter interpreter(program);
  const Values first = interpreter.run(Values{});
  for (const c10::IValue& result : first) result.toTensor().fill_(100);
  const Values second = interpreter.run(Values{});
  expectEqual(second[0].toTensor(), sampleTensor({2}) + 2);
  expectEqual(second[1].toTensor(), sampleTensor({2}) + 1);
  expectEqual(program.stateDict().find("b")->tensor(), sampleTensor({2}));
}

TEST(Interpreter, ArgumentsAreConvertedBySchema) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  builder.userOutput(builder.call("aten.add.Tensor", {x, 2}, tensorValue({2, 3})));  // number for a tensor
  builder.userOutput(builder.call("aten.cat.default", {Arg::list({x, x}), 1}, tensorValue({2, 6})));
  builder.userOutput(
      builder.call("aten.leaky_relu.default", {x, 1}, tensorValue({2, 3})));        // int for a Scalar
  builder.userOutput(builder.call("aten.gelu.default", {x}, tensorValue({2, 3})));  // a default
  builder.userOutput(
      builder.call("aten.sum.dim_IntList", {x, 1, true}, tensorValue({2, 1})));  // int for int[1]
  builder.userOutput(builder.call("aten.index.Tensor", {x, Arg::list({Arg(), Arg()})}, tensorValue({2, 3})));
  Node& cast = builder.graph().call("aten._to_copy.default", {x}, {{"dtype", Dtype::Int64}});
  cast.setValue(tensorValue({2, 3}, Dtype::Int64));
  builder.userOutput(cast);
  const ExportedProgram program = builder.finish();
  const at::Tensor given = sampleTensor({2, 3});
  // index.Tensor without any index is refused by LibTorch: the fault names it.
  expectHas(messageOf<ExecutionError>([&] { Interpreter(program).run({given}); }), "node '%index'");

  ExportedProgram rest = program.clone();
  Node& index = *rest.graph().find("index");
  index.replaceAllUsesWith(*rest.graph().find("x"));
  rest.graph().erase(index);
  rest.signature.renameOutput("index", "x");
  const Values results = Interpreter(rest).run({given});
  expectEqual(results[0].toTensor(), given + 2);
  expectEqual(results[1].toTensor(), at::cat({given, given}, 1));
  expectEqual(results[2].toTensor(), given);
  expectEqual(results[3].toTensor(), at::gelu(given));
  expectEqual(results[4].toTensor(), given.sum(1, true));
  EXPECT_EQ(results[6].toTensor().scalar_type(), at::kLong);
}

TEST(Interpreter, CallsTakeNestedArguments) {
  ExportedProgram program = tinyProgram();
  const at::Tensor x = sampleTensor({1, 4});
  const at::Tensor expected = Interpreter(program).run({x})[0].toTensor();
  // The convention of the builder: positional arguments, a tuple of results.
  const c10::IValue nested = Interpreter(program).call({x});
  ASSERT_TRUE(nested.isTuple());
  expectEqual(nested.toTupleRef().elements()[0].toTensor(), expected);

  ModuleCallSignature& convention = *program.moduleCallGraph.front().signature;
  const std::string leaf = R"({"type": null, "context": null, "children_spec": []})";
  convention.inSpec = R"([1, {"type": "builtins.tuple", "context": "null", "children_spec": [)"
                      R"({"type": "builtins.tuple", "context": "null", "children_spec": []}, )"
                      R"({"type": "builtins.dict", "context": "[\"x\"]", "children_spec": [)" +
                      leaf + "]}]}]";
  convention.outSpec = "[1, " + leaf + "]";
  const c10::IValue named = Interpreter(program).call({}, {{"x", x}});
  ASSERT_TRUE(named.isTensor());
  expectEqual(named.toTensor(), expected);
  EXPECT_THROW(Interpreter(program).call({x}), UsageError);
}

TEST(Interpreter, WrongInputsAreRefused) {
  ProgramBuilder builder;
  const SymInt s0 = symbol("s0");
  Node& x = builder.userInput("x", tensorValue({s0, 4}));
  Node& y = builder.userInput("y", tensorValue({s0}));
  builder.userInput("z", tensorValue({SymInt(Symbolic{SymExpr::parse("2*s0"), {}})}));
  builder.constantInput("flag", ConstantScalar(true));
  builder.userOutput(builder.call("aten.sum.default", {x}, tensorValue({})));
  builder.userOutput(y);
  ExportedProgram program = builder.finish();
  program.rangeConstraints = {{"s0", 2, 8}};
  Interpreter interpreter(program);
  const auto run = [&](int64_t rows, int64_t columns, int64_t other, int64_t twice, c10::IValue flag = true) {
    return interpreter.run(
        {at::zeros({rows, columns}), at::zeros({other}), at::zeros({twice}), std::move(flag)});
  };
  EXPECT_EQ(run(3, 4, 3, 6).size(), 2u);
  expectHas(messageOf<UsageError>([&] { interpreter.run(Values{}); }),
            "expected 4 user inputs (x, y, z, flag), got 0");
  expectHas(messageOf<UsageError>([&] { run(3, 5, 3, 6); }),
            "input 0 ('x'): expected float32[s0, 4], got float32[3, 5]: dimension 1 is 5, not 4");
  expectHas(messageOf<UsageError>([&] { run(3, 4, 4, 6); }), "dimension 0 is 4, but 's0' is 3 elsewhere");
  expectHas(messageOf<UsageError>([&] { run(3, 4, 3, 7); }),
            "input 2 ('z'): expected size 2*s0, which is 6, got 7");
  expectHas(messageOf<UsageError>([&] { run(9, 4, 9, 18); }), "'s0' is 9, outside of its range VR[2, 8]");
  expectHas(messageOf<UsageError>([&] { run(3, 4, 3, 6, false); }), "exported for the constant");
  expectHas(messageOf<UsageError>([&] {
              interpreter.run({at::zeros({3, 4}, at::kDouble), at::zeros({3}), at::zeros({6}), true});
            }),
            "expected float32[s0, 4], got float64[3, 4]");
  expectHas(messageOf<UsageError>([&] {
              interpreter.run({c10::IValue(1), at::zeros({3}), at::zeros({6}), true});
            }),
            "got 1");
}

TEST(Interpreter, AFaultNamesNodeOperatorArgumentsAndSource) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& product = builder.call("aten.mm.default", {x, x}, tensorValue({2, 3}));
  product.editMeta([](NodeMeta& meta) {
    meta.set("stack_trace", "  File \"model.py\", line 7, in forward\n    return x @ x");
  });
  builder.userOutput(product);
  const ExportedProgram program = builder.finish();
  const std::string text = messageOf<ExecutionError>([&] {
    Interpreter(program).run({sampleTensor({2, 3})});
  });
  expectHas(text, "node '%mm'");
  expectHas(text, "aten.mm.default");
  expectHas(text, "self=float32[2, 3], mat2=float32[2, 3]");
  expectHas(text, "model.py:7");
  EXPECT_EQ(text.find("frame #"), std::string::npos) << "a C++ backtrace:\n" << text;
}

TEST(Interpreter, KernelsWithoutHalfPrecisionComputeInSingle) {
  for (const Dtype dtype : {Dtype::Float16, Dtype::BFloat16}) {
    ProgramBuilder builder;
    Node& x = builder.userInput("x", tensorValue({2, 3}, dtype));
    Node& y = builder.userInput("y", tensorValue({3, 2}, dtype));
    builder.userOutput(builder.call("aten.mm.default", {x, y}, tensorValue({2, 2}, dtype)));
    const ExportedProgram program = builder.finish();
    const at::Tensor a = sampleTensor({2, 3}, dtype), b = sampleTensor({3, 2}, dtype);
    Interpreter interpreter(program);
    for (int call = 0; call < 2; ++call) {
      const at::Tensor found = interpreter.run({a, b})[0].toTensor();
      EXPECT_EQ(found.scalar_type(), a.scalar_type());
      expectEqual(found.to(at::kFloat),
                  at::mm(a.to(at::kFloat), b.to(at::kFloat)).to(a.scalar_type()).to(at::kFloat));
    }
  }
}

TEST(Interpreter, StatisticsOfATrainingBatchNormAreState) {
  ProgramBuilder builder;
  Node& mean = builder.buffer("mean", at::zeros({2}));
  Node& variance = builder.buffer("variance", at::ones({2}));
  Node& x = builder.userInput("x", tensorValue({3, 2}));
  builder.userOutput(builder.call("aten.batch_norm.default",
                                  {x, nullptr, nullptr, mean, variance, true, 0.5, 1e-5, false},
                                  tensorValue({3, 2})));
  const ExportedProgram program = builder.finish();
  Interpreter interpreter(program);
  interpreter.run({sampleTensor({3, 2})});
  expectEqual(interpreter.state("mean"), sampleTensor({3, 2}).mean(0) * 0.5);
  expectEqual(program.stateDict().find("mean")->tensor(), at::zeros({2}));
}

TEST(Interpreter, MissingOperatorsAreNamedBeforeAnythingRuns) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& a = builder.call("nolib.first.default", {x}, tensorValue({2}));
  Node& b = builder.call("nolib.second.default", {a}, tensorValue({2}));
  builder.userOutput(builder.call("nolib.first.default", {b}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  expectHas(messageOf<UnsupportedError>([&] { Interpreter{program}; }),
            "2 operators cannot run here: 'torch.ops.nolib.first.default' (node '%first', 2 calls), "
            "'torch.ops.nolib.second.default' (node '%second')");
  const std::vector<MissingOperator> missing = missingOperators(program);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].calls, 2u);
  EXPECT_EQ(missing[1].firstNode, "second");
}

TEST(Interpreter, ValuesAreFreedAfterTheirLastUse) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({64}));
  Node& a = builder.call("aten.add.Tensor", {x, 1}, tensorValue({64}), "a");
  Node& b = builder.call("aten.add.Tensor", {a, 1}, tensorValue({64}), "b");
  Node& c = builder.call("aten.add.Tensor", {b, 1}, tensorValue({64}), "c");
  builder.userOutput(c);
  const ExportedProgram program = builder.finish();
  std::vector<std::pair<std::string, c10::weak_intrusive_ptr<c10::TensorImpl>>> seen;
  std::vector<std::string> alive;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    for (auto& [name, pointer] : seen) {
      if (!pointer.expired()) alive.push_back(name + "@" + std::string(event.node.name()));
    }
    seen.emplace_back(event.node.name(), event.value.toTensor().getIntrusivePtr());
  };
  Interpreter interpreter(program, options);
  {
    Values inputs{sampleTensor({64})};
    interpreter.run(inputs);
  }
  EXPECT_EQ(alive, (std::vector<std::string>{"x@a", "x@b", "a@b", "x@c", "b@c"}));
}

TEST(Interpreter, TheTapSeesNestedGraphsAndEndsTheRun) {
  std::vector<std::string> seen;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    seen.push_back(std::string(event.graph) + ":" + std::string(event.node.name()));
    if (event.node.name() == "stop") throw std::runtime_error("enough");
  };
  auto graph = std::make_unique<Graph>();
  Node& in = graph->placeholder("x");
  Node& out = graph->call("aten.relu.default", {in});
  graph->output(Arg::tuple({out}));
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& branch = builder.branch("body", std::move(graph));
  Node& call = builder.call("higher_order.invoke_subgraph", {branch, "id", x}, nullptr, "call");
  Node& item = builder.call("operator.getitem", {call, 0}, tensorValue({2}), "getitem");
  builder.userOutput(builder.call("aten.neg.default", {item}, tensorValue({2}), "stop"));
  const ExportedProgram program = builder.finish();
  EXPECT_THROW(Interpreter(program, options).run({sampleTensor({2})}), std::runtime_error);
  EXPECT_EQ(seen,
            (std::vector<std::string>{":x", "body:x", "body:relu_default", ":call", ":getitem", ":stop"}));
}

// relu(x) + count in a delegate that counts its calls.
ExportedProgram countingDelegate() {
  ProgramBuilder inner;
  Node& count = inner.buffer("count", at::zeros({}));
  Node& x = inner.userInput("x", tensorValue({2}));
  Node& next = inner.call("aten.add.Tensor", {count, 1}, tensorValue({}));
  inner.result(OutputKind::BufferMutation, next, "count");
  inner.userOutput(inner.call("aten.add.Tensor", {x, next}, tensorValue({2})));
  ProgramBuilder outer;
  Node& y = outer.userInput("y", tensorValue({2}));
  Node& call = callDelegate(outer.program().graphModule(), "lowered_module_0",
                            std::make_shared<const LoweredModule>(sampleLowered(inner.finish())), {y},
                            {tensorValue({2})});
  outer.userOutput(getitem(call, 0));
  return outer.finish();
}

TEST(Interpreter, DelegatesRunTheirOwnProgramWithItsState) {
  const ExportedProgram program = countingDelegate();
  Interpreter interpreter(program);
  const at::Tensor x = sampleTensor({2});
  expectEqual(interpreter.run({x})[0].toTensor(), x + 1);
  expectEqual(interpreter.run({x})[0].toTensor(), x + 2);
  EXPECT_EQ(interpreter.state("count").item().toDouble(), 2);
  interpreter.resetState();
  expectEqual(interpreter.run({x})[0].toTensor(), x + 1);
}

TEST(Interpreter, ADelegateInABranchHasThePathOfBoth) {
  ProgramBuilder inner;
  Node& in = inner.userInput("x", tensorValue({2}));
  inner.userOutput(inner.call("aten.neg.default", {in}, tensorValue({2})));
  auto body = std::make_unique<Graph>();
  Node& x = body->placeholder("x");
  x.setValue(tensorValue({2}));
  ProgramBuilder outer;
  Node& y = outer.userInput("y", tensorValue({2}));
  Node& branch = outer.branch("body", std::move(body));
  GraphModule& module = *outer.program().graphModule().findChild("body");
  Node& call = callDelegate(module, "lowered_module_0",
                            std::make_shared<const LoweredModule>(sampleLowered(inner.finish())), {x},
                            {tensorValue({2})});
  module.graph().output(Arg::tuple({getitem(call, 0)}));
  Node& sub = outer.call("higher_order.invoke_subgraph", {branch, "id", y}, nullptr, "call");
  outer.userOutput(outer.call("operator.getitem", {sub, 0}, tensorValue({2}), "getitem"));
  const ExportedProgram program = outer.finish();
  std::vector<std::string> paths;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    if (event.node.name() == "neg") paths.emplace_back(event.graph);
  };
  expectEqual(Interpreter(program, options).run({sampleTensor({2})})[0].toTensor(), sampleTensor({2}).neg());
  EXPECT_EQ(paths, (std::vector<std::string>{"body.lowered_module_0"}));
}

TEST(Interpreter, ADelegateRunnerTakesTheCallOrLeavesIt) {
  const ExportedProgram program = countingDelegate();
  bool takes = true;
  RunOptions options;
  options.delegateRunner = [&](const LoweredModule& module,
                               std::span<const c10::IValue> arguments) -> std::optional<Values> {
    EXPECT_EQ(module.backendId, "sample");
    if (!takes) return std::nullopt;
    return Values{arguments[0].toTensor() * 3};
  };
  Interpreter interpreter(program, options);
  const at::Tensor x = sampleTensor({2});
  expectEqual(interpreter.run({x})[0].toTensor(), x * 3);
  takes = false;
  expectEqual(interpreter.run({x})[0].toTensor(), x + 1);
}

TEST(Interpreter, StateOfDelegatesIsRestoredToo) {
  ExportedProgram program = countingDelegate();
  bool fails = true;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    if (fails && event.graph.empty() && event.node.name() == "getitem") throw std::runtime_error("enough");
  };
  Interpreter interpreter(program, options);
  EXPECT_THROW(interpreter.run({sampleTensor({2})}), std::runtime_error);
  EXPECT_EQ(interpreter.state("count").item().toDouble(), 0);
  fails = false;
  interpreter.run({sampleTensor({2})});
  EXPECT_EQ(interpreter.state("count").item().toDouble(), 1);
}

}  // namespace
}  // namespace edgefx

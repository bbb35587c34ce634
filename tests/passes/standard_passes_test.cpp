#include <edgefx/passes/debug_handles.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>

#include "passes/pass_testing.h"
#include "support/lowered_builder.h"

#include <ATen/core/Tensor.h>

// Dead code, quantization, attributes, inputs, debug handles.
namespace edgefx::test {
namespace {

using CallNames = std::vector<std::string>;

constexpr const char* kQuantize = "quantized_decomposed.quantize_per_tensor.default";
constexpr const char* kDequantize = "quantized_decomposed.dequantize_per_tensor.default";

Args quantArgs(Node& x, double scale = 0.5, int64_t zero = 3, int64_t least = -128, int64_t most = 127,
               Dtype dtype = Dtype::Int8) {
  return {x, scale, zero, least, most, dtype};
}

class StandardPasses : public testing::Test {
 protected:
  Node& op(Target target, const Args& args, ValueRef value = tensorValue({4})) {
    return builder.call(target, args, std::move(value));
  }
  Node& quantize(const Args& args, Dtype dtype = Dtype::Int8) {
    return op(kQuantize, args, tensorValue({4}, dtype));
  }

  ProgramBuilder builder;
};

TEST_F(StandardPasses, DeadCodeKeepsANormThatTrains) {
  Node& weight = builder.parameter("weight", sampleTensor({4}));
  Node& mean = builder.buffer("mean", sampleTensor({4}));
  Node& variance = builder.buffer("variance", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({2, 4}));
  const auto norm = [&](bool trains) {
    op("aten.batch_norm.default", {x, weight, weight, mean, variance, trains, 0.1, 1e-5, false},
       tensorValue({2, 4}));
  };
  norm(true);
  norm(false);
  builder.userOutput(op("aten.abs.default", {x}, tensorValue({2, 4})));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "dead-code")), (CallNames{"batch_norm", "abs_1"}));
}

TEST_F(StandardPasses, DequantizeThenQuantizeGoes) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& q = quantize(quantArgs(x));
  Node& d = op(kDequantize, quantArgs(q));
  Node& again = quantize(quantArgs(d));
  builder.userOutput(op(kDequantize, quantArgs(again)));
  const ExportedProgram made = afterPass(builder.finish(), "fold-dequantize-quantize");
  EXPECT_EQ(callNames(made), (CallNames{"quantize_per_tensor", "dequantize_per_tensor_1"}));
}

TEST_F(StandardPasses, EveryNumberComesBack) {
  struct Kind {
    Dtype dtype;
    int64_t least, most;
  };
  for (const Kind& kind :
       {Kind{Dtype::Int8, -128, 127}, Kind{Dtype::UInt8, 0, 255}, Kind{Dtype::Int16, -32768, 32767}}) {
    for (const double scale : {1e-30, 0.1, 3.7, 1e30}) {
      const int64_t count = kind.most - kind.least + 1;
      ProgramBuilder all;
      Node& x = all.userInput("x", tensorValue({count}, kind.dtype));
      const Args args = quantArgs(x, scale, kind.most, kind.least, kind.most, kind.dtype);
      Node& d = all.call(kDequantize, args, tensorValue({count}));
      Node& q = all.call(kQuantize, quantArgs(d, scale, kind.most, kind.least, kind.most, kind.dtype),
                         tensorValue({count}, kind.dtype));
      all.userOutput(all.call("aten.bitwise_not.default", {q}, tensorValue({count}, kind.dtype)));
      const ExportedProgram program = all.finish();
      ExportedProgram folded = program.clone();
      EXPECT_TRUE(PassManager({foldDequantizeQuantizePass()}).run(folded));
      at::Tensor values = sampleTensor({count}, kind.dtype);
      for (int64_t i = 0; i < count; ++i) values[i] = kind.least + i;
      const std::vector<c10::IValue> inputs{values};
      const VerifyReport report = verifyLowering(program, folded, inputs, {.tolerance = {0, 0}});
      EXPECT_TRUE(report.agrees()) << report.text();
      if (count > 1000) break;
    }
  }
}

TEST_F(StandardPasses, OtherParametersStay) {
  Node& x = builder.userInput("x", tensorValue({4}, Dtype::Int8));
  const auto pair = [&](const Args& second) {
    Args args = second;
    Node& d = op(kDequantize, quantArgs(x));
    args[0] = d;
    builder.userOutput(op("aten.neg.default", {quantize(args)}, tensorValue({4}, Dtype::Int8)));
  };
  pair(quantArgs(x, 0.25));
  pair(quantArgs(x, 0.5, 2));
  pair(quantArgs(x, 0.5, 3, -127));
  pair(quantArgs(x, 0.5, 3, -128, 126));
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({foldDequantizeQuantizePass()}).run(program));
}

// Numbers beyond the bounds would be cut, and products that no float holds are lost.
TEST_F(StandardPasses, WhatWouldNotComeBackStays) {
  Node& x = builder.userInput("x", tensorValue({4}, Dtype::Int8));
  Node& wide = builder.userInput("wide", tensorValue({4}, Dtype::Int32));
  const auto pair = [&](Node& source, double scale, int64_t zero, int64_t least, int64_t most, Dtype dtype) {
    Node& d = op(kDequantize, quantArgs(source, scale, zero, least, most, dtype));
    Node& q = quantize(quantArgs(d, scale, zero, least, most, dtype), dtype);
    builder.userOutput(op("aten.neg.default", {q}, tensorValue({4}, dtype)));
  };
  pair(x, 0.5, 0, -127, 127, Dtype::Int8);
  pair(x, 0.0, 0, -128, 127, Dtype::Int8);
  pair(x, 1e-45, 0, -128, 127, Dtype::Int8);
  pair(x, 0.5, int64_t{1} << 40, -128, 127, Dtype::Int8);
  pair(wide, 0.5, 0, -2147483648, 2147483647, Dtype::Int32);
  ExportedProgram program = builder.finish();
  EXPECT_FALSE(PassManager({foldDequantizeQuantizePass()}).run(program));
}

TEST_F(StandardPasses, ANarrowRangeIsFoldedBehindItsOwnQuantize) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& q = quantize(quantArgs(x, 0.5, 0, -127, 127));
  Node& d = op(kDequantize, quantArgs(q, 0.5, 0, -127, 127));
  Node& again = quantize(quantArgs(d, 0.5, 0, -127, 127));
  builder.userOutput(op("aten.neg.default", {again}, tensorValue({4}, Dtype::Int8)));
  EXPECT_EQ(callNames(afterPass(builder.finish(), "fold-dequantize-quantize")),
            (CallNames{"quantize_per_tensor", "neg"}));
}

TEST_F(StandardPasses, ScalesPerChannelMustBeKnown) {
  const std::string quantizeChannels = "quantized_decomposed.quantize_per_channel.default";
  const std::string dequantizeChannels = "quantized_decomposed.dequantize_per_channel.default";
  const auto left = [&](double scale, bool isUser) {
    ProgramBuilder channels;
    at::Tensor scales = sampleTensor({2}, Dtype::Float64).fill_(scale);
    at::Tensor zeros = sampleTensor({2}, Dtype::Int64).zero_();
    Node& zero = channels.constant("zeros", zeros);
    Node* known = isUser ? nullptr : &channels.constant("scales", scales);
    Node& x = channels.userInput("x", tensorValue({2, 4}, Dtype::Int8));
    if (isUser) known = &channels.userInput("scales", tensorValue({2}, Dtype::Float64));
    Node& d =
        channels.call(dequantizeChannels, {x, *known, zero, 0, -128, 127, Dtype::Int8}, tensorValue({2, 4}));
    Node& q = channels.call(quantizeChannels, {d, *known, zero, 0, -128, 127, Dtype::Int8},
                            tensorValue({2, 4}, Dtype::Int8));
    channels.userOutput(channels.call("aten.neg.default", {q}, tensorValue({2, 4}, Dtype::Int8)));
    ExportedProgram program = channels.finish();
    PassManager({foldDequantizeQuantizePass()}).run(program);
    return callNames(program).size();
  };
  EXPECT_EQ(left(0.25, false), 1u);
  EXPECT_EQ(left(0.0, false), 3u);
  EXPECT_EQ(left(0.25, true), 3u);
}

TEST_F(StandardPasses, UnusedInputsGoButUserInputsStay) {
  Node& used = builder.parameter("used", sampleTensor({4}));
  builder.parameter("unused", sampleTensor({4}));
  builder.buffer("idle", sampleTensor({4}));
  Node& state = builder.buffer("state", sampleTensor({4}));
  builder.constant("lifted", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  builder.userInput("ignored", tensorValue({4}));
  (void)state;
  builder.result(OutputKind::BufferMutation, op("aten.neg.default", {x}), "state");
  builder.userOutput(op("aten.add.Tensor", {x, used}));
  const ExportedProgram made = afterPass(builder.finish(), "unused-inputs");
  EXPECT_EQ(inputNames(made), (CallNames{"p_used", "b_state", "x", "ignored"}));
  EXPECT_FALSE(made.stateDict().contains("unused"));
  EXPECT_TRUE(made.constants().empty());
}

// Two names of one memory, as caches are exported: what is written under one is read back under the other.
TEST_F(StandardPasses, UnusedInputsInWrittenMemoryStay) {
  const at::Tensor inPlace = sampleTensor({4}), returned = sampleTensor({4}), fixed = sampleTensor({4});
  builder.buffer("cache", inPlace, false);
  builder.buffer("mean", returned);
  builder.buffer("table", fixed);
  Node& lifted = builder.constant("lifted", inPlace);
  Node& written = builder.buffer("written", returned);
  Node& read = builder.buffer("read", fixed);
  Node& x = builder.userInput("x", tensorValue({4}));
  op("aten.add_.Tensor", {lifted, x});
  builder.result(OutputKind::BufferMutation, op("aten.add.Tensor", {written, x}), "written");
  builder.userOutput(op("aten.add.Tensor", {x, read}));
  const ExportedProgram made = afterPass(builder.finish(), "unused-inputs");
  EXPECT_EQ(inputNames(made), (CallNames{"b_cache", "b_mean", "c_lifted", "b_written", "b_read", "x"}));
}

TEST_F(StandardPasses, AttributesBecomeInputs) {
  Node& x = builder.userInput("x", tensorValue({4}));
  const auto attribute = [&](const char* target) -> Node& {
    Node& node = builder.graph().getAttr(target);
    node.setValue(tensorValue({4}));
    return node;
  };
  Node& sum =
      op("aten.add.Tensor", {op("aten.add.Tensor", {x, attribute("table")}), attribute("layer.weight")});
  builder.userOutput(op("aten.add.Tensor", {sum, attribute("table")}));
  ExportedProgram program = builder.finish();
  program.constants().set("table", sampleTensor({4}));
  program.stateDict().set("layer.weight", sampleTensor({4}), true);
  ASSERT_NE(render(checkProgram(program)), "");
  EXPECT_TRUE(PassManager({liftAttributesPass()}).run(program));
  EXPECT_FALSE(PassManager({liftAttributesPass()}).run(program));
  EXPECT_EQ(inputNames(program), (CallNames{"c_table", "p_layer_weight", "x"}));
  EXPECT_EQ(program.signature.inputs[0].kind, InputKind::ConstantTensor);
  EXPECT_EQ(program.signature.inputs[1].kind, InputKind::Parameter);
  EXPECT_EQ(program.signature.inputs[1].target, "layer.weight");
}

// W32: an input that holds the entry already is used; of nested graphs, the value is passed down.
TEST_F(StandardPasses, AttributesOfBranchesArePassedDown) {
  const auto branch = [](const char* target) {
    auto graph = std::make_unique<Graph>();
    Node& y = graph->placeholder("y");
    Node& w = graph->getAttr(target);
    Node& sum = graph->call("aten.add.Tensor", {y, w});
    for (Node* node : {&y, &w, &sum}) node->setValue(tensorValue({4}));
    graph->output(Arg::tuple({sum}));
    return graph;
  };
  Node& w = builder.constant("w", sampleTensor({4}));
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& yes = builder.branch("yes", branch("w"));
  Node& no = builder.branch("no", branch("own"));
  ValueMeta::Sequence results;
  results.elements = {tensorValue({4})};
  Node& cond = op("higher_order.cond", {flag, yes, no, Arg::tuple({x})}, ValueMeta::of(std::move(results)));
  builder.userOutput(op("aten.mul.Tensor", {op("operator.getitem", {cond, 0}), w}));
  ExportedProgram program = builder.finish();
  program.constants().set("no.own", sampleTensor({4}));
  program.constants().set("own", sampleTensor({3}));
  EXPECT_TRUE(PassManager({liftAttributesPass()}).run(program));
  EXPECT_EQ(inputNames(program), (CallNames{"c_w", "c_no_own", "flag", "x"}));
  EXPECT_EQ(program.graph().find("cond")->arg(3).items().size(), 3u);
  EXPECT_EQ(verifyLowering(program, program).agrees(), true);
}

std::string traceOf(const char* name, int graph) {
  return R"([{"name": ")" + std::string(name) +
         R"(", "target": "t", "graph_id": 9, "from_node": [{"name": ")" + name +
         R"(", "target": "t", "graph_id": )" + std::to_string(graph) + R"(, "from_node": []}]}])";
}

TEST_F(StandardPasses, UT22_NodesOfOneAncestorShareAHandle) {
  auto graph = std::make_unique<Graph>();
  Node& y = graph->placeholder("y");
  Node& inner = graph->call("aten.neg.default", {y}, {}, "neg");
  for (Node* node : {&y, &inner}) node->setValue(tensorValue({4}));
  graph->output(Arg::tuple({inner}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& a = op("aten.mm.default", {x, x});
  Node& branch = builder.branch("body", std::move(graph));
  ValueMeta::Sequence results;
  results.elements = {tensorValue({4})};
  Node& call = op("higher_order.invoke_subgraph", {branch, "body", a}, ValueMeta::of(std::move(results)));
  Node& item = op("operator.getitem", {call, 0});
  Node& b = op("aten.add.Tensor", {item, 1});
  Node& c = op("aten.relu.default", {b});
  builder.userOutput(c);
  const auto set = [](Node& node, const std::string& trace) {
    node.editMeta([&](NodeMeta& meta) { meta.set("from_node", trace); });
  };
  set(a, traceOf("linear", 1));
  set(b, traceOf("linear", 1));
  set(c, traceOf("linear", 2));  // of another graph
  set(call, traceOf("call", 1));
  set(inner, "no JSON");
  ExportedProgram program = builder.finish();
  EXPECT_TRUE(PassManager({debugHandlesPass()}).run(program));
  EXPECT_FALSE(PassManager({debugHandlesPass()}).run(program));
  const auto handle = [&](const char* name) { return program.graph().find(name)->meta().debugHandle(); };
  EXPECT_EQ(handle("mm"), 1);
  EXPECT_EQ(handle("body"), 2);
  EXPECT_EQ(handle("invoke_subgraph"), 2);
  EXPECT_EQ(handle("getitem"), 2);
  EXPECT_EQ(handle("add"), 1);
  EXPECT_EQ(handle("relu"), 3);
  EXPECT_EQ(handle("x"), std::nullopt);
  EXPECT_EQ(handle("output"), std::nullopt);
  EXPECT_EQ(program.graphModule().findChild("body")->graph().find("neg")->meta().debugHandle(), 4);
}

TEST_F(StandardPasses, UT22_OnlyMissingHandlesAreGiven) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& a = op("aten.neg.default", {x});
  Node& b = op("aten.neg.default", {a});
  Node& c = op("aten.neg.default", {b});
  builder.userOutput(op("aten.neg.default", {c}));
  a.editMeta([](NodeMeta& meta) { meta.setDebugHandle(0); });
  b.editMeta([](NodeMeta& meta) {
    meta.setDebugHandle(7);
    meta.set("from_node", traceOf("f", 1));
  });
  c.editMeta([](NodeMeta& meta) { meta.set("from_node", traceOf("f", 1)); });
  ExportedProgram program = builder.finish();
  debugHandlesPass()->run(program);
  const auto handle = [&](const char* name) { return program.graph().find(name)->meta().debugHandle(); };
  EXPECT_EQ(handle("neg"), 8);
  EXPECT_EQ(handle("neg_1"), 7);
  EXPECT_EQ(handle("neg_2"), 7);
  EXPECT_EQ(handle("neg_3"), 9);
}

TEST_F(StandardPasses, ThereIsNoHandleAboveTheLargest) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& a = op("aten.neg.default", {x});
  a.editMeta([](NodeMeta& meta) { meta.setDebugHandle(9223372036854775807); });
  builder.userOutput(op("aten.neg.default", {a}));
  ExportedProgram program = builder.finish();
  EXPECT_THROW(PassManager({debugHandlesPass()}).run(program), UnsupportedError);
}

TEST_F(StandardPasses, LostHandlesAreNamed) {
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& a = op("aten.neg.default", {x});
  op("aten.abs.default", {x});
  builder.userOutput(op("aten.relu.default", {a}));
  ExportedProgram program = builder.finish();
  debugHandlesPass()->run(program);
  const ExportedProgram made = afterPass(program, "dead-code");
  EXPECT_TRUE(findLostDebugHandles(program, program).empty());
  const std::vector<Diagnostic> lost = findLostDebugHandles(program, made);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost.front().node, "abs_1");
  EXPECT_CONTAINS(lost.front().message, "debug handle 2");
  EXPECT_TRUE(findLostDebugHandles(made, program).empty());
}

TEST_F(StandardPasses, HandlesInDelegatesAreNotLost) {
  ExportedProgram program = tinyProgram();
  debugHandlesPass()->run(program);
  LoweredModule module = sampleLowered(tinyProgram());
  module.debugHandleMap = {{int64_t{0}, {1, 2, 3}}};
  ExportedProgram lowered = tinyProgram();
  EXPECT_EQ(findLostDebugHandles(program, lowered).size(), 3u);
  addLoweredModule(lowered.graphModule(), "lowered_module_0",
                   std::make_shared<const LoweredModule>(std::move(module)));
  lowered.graph().setInsertionPoint(before(lowered.graph().outputNode()));
  lowered.graph().getAttr("lowered_module_0");
  EXPECT_TRUE(findLostDebugHandles(program, lowered).empty());
}

}  // namespace
}  // namespace edgefx::test

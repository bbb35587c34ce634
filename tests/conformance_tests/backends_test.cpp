#include <edgefx/backend/lower_program.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/program/tensor_table.h>

#include "conformance_tests/conformance_plugin.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

// The plugin's backends on programs that have no text made in Python. lowerProgram checks each result.
namespace edgefx::test {
namespace {

const Target kRelu = Target::edge("aten.relu.default");
const Target kQuantize = Target::edge("quantized_decomposed.quantize_per_tensor.default");
const Target kDequantize = Target::edge("quantized_decomposed.dequantize_per_tensor.default");

ExportedProgram lower(const ExportedProgram& program, std::string_view backend) {
  return lowerProgram(program, conformanceBackend(backend), "forward");
}

std::string graphText(const ExportedProgram& program) {
  return fxText(program.graphModule());
}

size_t callsOf(const ExportedProgram& program, std::string_view name) {
  size_t count = 0;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) count += node.callsOperator(name);
  }
  return count;
}

TEST(Addconst, ScalesEveryReluByOneBuffer) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& first = builder.call(kRelu, {x}, tensorValue({2}));
  Node& second = builder.call(kRelu, {first}, tensorValue({2}));
  builder.userOutput(second);
  ExportedProgram lowered = lower(builder.finish(), "addconst");

  EXPECT_EQ(fxText(lowered.graph()),
            "graph():\n"
            "    %op_backend_scale : [num_users=2] = placeholder[target=op_backend_scale]\n"
            "    %x : [num_users=1] = placeholder[target=x]\n"
            "    %relu : [num_users=1] = "
            "call_function[target=executorch.exir.dialects.edge._ops.aten.relu.default](args = (%x,), kwargs "
            "= {})\n"
            "    %aten_mul_tensor : [num_users=1] = "
            "call_function[target=executorch.exir.dialects.edge._ops.aten.mul.Tensor]"
            "(args = (%relu, %op_backend_scale), kwargs = {})\n"
            "    %relu_1 : [num_users=1] = "
            "call_function[target=executorch.exir.dialects.edge._ops.aten.relu.default]"
            "(args = (%aten_mul_tensor,), kwargs = {})\n"
            "    %aten_mul_tensor_1 : [num_users=1] = "
            "call_function[target=executorch.exir.dialects.edge._ops.aten.mul.Tensor]"
            "(args = (%relu_1, %op_backend_scale), kwargs = {})\n"
            "    return (aten_mul_tensor_1,)");
  const at::Tensor& scale = lowered.stateDict().find("op_backend_scale")->tensor();
  EXPECT_EQ(scale.sizes(), at::IntArrayRef({1}));
  EXPECT_EQ(scale.item<float>(), 0.5f);
  EXPECT_EQ(lowered.signature.outputs[0].arg.name, "aten_mul_tensor_1");
}

TEST(Addconst, NewNodesHaveValuesAndMetadata) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& relu = builder.call(kRelu, {x}, tensorValue({2, 3}));
  relu.editMeta([](NodeMeta& meta) { meta.set("stack_trace", "model.py"); });
  builder.userOutput(relu);
  ExportedProgram lowered = lower(builder.finish(), "addconst");

  const Node& mul = *lowered.graph().find("aten_mul_tensor");
  EXPECT_EQ(mul.value()->text(), lowered.graph().find("relu")->value()->text());
  EXPECT_EQ(mul.meta().stackTrace(), "model.py");
  EXPECT_EQ(*lowered.graph().find("op_backend_scale")->value()->tensor(),
            contiguousTensor(Dtype::Float32, {1}));
}

TEST(Addconst, LeavesProgramsWithoutReluAlone) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userOutput(builder.call("aten.relu.default", {x}, tensorValue({2})));  // no edge operator
  const ExportedProgram program = builder.finish();
  ExportedProgram lowered = lower(program, "addconst");
  EXPECT_EQ(graphText(lowered), graphText(program));
  EXPECT_TRUE(lowered.stateDict().empty());
}

TEST(Addconst, NewValuesFollowPromotion) {
  ProgramBuilder builder;
  Node& half = builder.userInput("half", tensorValue({2}, Dtype::Float16));
  Node& integer = builder.userInput("integer", tensorValue({2}, Dtype::Int32));
  Node& scalar = builder.userInput("scalar", tensorValue({}));
  Node& wide = builder.userInput("wide", tensorValue({2}, Dtype::Float64));
  for (Node* input : {&half, &integer, &scalar, &wide}) {
    builder.userOutput(builder.call(kRelu, {*input}, input->valueRef()));
  }
  ExportedProgram lowered = lower(builder.finish(), "addconst");
  std::vector<std::string> values;
  for (const Node& node : std::as_const(lowered).graph().nodes()) {
    if (node.callsOperator("aten.mul.Tensor")) values.push_back(node.value()->text());
  }
  EXPECT_EQ(values, (std::vector<std::string>{"float32[2]", "float32[2]", "float32[1]", "float64[2]"}));
}

TEST(Addconst, TakesAnotherNameIfTheBuffersIsTaken) {
  ProgramBuilder builder;
  Node& weight = builder.parameter("op_backend_scale", sampleTensor({2}));
  weight.rename("op_backend_scale");
  builder.program().signature.inputs[0].arg.name = "op_backend_scale";
  builder.constant("op_backend_scale_1", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& mul = builder.call(Target::edge("aten.mul.Tensor"), {x, weight}, tensorValue({2}));
  builder.userOutput(builder.call(kRelu, {mul}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  ExportedProgram lowered = lower(program, "addconst");

  const InputSpec& spec = lowered.signature.inputs[2];
  EXPECT_EQ(spec.arg.name, "op_backend_scale_1");
  EXPECT_EQ(spec.kind, InputKind::Buffer);
  EXPECT_FALSE(program.stateDict().contains(*spec.target));
  EXPECT_FALSE(program.constants().contains(*spec.target));
  EXPECT_EQ(lowered.stateDict().find(*spec.target)->tensor().item<float>(), 0.5f);
  EXPECT_EQ(lowered.stateDict().find("op_backend_scale")->storage().data(),
            program.stateDict().find("op_backend_scale")->storage().data());
}

TEST(Addconst, WithoutUserInputTheBufferComesLast) {
  ProgramBuilder builder;
  Node& weight = builder.parameter("w", sampleTensor({2}));
  builder.userOutput(builder.call(kRelu, {weight}, tensorValue({2})));
  ExportedProgram lowered = lower(builder.finish(), "addconst");
  ASSERT_EQ(lowered.signature.inputs.size(), 2u);
  EXPECT_EQ(lowered.signature.inputs[1].target, "op_backend_scale");
  EXPECT_EQ(lowered.graph().placeholders()[1]->name(), "op_backend_scale");
}

TEST(Addconst, WithoutAnyInputTheBufferComesFirst) {
  ProgramBuilder builder;
  Node& ones = builder.call(Target::edge("aten.full.default"), {{2}, 1}, tensorValue({2}));
  builder.userOutput(builder.call(kRelu, {ones}, tensorValue({2})));
  ExportedProgram lowered = lower(builder.finish(), "addconst");
  EXPECT_EQ(lowered.graph().front()->name(), "op_backend_scale");
}

TEST(Addconst, FollowsAReluIntoMutationsAndSeveralResults) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& sum = builder.call(Target::edge("aten.add.Tensor"), {state, x}, tensorValue({2}));
  Node& relu = builder.call(kRelu, {sum}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, relu, "state");
  builder.result(OutputKind::UserInputMutation, relu, "x");
  builder.userOutput(sum);
  builder.userOutput(relu);
  ExportedProgram lowered = lower(builder.finish(), "addconst");

  const auto& outputs = lowered.signature.outputs;
  for (size_t i : {0, 1, 3}) EXPECT_EQ(outputs[i].arg.name, "aten_mul_tensor") << i;
  EXPECT_EQ(outputs[0].target, "state");
  EXPECT_EQ(outputs[1].target, "x");
  EXPECT_EQ(outputs[2].arg.name, "add");
}

// A program with `op` at the top level and in a branch of a cond.
ExportedProgram nested(Target op) {
  auto branch = std::make_unique<Graph>();
  Node& inner = branch->placeholder("arg0_1");
  inner.setValue(tensorValue({2}));
  Node& result = branch->call(op, {inner});
  result.setValue(tensorValue({2}));
  branch->output(Arg::tuple({result}));

  ProgramBuilder builder;
  Node& predicate = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& outer = builder.call(op, {x}, tensorValue({2}));
  Node& graph = builder.branch("true_graph_0", std::move(branch));
  Node& cond = builder.call("higher_order.cond", {predicate, graph, graph, Arg::tuple({outer})},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2})}, false}));
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, tensorValue({2})));
  return builder.finish();
}

TEST(Addconst, LeavesNestedGraphsAlone) {
  ExportedProgram lowered = lower(nested(kRelu), "addconst");
  EXPECT_EQ(callsOf(lowered, "aten.mul.Tensor"), 1u);
  EXPECT_NE(lowered.graph().find("aten_mul_tensor"), nullptr);
}

TEST(Retarget, RewritesEveryGraphAndKeepsNames) {
  ExportedProgram lowered = lower(nested(Target::edge("aten.tanh.default")), "retarget");
  EXPECT_EQ(callsOf(lowered, "op_backend_test.tanh.default"), 2u);
  EXPECT_EQ(callsOf(lowered, "aten.tanh.default"), 0u);
  EXPECT_EQ(lowered.graph().find("tanh")->target(), Target::edge("op_backend_test.tanh.default"));
}

TEST(Retarget, LeavesOtherOperatorsAlone) {
  for (Target op : {Target("aten.relu.default"), Target::edge("aten.relu.out"),
                    Target::edge("mylib.relu.default"), Target::edge("aten.gelu.default")}) {
    const ExportedProgram program = nested(op);
    EXPECT_EQ(graphText(lower(program, "retarget")), graphText(program));
  }
}

ExportedProgram quantizing(Target op, const Args& arguments, const Kwargs& kwargs = {}) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Args args{x};
  args.insert(args.end(), arguments.begin(), arguments.end());
  Node& node = builder.graph().call(op, args, kwargs);
  node.setValue(tensorValue({2}, Dtype::Int8));
  builder.userOutput(node);
  return builder.finish();
}

TEST(Qdq, TakesInt8AndInt16WithinTheirRange) {
  for (Target op : {kQuantize, kDequantize}) {
    const std::string kernel = "cortex_m." + std::string(op.op()) + ".default";
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -128, 127, Dtype::Int8}), "qdq"), kernel), 1u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -127, 127, Dtype::Int8}), "qdq"), kernel), 1u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -32768, 32767, Dtype::Int16}), "qdq"), kernel), 1u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -128, 128, Dtype::Int8}), "qdq"), kernel), 0u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -129, 127, Dtype::Int8}), "qdq"), kernel), 0u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, 0, 255, Dtype::UInt8}), "qdq"), kernel), 0u);
    EXPECT_EQ(callsOf(lower(quantizing(op, {0.5, 3, -128, 127, Dtype::Int32}), "qdq"), kernel), 0u);
  }
}

TEST(Qdq, ReadsArgumentsByName) {
  ExportedProgram lowered = lower(
      quantizing(kQuantize, {0.5, 3}, {{"quant_min", -128}, {"quant_max", 127}, {"dtype", Dtype::Int8}}),
      "qdq");
  EXPECT_EQ(callsOf(lowered, "cortex_m.quantize_per_tensor.default"), 1u);
}

TEST(Qdq, LeavesCallsAloneThatItCannotJudge) {
  for (const Args& arguments : {Args{0.5, 3}, Args{0.5, 3, -128, 127},
                                Args{0.5, 3, nullptr, 127, Dtype::Int8}, Args{0.5, 3, -128, 127, "int8"}}) {
    const ExportedProgram program = quantizing(kQuantize, arguments);
    EXPECT_EQ(graphText(lower(program, "qdq")), graphText(program));
  }
  const ExportedProgram aten = quantizing(kQuantize.toAten(), {0.5, 3, -128, 127, Dtype::Int8});
  EXPECT_EQ(graphText(lower(aten, "qdq")), graphText(aten));
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/saved_calls.h>

#include "cortex_m_testing.h"
#include "ir/graph_testing.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace cortex_m {
namespace {

std::filesystem::path data(const std::string& name) {
  return std::filesystem::path(EDGEFX_EXAMPLE_DATA) / name;
}

// A model of examples/data, with PyTorch's saved results and the scale of its result.
struct Model {
  const char* file;
  const char* expected;
  double step;
  std::map<std::string, int> operators;  // after lowering
};

const std::map<std::string, int> kMlpOperators = {{kQuantize, 1}, {kDequantize, 1}, {"q8.linear.default", 2}};

std::map<std::string, int> mobilenetOperators(const char* view) {
  return {{kQuantize, 1},
          {kDequantize, 1},
          {view, 1},
          {"q8.add.default", 2},
          {"q8.avg_pool2d.default", 1},
          {"q8.conv2d.default", 11},
          {"q8.depthwise_conv2d.default", 5},
          {"q8.linear.default", 1},
          {"q8.requantize.default", 1}};
}

void checkModel(const ExportedProgram& before, const Model& model) {
  SCOPED_TRACE(model.file);
  const Lowered after = lowered(before);
  EXPECT_EQ(operatorsOf(after.program), model.operators);
  // Only what turns the program's own float32 into int8 and back is left over.
  for (const Report::Leftover& left : after.report.leftovers)
    EXPECT_TRUE(left.reason.starts_with("the program")) << left.reason;
  EXPECT_EQ(after.report.leftovers.size(), 2u);

  Interpreter interpreter(after.program);
  for (const SavedCall& call : readSavedCalls(data(model.expected))) {
    const std::vector<c10::IValue> results = interpreter.run(call.inputs);
    // A step, and what float32 adds to it.
    const auto compared = compareCall(after.program, call, call.inputs, results, interpreter,
                                      {.absolute = 1.001 * model.step, .relative = 0});
    ASSERT_FALSE(compared.empty());
    for (const VerifyReport::Compared& value : compared)
      EXPECT_TRUE(value.difference.agrees) << value.name << ": " << text(value.difference);
    expectLayersWithinOneStep(before, after, call.inputs);
  }
}

std::vector<Model> models() {
  return {
      {"mlp_int8.pt2", "mlp_int8.expected.pt", 0.0032578827813267708, kMlpOperators},
      {"mlp_int8_per_channel.pt2", "mlp_int8_per_channel.expected.pt", 0.0032578827813267708, kMlpOperators},
      {"mobilenet_v2_slim_int8.pt2", "mobilenet_v2_slim_int8.expected.pt", 0.0005632786778733134,
       mobilenetOperators("aten.flatten.using_ints")},
      {"mobilenet_v2_slim_int8_core.pt2", "mobilenet_v2_slim_int8.expected.pt", 0.0005632786778733134,
       mobilenetOperators("aten.view.default")}};
}

TEST(CortexM, EveryLayerOfAModelIsOneOperatorWithinAStep) {
  for (const Model& model : models()) checkModel(loadProgram(data(model.file)), model);
}

TEST(CortexM, TheSameInCoreAtenAndInEdgeDialect) {
  for (Model model : models()) {
    const ExportedProgram program = loadProgram(data(model.file));
    const bool isMobilenet = model.operators != kMlpOperators;
    if (isMobilenet) model.operators = mobilenetOperators("aten.view.default");
    ExportedProgram core = functionalize(program.clone());
    decompose(core);
    checkModel(core, model);
    if (isMobilenet) model.operators = mobilenetOperators("aten.view_copy.default");
    EdgeCompileConfig config;
    config.skipDimOrder = true;
    checkModel(toEdge(program.clone(), config).exportedProgram(), model);
  }
}

// Weights, scales and zero points that only the old operators read are gone; new ones are int8 and int32.
TEST(CortexM, ConstantsAreThoseOfTheKernels) {
  const ExportedProgram before = loadProgram(data("mobilenet_v2_slim_int8.pt2"));
  const Lowered after = lowered(before);
  for (const InputSpec& spec : after.program.signature.inputs) {
    EXPECT_NE(spec.kind, InputKind::Buffer) << spec.arg.name;
    if (spec.kind != InputKind::ConstantTensor) continue;
    const at::Tensor& tensor = after.program.findStored(spec)->tensor();
    EXPECT_TRUE(tensor.is_contiguous());
    EXPECT_TRUE(tensor.scalar_type() == at::kChar || tensor.scalar_type() == at::kInt) << spec.arg.name;
  }
  // The first convolution: 4 channels from 3, channels-last.
  const at::Tensor& packed = after.program.constants().find("b__frozen_param0_ohwi")->tensor();
  const at::Tensor& weight = before.findStored(*before.signature.findInput("b__frozen_param0"))->tensor();
  EXPECT_TRUE(packed.equal(weight.permute({0, 2, 3, 1})));
  // The first depthwise one.
  const at::Tensor& depthwise = after.program.constants().find("b__frozen_param1_ihwo")->tensor();
  const at::Tensor& taps = before.findStored(*before.signature.findInput("b__frozen_param1"))->tensor();
  EXPECT_TRUE(depthwise.equal(taps.permute({1, 2, 3, 0})));
}

TEST(CortexM, LoweringMobilenetTakesLessThan20Milliseconds) {
  const EdgeProgramManager manager(loadProgram(data("mobilenet_v2_slim_int8.pt2")));
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const test::CpuTimer timer;
    manager.toOpBackend(Backend());
    best = std::min(best, 1000 * timer.seconds());
  }
  EXPECT_LT(best, 20);
}

// A weight that the program writes, with the signature or in place, is no constant.
TEST(CortexM, WhatIsWrittenIsNoConstant) {
  for (const bool isInPlace : {false, true}) {
    Islands islands(9);
    islands.store("fc", {3, 4});
    Node& x = islands.builder().userInput("x", tensorValue({2, 4}));
    Node& linear = islands.call("aten.linear.default", {islands.dequantize(islands.quantize(x)),
                                                        islands.weight("fc", true), islands.stored("fc_b")});
    Node& y = islands.dequantize(islands.quantize(linear));
    Node& scales = islands.stored("fc_s");
    Node& doubled = islands.call(isInPlace ? "aten.add_.Tensor" : "aten.add.Tensor", {scales, scales});
    if (!isInPlace) islands.builder().result(OutputKind::BufferMutation, doubled, "fc_s");
    islands.builder().userOutput(y);
    const ExportedProgram before = islands.builder().finish();
    const Lowered after = lowered(before);
    EXPECT_TRUE(after.report.layers.empty());
    EXPECT_EQ(operatorsOf(after.program), operatorsOf(before));
  }
}

// As the network was exported with contiguous images, those who read them from the library get them so.
TEST(CortexM, ReadersOutsideGetTheLayoutTheyExpect) {
  Islands islands(3);
  islands.store("conv", {6, 4, 3, 3});
  Node& image = islands.builder().userInput("x", tensorValue({1, 4, 5, 5}));
  Node& conv = islands.call("aten.conv2d.default", {islands.dequantize(islands.quantize(image)),
                                                    islands.weight("conv", true), islands.stored("conv_b")});
  Node& y = islands.quantize(conv);
  Node& view = islands.call("aten.view.default", {islands.dequantize(y), {1, 54}});
  const Node& q = y;
  Node& v = islands.call(kQuantize, {view, q.arg(1), q.arg(2), -128, 127, Dtype::Int8});
  islands.builder().userOutput(islands.dequantize(v));
  islands.builder().userOutput(y);
  const ExportedProgram before = islands.builder().finish();
  const Lowered after = lowered(before);
  EXPECT_EQ(operatorsOf(after.program), (std::map<std::string, int>{{kQuantize, 1},
                                                                    {kDequantize, 1},
                                                                    {"aten.clone.default", 1},
                                                                    {"aten.view.default", 1},
                                                                    {"q8.conv2d.default", 1}}));
  const std::vector<c10::IValue> inputs = randomInputs(before, 1);
  expectLayersWithinOneStep(before, after, inputs);
  EXPECT_TRUE(Interpreter(after.program).run(inputs)[1].toTensor().is_contiguous());
}

// relu(x) where x is quantized once more with the same scale is the clamp of what made x, unless others read
// x.
ExportedProgram clampedTwice(bool isShared, double scale) {
  Islands islands(5);
  islands.store("fc", {3, 4});
  Node& x = islands.builder().userInput("x", tensorValue({2, 4}));
  Node& linear = islands.call("aten.linear.default", {islands.dequantize(islands.quantize(x)),
                                                      islands.weight("fc", false), islands.stored("fc_b")});
  Node& y = islands.quantize(linear, 0.02, -7);
  Node& relu = islands.call("aten.hardtanh_.default", {islands.dequantize(y), 0.0, 6.0});
  Node& clamped = islands.quantize(relu, scale, -7);
  islands.builder().userOutput(islands.dequantize(clamped));
  if (isShared) islands.builder().userOutput(y);
  return islands.builder().finish();
}

TEST(CortexM, AClampOfTheSameIntegersBelongsToTheOperatorBefore) {
  const Lowered folded = lowered(clampedTwice(false, 0.02));
  ASSERT_EQ(folded.report.layers.size(), 1u);
  const Node& linear = *folded.program.graph().find(folded.report.layers.front().node);
  EXPECT_EQ(linear.arg(6).asInt(), -7);
  EXPECT_EQ(linear.arg(7).asInt(), 127);
  for (const ExportedProgram& before : {clampedTwice(true, 0.02), clampedTwice(false, 0.03)}) {
    const Lowered apart = lowered(before);
    EXPECT_EQ(apart.report.layers.size(), 2u);
    expectLayersWithinOneStep(before, apart, randomInputs(before, 2));
  }
}

TEST(CortexM, LoweringTwiceIsLoweringOnce) {
  const Lowered once = lowered(loadProgram(data("mobilenet_v2_slim_int8.pt2")));
  const Lowered twice = lowered(once.program);
  EXPECT_EQ(programText(twice.program), programText(once.program));
  EXPECT_TRUE(twice.report.layers.empty());
}

TEST(CortexM, WhatIsLeftOverIsListedWithItsReason) {
  Islands islands(8);
  Node& x = islands.builder().userInput("x", tensorValue({2, 4}));
  Node& other = islands.builder().userInput("other", tensorValue({1, 4}));
  Node& a = islands.quantize(x);
  Node& softmax = islands.call("aten.softmax.int", {islands.dequantize(a), 1});
  softmax.editMeta([](NodeMeta& meta) {
    meta.set("stack_trace",
             std::string("  File \"/net.py\", line 12, in forward\n    return x.softmax(1)\n"));
  });
  Node& s = islands.quantize(softmax);
  Node& sum =
      islands.call("aten.add.Tensor", {islands.dequantize(s), islands.dequantize(islands.quantize(other))});
  islands.builder().userOutput(islands.dequantize(islands.quantize(sum)));
  Node& direct = islands.call("aten.mul.Tensor", {islands.dequantize(a), x});
  islands.builder().userOutput(direct);
  const ExportedProgram before = islands.builder().finish();
  const Lowered after = lowered(before);
  EXPECT_TRUE(after.report.layers.empty());
  EXPECT_EQ(operatorsOf(after.program), operatorsOf(before));
  std::vector<std::string> lines;
  for (const std::string& line : leftoverLines(after.report)) {
    if (line.find("quantize_per_tensor") != 1 && line.find("dequantize_per_tensor") != 1)
      lines.push_back(line);
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "%softmax_int aten.softmax.int at /net.py:12 in forward: the library has no operator for it",
                "%add_tensor aten.add.Tensor: its operands are not of one shape",
                "%mul_tensor aten.mul.Tensor: its result goes to %output in float32"}));
}

void expectRefusal(const ExportedProgram& program, const std::string& node,
                   const std::vector<std::string>& parts) {
  const std::string before = programText(program);
  const EdgeProgramManager manager(program.clone());
  try {
    manager.toOpBackend(Backend());
    ADD_FAILURE() << "not refused";
  } catch (const LoweringError& error) {
    EXPECT_EQ(error.diagnostics().front().node, node);
    EXPECT_EQ(error.diagnostics().front().backend, "cortex-m");
    EXPECT_EQ(error.diagnostics().front().method, "forward");
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in " << error.what();
  }
  EXPECT_EQ(programText(manager.exportedProgram()), before);
}

TEST(CortexM, AnIslandThatWasClaimedAndIsNoIntegersIsAnError) {
  const std::string shapes = "aten.linear.default(float32[2, 8], float32[16, 8], float32[16])";
  const std::string source = "at torch/nn/modules/linear.py:134 in forward";
  ExportedProgram shifted = loadProgram(data("mlp_int8.pt2"));
  shifted.graph().find("dequantize_per_tensor")->setArg(2, 3);
  expectRefusal(shifted, "linear", {shapes, source, "expected weights with zero point 0, found another one"});

  ExportedProgram coarse = loadProgram(data("mlp_int8.pt2"));
  coarse.graph().find("quantize_per_tensor_1")->setArg(1, 1e-15);
  expectRefusal(coarse, "linear", {shapes, source, "expected a factor of requantization below 2^30, found "});

  ExportedProgram wide = loadProgram(data("mlp_int8.pt2"));
  wide.stateDict().set("fc1.bias", at::full({16}, 1e7), true);
  expectRefusal(wide, "linear", {shapes, source, "the sums of channel 0 may not fit 32 bits"});

  ExportedProgram negative = loadProgram(data("mlp_int8.pt2"));
  negative.graph().find("quantize_per_tensor_1")->setArg(1, -0.5);
  expectRefusal(negative, "linear", {shapes, source, "expected a positive scale, found -0.5"});
}

// Twice as many layers take about twice as long.
ExportedProgram chain(int length) {
  Islands islands(1);
  for (int i = 0; i < length; ++i) islands.store("fc" + std::to_string(i), {4, 4});
  Node* value = &islands.quantize(islands.builder().userInput("x", tensorValue({2, 4})));
  for (int i = 0; i < length; ++i) {
    const std::string name = "fc" + std::to_string(i);
    value = &islands.quantize(
        islands.call("aten.linear.default",
                     {islands.dequantize(*value), islands.weight(name, true), islands.stored(name + "_b")}));
  }
  islands.builder().userOutput(*value);
  return islands.builder().finish();
}

TEST(CortexM, LoweringGrowsWithTheNumberOfLayers) {
  const auto best = [](const ExportedProgram& program) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      const test::CpuTimer timer;
      lowerProgram(program, Backend(), "forward");
      least = std::min(least, timer.seconds());
    }
    return least;
  };
  const double some = best(chain(300)), many = best(chain(2400));
  EXPECT_LT(many, 24 * some) << some << " s for 300, " << many << " s for 2400";
}

}  // namespace
}  // namespace cortex_m

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/saved_calls.h>

#include "backend.h"
#include "ir/graph_testing.h"
#include "layer_check.h"
#include "quantization.h"
#include "support/program_builder.h"

#include <ATen/Functions.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

namespace cortex_m {
namespace {

using namespace edgefx;
using edgefx::test::ProgramBuilder;
using edgefx::test::tensorValue;

struct Lowered {
  ExportedProgram program;
  Report report;
};

Lowered lowered(const ExportedProgram& original) {
  Lowered result;
  const Backend backend(&result.report);
  result.program = lowerProgram(original, backend, "forward");
  ShapeRules rules;
  backend.addShapeRules(rules);
  for (const Diagnostic& fault : checkShapes(result.program, &rules)) ADD_FAILURE() << fault.render();
  verifyProgram(result.program);
  return result;
}

std::map<std::string, int> operatorsOf(const ExportedProgram& program) {
  std::map<std::string, int> counts;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall()) ++counts[std::string(node.target().name())];
  }
  return counts;
}

std::vector<std::string> leftoverLines(const Report& report) {
  std::vector<std::string> lines;
  for (const Report::Leftover& left : report.leftovers) {
    lines.push_back("%" + left.node + " " + left.op + (left.source.empty() ? "" : " at " + left.source) +
                    ": " + left.reason);
  }
  return lines;
}

// Every layer within one step of the float operators it replaced, on the same operands.
void expectLayersWithinOneStep(const ExportedProgram& before, const Lowered& after,
                               const std::vector<c10::IValue>& inputs) {
  const std::vector<LayerCheck> checks = checkLayers(before, after.program, after.report, inputs);
  EXPECT_EQ(checks.size(), after.report.layers.size());
  for (const LayerCheck& check : checks) EXPECT_LE(check.steps, 1) << check.node << " " << check.op;
}

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

// A program of int8 islands, made front to back; what the operators return is inferred.
class Islands {
 public:
  explicit Islands(uint32_t seed) : engine_(seed) {}

  ProgramBuilder& builder() { return builder_; }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(engine_() % bound); }
  double scale() { return 0.005 + 0.0001 * below(400); }
  int zero() { return static_cast<int>(below(100)) - 50; }

  Node& call(const char* target, const Args& args) {
    Node& node = builder_.graph().call(target, args);
    node.setValue(inferValue(node));
    return node;
  }
  Node& quantize(Node& value, double scale, int zero) {
    return call(kQuantize, {value, scale, zero, -128, 127, Dtype::Int8});
  }
  // What was quantized last, as float.
  Node& dequantize(Node& quantized) {
    const Node& q = quantized;
    return call(kDequantize, {quantized, q.arg(1), q.arg(2), -128, 127, Dtype::Int8});
  }
  Node& quantize(Node& value) { return quantize(value, scale(), zero()); }
  Node& activation(Node& value) {
    switch (below(5)) {
      case 0:
        return call("aten.relu.default", {value});
      case 1:
        return call("aten.hardtanh.default", {value, -0.3, 0.6});
      case 2:
        return call("aten.clamp.default", {value, nullptr, 1});
      default:
        return value;
    }
  }
  // A constant int8 weight, dequantized with one scale or with one for each channel.
  Node& weight(const std::string& name, bool isPerChannel) {
    Node& stored = weights_.at(name);
    if (!isPerChannel) return call(kDequantize, {stored, 0.011, 0, -127, 127, Dtype::Int8});
    return call(kDequantizeChannels,
                {stored, weights_.at(name + "_s"), weights_.at(name + "_z"), 0, -127, 127, Dtype::Int8});
  }
  void store(const std::string& name, std::vector<int64_t> sizes) {
    at::manual_seed(engine_());
    weights_.emplace(name, builder_.buffer(name, at::randint(-127, 128, sizes).to(at::kChar)));
    weights_.emplace(name + "_s", builder_.buffer(name + "_s", at::rand({sizes[0]}).mul(0.02).add(0.001)));
    weights_.emplace(name + "_z", builder_.buffer(name + "_z", at::zeros({sizes[0]}, at::kLong)));
    weights_.emplace(name + "_b", builder_.parameter(name + "_b", at::randn({sizes[0]})));
  }
  Node& stored(const std::string& name) { return weights_.at(name); }

 private:
  std::mt19937 engine_;
  ProgramBuilder builder_;
  std::map<std::string, Node&> weights_;
};

std::vector<c10::IValue> randomInputs(const ExportedProgram& program, uint32_t seed) {
  at::manual_seed(seed);
  std::vector<c10::IValue> inputs;
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.kind != InputKind::UserInput) continue;
    std::vector<int64_t> sizes;
    for (const SymInt& size : program.graph().find(spec.arg.name)->value()->tensor()->sizes)
      sizes.push_back(size.value());
    inputs.emplace_back(at::randn(sizes));
  }
  return inputs;
}

// One convolution with random window, groups, scales and activation, then a clamp with another scale, a
// sum, a product, a pool, a linear layer.
ExportedProgram randomNetwork(uint32_t seed, int& layers) {
  Islands islands(seed);
  const int64_t groups = std::array<int64_t, 4>{1, 1, 2, 4}[islands.below(4)], inputs = 4, outputs = 8;
  const int64_t height = 5 + islands.below(6), width = 5 + islands.below(6), kernel = 1 + islands.below(3);
  islands.store("conv", {outputs, inputs / groups, kernel, kernel});
  islands.store("fc", {3, outputs});
  Node& image = islands.builder().userInput("x", tensorValue({2, inputs, height, width}));
  const auto pair = [&](uint32_t least, uint32_t range) {
    return Arg{least + islands.below(range), least + islands.below(range)};
  };
  Node& x = islands.dequantize(islands.quantize(image));
  const bool hasBias = islands.below(2) == 0;
  Node& conv = islands.call("aten.conv2d.default", {x, islands.weight("conv", islands.below(2) == 0),
                                                    hasBias ? Arg(islands.stored("conv_b")) : Arg(nullptr),
                                                    pair(1, 2), pair(0, 2), pair(1, 2), groups});
  Node& y = islands.quantize(islands.activation(conv), 0.02, islands.zero());
  Node& other = islands.quantize(islands.call("aten.hardtanh.default", {islands.dequantize(y)}));
  Node& sum = islands.call("aten.add.Tensor", {islands.dequantize(y), islands.dequantize(other)});
  Node& s = islands.quantize(islands.activation(sum));
  Node& product = islands.call("aten.mul.Tensor", {islands.dequantize(s), islands.dequantize(y)});
  Node& p = islands.quantize(islands.activation(product));
  Node& mean = islands.call("aten.mean.dim", {islands.dequantize(p), {2, -1}, false});
  Node& m = islands.quantize(mean);
  Node& relu = islands.call("aten.relu.default", {islands.dequantize(m)});
  Node& r = islands.quantize(relu);
  Node& linear = islands.call(
      "aten.linear.default",
      {islands.dequantize(r), islands.weight("fc", islands.below(2) == 0), islands.stored("fc_b")});
  islands.builder().userOutput(islands.dequantize(islands.quantize(islands.activation(linear), 0.03, 5)));
  layers = 7;
  return islands.builder().finish();
}

TEST(CortexM, RandomIslandsAreWithinAStep) {
  std::set<std::string> seen;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    int layers = 0;
    const ExportedProgram before = randomNetwork(seed, layers);
    const Lowered after = lowered(before);
    EXPECT_EQ(after.report.layers.size(), static_cast<size_t>(layers));
    EXPECT_EQ(after.report.leftovers.size(), 2u) << ::testing::PrintToString(leftoverLines(after.report));
    for (const Report::Layer& layer : after.report.layers) seen.insert(layer.op);
    expectLayersWithinOneStep(before, after, randomInputs(before, seed));
  }
  EXPECT_EQ(seen.size(), 7u);
}

// quantize(pool(dequantize(quantize(x)))) of an image with 6 x 6 pixels.
ExportedProgram pooled(const char* target, const Args& more) {
  Islands islands(4);
  Node& x = islands.builder().userInput("x", tensorValue({2, 3, 6, 6}));
  Args args{islands.dequantize(islands.quantize(x, 0.03, 9))};
  args.insert(args.end(), more.begin(), more.end());
  islands.builder().userOutput(islands.dequantize(islands.quantize(islands.call(target, args), 0.02, -11)));
  return islands.builder().finish();
}

TEST(CortexM, PoolsOfAllKinds) {
  const char *average = "aten.avg_pool2d.default", *adaptive = "aten.adaptive_avg_pool2d.default";
  const auto check = [](const ExportedProgram& before, const std::string& reason) {
    const Lowered after = lowered(before);
    if (reason.empty()) {
      EXPECT_EQ(after.report.layers.size(), 1u);
      expectLayersWithinOneStep(before, after, randomInputs(before, 6));
      return;
    }
    EXPECT_TRUE(after.report.layers.empty());
    const auto isPool = [](const Report::Leftover& left) {
      return left.op.find("pool") != std::string::npos;
    };
    const auto pool = std::ranges::find_if(after.report.leftovers, isPool);
    ASSERT_NE(pool, after.report.leftovers.end());
    EXPECT_EQ(pool->reason, reason);
  };
  check(pooled(average, {{2, 3}}), "");
  check(pooled(average, {{3}, {2, 1}, {1, 0}}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {1, 1}, false, true, 5}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {1, 1}, false, false, 7}), "");
  check(pooled(average, {{3, 3}, {1, 1}, {0, 0}, false, false}), "");
  check(pooled(adaptive, {{2, 3}}), "");
  check(pooled("aten.mean.dim", {{-1, -2}, true}), "");
  check(pooled(average, {{3, 3}, {2, 2}, {1, 1}, false, false}),
        "its windows at the border divide by less than those inside");
  check(pooled(average, {{4, 4}, {3, 3}, {0, 0}, true}), "it rounds the size of its result up");
  check(pooled(adaptive, {{4, 3}}), "its windows are not all of one size");
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

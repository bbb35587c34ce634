#pragma once

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>

#include "backend.h"
#include "layer_check.h"
#include "quantization.h"
#include "support/program_builder.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

// What the tests of the integer library's lowering share.
namespace cortex_m {

using namespace edgefx;
using edgefx::test::ProgramBuilder;
using edgefx::test::tensorValue;

struct Lowered {
  ExportedProgram program;
  Report report;
};

inline Lowered lowered(const ExportedProgram& original) {
  Lowered result;
  const Backend backend(&result.report);
  result.program = lowerProgram(original, backend, "forward");
  ShapeRules rules;
  backend.addShapeRules(rules);
  for (const Diagnostic& fault : checkShapes(result.program, &rules)) ADD_FAILURE() << fault.render();
  verifyProgram(result.program);
  return result;
}

inline std::map<std::string, int> operatorsOf(const ExportedProgram& program) {
  std::map<std::string, int> counts;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall()) ++counts[std::string(node.target().name())];
  }
  return counts;
}

inline std::vector<std::string> leftoverLines(const Report& report) {
  std::vector<std::string> lines;
  for (const Report::Leftover& left : report.leftovers) {
    lines.push_back("%" + left.node + " " + left.op + (left.source.empty() ? "" : " at " + left.source) +
                    ": " + left.reason);
  }
  return lines;
}

// Every layer within one step of the float operators it replaced, on the same operands.
inline void expectLayersWithinOneStep(const ExportedProgram& before, const Lowered& after,
                                      const std::vector<c10::IValue>& inputs) {
  const std::vector<LayerCheck> checks = checkLayers(before, after.program, after.report, inputs);
  EXPECT_EQ(checks.size(), after.report.layers.size());
  for (const LayerCheck& check : checks) EXPECT_LE(check.steps, 1) << check.node << " " << check.op;
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

inline std::vector<c10::IValue> randomInputs(const ExportedProgram& program, uint32_t seed) {
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

}  // namespace cortex_m

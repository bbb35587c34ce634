#include <edgefx/ir/graph_module.h>

#include "lowering.h"

#include <algorithm>

namespace cortex_m {
namespace {

// Operators that are lowered where their operands and result are int8.
constexpr std::string_view kKnown[] = {"aten.conv2d.default",
                                       "aten.convolution.default",
                                       "aten.linear.default",
                                       "aten.addmm.default",
                                       "aten.mm.default",
                                       "aten.add.Tensor",
                                       "aten.mul.Tensor",
                                       "aten.avg_pool2d.default",
                                       "aten.adaptive_avg_pool2d.default",
                                       "aten.mean.dim",
                                       "aten._adaptive_avg_pool2d.default",
                                       "aten.relu.default",
                                       "aten.relu6.default",
                                       "aten.hardtanh.default",
                                       "aten.clamp.default",
                                       "aten.view.default",
                                       "aten.view_copy.default",
                                       "aten.flatten.using_ints",
                                       "aten.reshape.default",
                                       "aten.dropout.default"};

bool isDequantize(const edgefx::Node& node) {
  return node.callsOperator(kDequantize) || node.callsOperator(kDequantizeChannels);
}

std::string named(const edgefx::Node& node) {
  return "%" + std::string(node.name());
}

// Why an operator that has a kernel is no island.
std::string whyNoIsland(const edgefx::Node& node) {
  for (const edgefx::Node& input : node.inputs()) {
    if (input.isPlaceholder() || isDequantize(input)) continue;
    return "its operand " + named(input) + " is not dequantized from int8";
  }
  if (node.numUsers() == 1 && node.users().front().callsOperator(kQuantize))
    return "operands and result are not all int8 in the way the kernel takes them";
  for (const edgefx::Node& user : node.users()) {
    if (!user.callsOperator(kQuantize)) return "its result goes to " + named(user) + " in float32";
  }
  return "its result is quantized in more than one way";
}

// Quantizing was added to the model when it was quantized, without source: that of the operator it serves.
std::string sourceOf(const edgefx::Node& node) {
  const edgefx::Node* at = &node;
  for (int step = 0; step < 3; ++step) {
    std::string source = at->meta().sourceFrame();
    if (!source.empty() || at->numUsers() == 0) return source;
    at = &at->users().front();
    if (at->isOutput()) break;
  }
  for (const edgefx::Node& input : node.inputs()) return input.meta().sourceFrame();
  return {};
}

}  // namespace

std::string Lowering::whyLeft(const edgefx::Node& node) const {
  if (const auto known = reasons_.find(&node); known != reasons_.end()) return known->second;
  if (node.callsOperator(kQuantize)) {
    const edgefx::Node* from = node.findArg(0) == nullptr ? nullptr : node.arg(0).findNode();
    if (from == nullptr) return "it quantizes no node";
    return from->isPlaceholder() ? "the program takes " + named(*from) + " in float32"
                                 : named(*from) + ", which it quantizes, stays in float32";
  }
  if (isDequantize(node)) {
    for (const edgefx::Node& user : node.users()) {
      if (!user.isOutput()) return named(user) + ", which reads it, stays in float32";
    }
    return "the program returns it in float32";
  }
  const bool isKnown =
      std::ranges::any_of(kKnown, [&](std::string_view op) { return node.callsOperator(op); });
  return isKnown ? whyNoIsland(node) : "the library has no operator for it";
}

std::vector<Report::Leftover> Lowering::leftovers() const {
  std::vector<Report::Leftover> all;
  for (const edgefx::ConstNestedModule& nested :
       edgefx::namedModules(std::as_const(program_).graphModule())) {
    for (const edgefx::Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().ns() == "q8" || madeIndex_.contains(&node)) continue;
      all.push_back({std::string(node.name()), nested.path, std::string(node.target().name()), sourceOf(node),
                     whyLeft(node)});
    }
  }
  return all;
}

}  // namespace cortex_m

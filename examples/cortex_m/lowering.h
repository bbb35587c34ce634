#pragma once

#include <edgefx/rewrite/rules.h>

#include "backend.h"
#include "quantization.h"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace cortex_m {

void addShapes(edgefx::ShapeRules& rules);

// One program being lowered: what the rules share. Constants are collected and become inputs all at once, for
// each costs a walk over the inputs.
class Lowering {
 public:
  explicit Lowering(edgefx::ExportedProgram& program);

  Report run();

  // What the rules of this backend need.
  edgefx::ProgramRewriter& rewriter() { return rewriter_; }
  // An operator of the library in the program's dialect.
  edgefx::Target own(std::string_view op) const;
  // Notes why an island stays; the operator that computes stands for it.
  edgefx::RuleResult decline(const edgefx::Node& compute, std::string reason);
  // Throws LoweringError: the island was claimed.
  [[noreturn]] void refuse(const edgefx::Node& compute, const std::string& reason) const;
  // The factor, as arguments have it. Refuses what no Factor holds.
  Factor factor(const edgefx::Node& compute, double real) const;
  // Refuses scales that are not positive.
  void checkScale(const edgefx::Node& compute, const Quantization& quantization) const;

  // The tensor behind a placeholder of the program; null for other nodes, and where the program writes it.
  const at::Tensor* stored(const edgefx::Node* placeholder) const;
  // `weight` is read in another form from now on: argument `position` of `call` becomes a constant made of
  // it, named after it. Calls that ask for one form of one weight share it.
  void giveConstant(edgefx::Node& call, size_t position, const edgefx::Node& weight, std::string_view form,
                    at::Tensor tensor);
  // A call that does nothing and that nobody reads any more, though it counts as one that may be needed.
  void mayErase(edgefx::Node& call) { idle_.push_back(&call); }
  // The input goes if nobody reads it in the end.
  void mayDrop(const edgefx::Node* placeholder);

  // `made`, which computes what `root` did, takes its place; the source is that of `compute`.
  edgefx::RuleResult finish(edgefx::Node& root, edgefx::Node& made, const edgefx::Node& compute);
  // `made` computes what `root` did by now: the clamp between them became its own.
  edgefx::RuleResult extend(edgefx::Node& root, edgefx::Node& made);

 private:
  struct Made {
    edgefx::Node* node;
    edgefx::ValueRef original;
    std::string replaced;
  };
  struct Constant {
    std::string name;
    at::Tensor tensor;
    std::vector<std::pair<edgefx::Node*, size_t>> readers;
  };

  void addConstants();
  void settleLayouts();
  void settleLayout(edgefx::Node& node, const edgefx::ValueRef& original);
  std::vector<Report::Leftover> leftovers() const;
  std::string whyLeft(const edgefx::Node& node) const;

  edgefx::ExportedProgram& program_;
  edgefx::ShapeRules shapes_;
  edgefx::ProgramRewriter rewriter_;
  edgefx::NodeMap<const at::Tensor*> stored_;
  edgefx::NodeMap<uint8_t> mayDrop_;
  std::vector<Constant> constants_;
  std::map<std::pair<uint32_t, std::string>, size_t> constantOf_;  // by weight and form
  std::vector<Made> made_;
  std::vector<edgefx::Node*> idle_;
  std::unordered_map<const edgefx::Node*, size_t> madeIndex_;
  std::unordered_map<const edgefx::Node*, std::string> reasons_;
};

// The rules: weights.cpp has layers with weights, pointwise.cpp those without.
void addLayerRules(edgefx::RuleSet& rules, Lowering& lowering);
void addPointwiseRules(edgefx::RuleSet& rules, Lowering& lowering);

// Patterns that both share.
namespace island {
// A dequantized int8 operand, found under `name`, its dequantize node under `name`_dq.
edgefx::Pattern operand(const std::string& name);
// Adds the rule for quantize(compute) and for quantize(activation(compute)), which calls `action` with the
// same match; the activation, if any, is found under "act", the quantize node is the root.
void add(edgefx::RuleSet& rules, const std::string& name, const edgefx::Pattern& compute,
         const edgefx::RuleSet::Action& action);
// Activations that a clamp expresses, and their forms that write in place.
extern const std::initializer_list<std::string_view> kActivations;
}  // namespace island

}  // namespace cortex_m

#pragma once

#include <edgefx/rewrite/program_rewriter.h>
#include <edgefx/rewrite/rules.h>

#include "kernels.h"

#include <map>
#include <optional>
#include <string>

namespace onednn {

// Places of the arguments of onednn::convolution and onednn::linear that rules look at.
inline constexpr size_t kOther = 3;
inline constexpr size_t kConvolutionActivation = 10;
inline constexpr size_t kChannelsLast = 11;
inline constexpr size_t kLinearActivation = 6;
inline constexpr size_t kMatmulActivation = 3;

// The sizes of a tensor; nothing if it is none, or one of them is symbolic.
std::optional<Sizes> sizesOf(const edgefx::Node& node);
// The numbers of a list; nothing if something else is among them.
std::optional<Sizes> numbersOf(const edgefx::Argument& list);
edgefx::Arg listOf(const Sizes& numbers);

// Constants that hold packed weights: one for all readers that want the same layout.
class PackedWeights {
 public:
  using Pack = std::function<PackedWeight(const at::Tensor& weight)>;
  struct Input {
    edgefx::Node* node;
    std::string layout;
  };
  const Input& input(edgefx::ProgramRewriter& rewriter, const edgefx::Node& weight, const std::string& shape,
                     const Pack& pack);

 private:
  std::map<std::string, Input> inputs_;  // by weight and shape
};

// convolution -> batch norm becomes a convolution of other weights.
void addFoldingRules(edgefx::RuleSet& rules);
// Convolutions, linear layers and products become operators of this library.
void addOperatorRules(edgefx::RuleSet& rules, PackedWeights& packed);
// What follows them is done by them.
void addFusionRules(edgefx::RuleSet& rules);

}  // namespace onednn

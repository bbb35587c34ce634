#include <edgefx/program/tensor_table.h>

#include "layout.h"
#include "weights.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nhwc {

using namespace edgefx;

namespace {

// A batch norm, and the convolution before it that nothing else reads.
struct Fold {
  Node* result;  // the getitem
  Node* norm;
  Node* convolution;
  at::Tensor weight, bias;  // those that do the work of both
};

// A parameter of the batch norm as doubles, `otherwise` if there is none; nothing if it is no stored tensor.
std::optional<at::Tensor> doubles(const Weights& weights, const Argument& argument,
                                  const at::Tensor& otherwise) {
  if (argument.isNone()) return otherwise;
  const at::Tensor* stored = weights.find(argument.findNode());
  return stored == nullptr ? std::nullopt : std::optional(stored->to(at::kDouble));
}

std::optional<Fold> findFold(Node& result, const Weights& weights) {
  if (getitemIndex(result) != 0) return std::nullopt;
  Node& norm = result.arg(0).asNode();
  if (!norm.callsOperator("aten._native_batch_norm_legit_no_training.default") || norm.numUsers() != 1 ||
      norm.args().size() != 7)
    return std::nullopt;
  Node* const convolution = norm.arg(0).findNode();
  if (convolution == nullptr || !isImageConvolution(*convolution) || convolution->numUsers() != 1)
    return std::nullopt;
  const at::Tensor* const weight = weights.find(convolution->arg(1).findNode());
  if (weight == nullptr || convolution->arg(6).asBool()) return std::nullopt;

  const int64_t channels = weight->size(0);
  const at::Tensor ones = at::ones({channels}, at::kDouble), zeros = at::zeros({channels}, at::kDouble);
  const auto gamma = doubles(weights, norm.arg(1), ones), beta = doubles(weights, norm.arg(2), zeros);
  const auto mean = doubles(weights, norm.arg(3), zeros), variance = doubles(weights, norm.arg(4), ones);
  const auto bias = doubles(weights, convolution->arg(2), zeros);
  if (!gamma || !beta || !mean || !variance || !bias) return std::nullopt;
  const at::Tensor scale = gamma->div(variance->add(norm.arg(6).asFloat()).sqrt());
  const at::Tensor folded = weight->to(at::kDouble).mul(scale.reshape({channels, 1, 1, 1}));
  return Fold{&result, &norm, convolution, folded.to(at::kFloat),
              bias->sub(*mean).mul(scale).add(*beta).to(at::kFloat)};
}

}  // namespace

bool foldBatchNorms(ExportedProgram& program) {
  std::vector<Fold> folds;
  std::vector<std::pair<std::string, at::Tensor>> constants;
  const Weights weights(program);
  for (Node& node : program.graph().nodes()) {
    std::optional<Fold> fold = findFold(node, weights);
    if (!fold) continue;
    const std::string name(fold->convolution->arg(1).asNode().name());
    constants.emplace_back(name + "_folded", fold->weight);
    constants.emplace_back(name + "_folded_bias", fold->bias);
    folds.push_back(std::move(*fold));
  }
  if (folds.empty()) return false;

  ProgramRewriter rewriter(program);
  const std::vector<Node*> inputs = rewriter.addConstants(std::move(constants));
  for (size_t i = 0; i < folds.size(); ++i) {
    const Fold& fold = folds[i];
    InsertionGuard guard(program.graph(), before(*fold.result));
    Args args(fold.convolution->args().begin(), fold.convolution->args().end());
    args[1] = inputs[2 * i];
    args[2] = inputs[2 * i + 1];
    rewriter.replace(*fold.result, rewriter.call(fold.convolution->target(), args),
                     {fold.convolution, fold.norm});
  }
  rewriter.eraseDeadNodes();
  return true;
}

}  // namespace nhwc

#include "weights.h"

#include <edgefx/ir/node_queries.h>
#include <edgefx/program/tensor_table.h>

#include <ATen/core/Tensor.h>

namespace nhwc {

using namespace edgefx;

namespace {

bool readsFloatImages(const Node& call) {
  const Argument* const x = call.findArg(0);
  const TensorMeta* const image = x == nullptr ? nullptr : tensorMetaOf(x->findNode());
  return image != nullptr && image->dtype == Dtype::Float32 && image->sizes.size() == 4;
}

}  // namespace

Weights::Weights(const ExportedProgram& program) : program_(program), index_(program.signature) {
  for (const OutputSpec& output : program.signature.outputs) {
    if (writesState(output.kind) && output.target) written_.insert(*output.target);
  }
}

const at::Tensor* Weights::find(const Node* placeholder) const {
  if (placeholder == nullptr || !placeholder->isPlaceholder()) return nullptr;
  const InputSpec* const spec = index_.findInput(placeholder->name());
  if (spec == nullptr || !isStoredTensor(spec->kind) || written_.contains(spec->target.value_or("")))
    return nullptr;
  const StoredTensor* const stored = program_.findStored(*spec);
  return stored == nullptr || !stored->isTensor() ? nullptr : &stored->tensor();
}

bool isImageConvolution(const Node& node) {
  return node.callsOperator("aten.convolution.default") && node.args().size() == 9 && readsFloatImages(node);
}

bool isImagePooling(const Node& node) {
  return node.callsOperator("aten.max_pool2d_with_indices.default") && readsFloatImages(node);
}

}  // namespace nhwc

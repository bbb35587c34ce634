#include <edgefx/ir/node_queries.h>
#include <edgefx/ir/shape_inference.h>

#include "lowering.h"

// What the operators of the library return.
namespace cortex_m {
namespace {

using namespace edgefx;

const TensorMeta* operandOf(const Node& node, size_t i) {
  return node.findArg(i) == nullptr ? nullptr : tensorMetaOf(node.arg(i).findNode());
}

bool isImage(const TensorMeta* tensor) {
  return tensor != nullptr && tensor->sizes.size() == 4 && !tensor->sizes[2].isSymbolic() &&
         !tensor->sizes[3].isSymbolic();
}

// The result of a window of that size over image `x`, channels-last.
ValueRef overImage(const TensorMeta& x, SymInt channels, const Pair& kernel, const Pair& stride,
                   const Pair& padding, const Pair& dilation) {
  if (channels.isSymbolic()) return nullptr;
  TensorMeta y = contiguousTensor(Dtype::Int8, {x.sizes[0], channels, 1, 1});
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t reach = dilation[axis] * (kernel[axis] - 1) + 1;
    const int64_t room = x.sizes[2 + axis].value() + 2 * padding[axis] - reach;
    if (room < 0 || stride[axis] < 1) return nullptr;
    y.sizes[2 + axis] = room / stride[axis] + 1;
  }
  const int64_t height = y.sizes[2].value(), width = y.sizes[3].value(), count = channels.value();
  y.strides = {height * width * count, 1, width * count, count};
  return ValueMeta::of(std::move(y));
}

// The factors of a convolution follow weight and bias, then come stride, padding and dilation.
ValueRef convolutionShape(const Node& node) {
  const TensorMeta *x = operandOf(node, 0), *weight = operandOf(node, 1);
  const auto stride = pairOf(node.findArg(4), {1, 1}), padding = pairOf(node.findArg(5), {0, 0}),
             dilation = pairOf(node.findArg(6), {1, 1});
  if (!isImage(x) || weight == nullptr || weight->sizes.size() != 4 || !stride || !padding || !dilation)
    return nullptr;
  const bool isDepthwise = node.target().op() == "depthwise_conv2d";
  const Pair kernel{weight->sizes[1].value(), weight->sizes[2].value()};
  return overImage(*x, weight->sizes[isDepthwise ? 3 : 0], kernel, *stride, *padding, *dilation);
}

ValueRef linearShape(const Node& node) {
  const TensorMeta *x = operandOf(node, 0), *weight = operandOf(node, 1);
  if (x == nullptr || weight == nullptr || x->sizes.empty() || weight->sizes.size() != 2) return nullptr;
  std::vector<SymInt> sizes = x->sizes;
  sizes.back() = weight->sizes[0];
  return ValueMeta::of(contiguousTensor(Dtype::Int8, std::move(sizes)));
}

ValueRef poolShape(const Node& node) {
  const TensorMeta* x = operandOf(node, 0);
  const auto kernel = pairOf(node.findArg(1), {1, 1}), stride = pairOf(node.findArg(2), {1, 1}),
             padding = pairOf(node.findArg(3), {0, 0});
  const auto keepdim = booleanOf(node.findArg(4), true);
  if (!isImage(x) || !kernel || !stride || !padding || !keepdim) return nullptr;
  if (*keepdim) return overImage(*x, x->sizes[1], *kernel, *stride, *padding, {1, 1});
  return ValueMeta::of(contiguousTensor(Dtype::Int8, {x->sizes[0], x->sizes[1]}));
}

// Elements keep their places.
ValueRef sameAsFirst(const Node& node) {
  const TensorMeta* x = operandOf(node, 0);
  if (x == nullptr) return nullptr;
  TensorMeta y = *x;
  y.dtype = Dtype::Int8;
  y.requiresGrad = false;
  y.storageOffset = 0;
  return ValueMeta::of(std::move(y));
}

}  // namespace

void addShapes(ShapeRules& rules) {
  rules.add("q8.conv2d.default", convolutionShape);
  rules.add("q8.depthwise_conv2d.default", convolutionShape);
  rules.add("q8.linear.default", linearShape);
  rules.add("q8.avg_pool2d.default", poolShape);
  for (const char* name : {"q8.add.default", "q8.mul.default", "q8.requantize.default"})
    rules.add(name, sameAsFirst);
}

}  // namespace cortex_m

#include "layout.h"

#include "output_size.h"

#include <algorithm>
#include <vector>

namespace nhwc {

using namespace edgefx;

namespace {

using Numbers = std::vector<int64_t>;

// Sizes of an image, or numbers of a list; empty if they are not known as such.
Numbers numbersOf(const TensorMeta* tensor) {
  if (tensor == nullptr || tensor->sizes.size() != 4) return {};
  Numbers sizes;
  for (const SymInt& size : tensor->sizes) {
    if (size.isSymbolic()) return {};
    sizes.push_back(size.value());
  }
  return sizes;
}

Numbers numbersOf(const Argument& list) {
  Numbers numbers;
  for (const Argument& item : list.items()) numbers.push_back(item.asInt());
  return numbers;
}

// The value of a window that moves over %x, null if a size is not known.
ValueRef windowValue(const Node& call, const Numbers& kernel, int64_t channels, size_t firstList) {
  const Numbers x = numbersOf(tensorMetaOf(call.arg(0).findNode()));
  const Numbers stride = numbersOf(call.arg(firstList)), padding = numbersOf(call.arg(firstList + 1)),
                dilation = numbersOf(call.arg(firstList + 2));
  if (x.empty() || kernel.size() != 2) return nullptr;
  return ValueMeta::of(contiguousTensor(
      Dtype::Float32, {x[0], outputSize(x[1], kernel[0], stride[0], padding[0], dilation[0]),
                       outputSize(x[2], kernel[1], stride[1], padding[1], dilation[1]), channels}));
}

}  // namespace

bool isContiguous(const TensorMeta& tensor) {
  return tensor.strides == contiguousTensor(tensor.dtype, tensor.sizes).strides;
}

bool isLayoutCopy(const Node& node) {
  if (!node.isCall() || std::ranges::find(kLayoutCopies, node.target().name()) == kLayoutCopies.end())
    return false;
  const TensorMeta* const result = tensorMetaOf(node);
  const TensorMeta* const input = tensorMetaOf(node.arg(0).findNode());
  return result != nullptr && input != nullptr && result->dtype == input->dtype &&
         result->layout == input->layout && result->device == input->device;
}

bool isChannelsLast(const TensorMeta& tensor) {
  if (tensor.sizes.size() != 4 || isContiguous(tensor)) return false;
  const std::vector<SymInt>& n = tensor.sizes;
  const std::vector<SymInt> strides = contiguousTensor(tensor.dtype, {n[0], n[2], n[3], n[1]}).strides;
  return tensor.strides == std::vector<SymInt>{strides[0], strides[3], strides[1], strides[2]};
}

void addOwnShapeRules(ShapeRules& rules) {
  rules.add("nhwc.conv2d.default", [](const Node& call) -> ValueRef {
    const Numbers weight = numbersOf(tensorMetaOf(call.arg(1).findNode()));
    if (weight.empty()) return nullptr;
    return windowValue(call, {weight[1], weight[2]}, weight[0], 3);
  });
  rules.add("nhwc.max_pool2d.default", [](const Node& call) -> ValueRef {
    const Numbers x = numbersOf(tensorMetaOf(call.arg(0).findNode()));
    return x.empty() ? ValueRef() : windowValue(call, numbersOf(call.arg(1)), x[3], 2);
  });
}

}  // namespace nhwc

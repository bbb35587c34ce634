#include "kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace onednn {
namespace {

using OptionalTensor = c10::optional<at::Tensor>;

std::atomic<size_t> reordered = 0;

void checkFloat(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK(tensor.scalar_type() == at::kFloat && tensor.device().is_cpu(), "expected ", name,
              " to be float32 on the CPU, found ", tensor.scalar_type(), " on ", tensor.device());
}

void checkBias(const OptionalTensor& bias, int64_t size) {
  if (!bias) return;
  checkFloat(*bias, "bias");
  TORCH_CHECK(bias->dim() == 1 && bias->size(0) == size, "expected a bias of ", size, " elements, found ",
              bias->sizes());
}

// The result, which holds what is to be added.
at::Tensor resultFor(at::IntArrayRef sizes, const OptionalTensor& other, at::MemoryFormat format,
                     const at::Tensor& like) {
  at::Tensor result = at::empty(sizes, like.options(), format);
  if (!other) return result;
  checkFloat(*other, "other");
  TORCH_CHECK(other->sizes() == sizes, "expected other to have the sizes ", sizes, " of the result, found ",
              other->sizes());
  return result.copy_(*other);
}

// Runs the kernel with a weight in whatever layout it was packed.
void runPacked(const Kernel& kernel, const at::Tensor& x, const at::Tensor& packed,
               const dnnl::memory::desc& layout, const OptionalTensor& bias, at::Tensor& result) {
  checkFloat(packed, "packed");
  TORCH_CHECK(packed.is_contiguous() && packed.nbytes() >= layout.get_size(), "expected a packed weight of ",
              layout.get_size(), " bytes, found ", packed.nbytes());
  const at::Tensor plainBias = bias ? bias->contiguous() : at::Tensor();
  const void* biasData = bias ? plainBias.data_ptr() : nullptr;
  if (kernel.weights == layout)
    return run(kernel, x.data_ptr(), packed.data_ptr(), biasData, result.data_ptr());
  ++reordered;
  const auto floats = static_cast<int64_t>(kernel.weights.get_size() / sizeof(float) + 1);
  const at::Tensor wanted = at::empty({floats}, packed.options());
  reorder(layout, packed.data_ptr(), kernel.weights, wanted.data_ptr());
  run(kernel, x.data_ptr(), wanted.data_ptr(), biasData, result.data_ptr());
}

at::Tensor convolutionOp(const at::Tensor& x, const at::Tensor& packed, const OptionalTensor& bias,
                         const OptionalTensor& other, at::IntArrayRef weightSizes,
                         c10::string_view weightLayout, at::IntArrayRef stride, at::IntArrayRef padding,
                         at::IntArrayRef dilation, int64_t groups, c10::string_view activation,
                         bool channelsLast) {
  checkFloat(x, "x");
  TORCH_CHECK(x.dim() == 4 && weightSizes.size() == 4 && stride.size() == 2 && padding.size() == 2 &&
                  dilation.size() == 2 && groups >= 1 && x.size(1) == groups * weightSizes[1] &&
                  weightSizes[0] % groups == 0,
              "shapes do not fit: x ", x.sizes(), ", weight ", weightSizes, ", groups ", groups);
  TORCH_CHECK(std::min(stride[0], stride[1]) > 0, "expected strides above 0, found ", stride);
  checkBias(bias, weightSizes[0]);
  const ConvolutionShape shape{x.sizes().vec(), weightSizes.vec(), stride.vec(),
                               padding.vec(),   dilation.vec(),    groups};
  const at::Tensor from = x.contiguous(at::MemoryFormat::ChannelsLast);
  at::Tensor result = resultFor(shape.output(), other, at::MemoryFormat::ChannelsLast, x);
  if (result.numel() == 0) return result;
  const KernelRef kernel = convolution(shape, bias.has_value(), {other.has_value(), std::string(activation)});
  runPacked(*kernel, from, packed, layoutOf(shape.weight, groups, std::string(weightLayout)), bias, result);
  return channelsLast ? result : result.contiguous();
}

at::Tensor linearOp(const at::Tensor& x, const at::Tensor& packed, const OptionalTensor& bias,
                    const OptionalTensor& other, at::IntArrayRef weightSizes, c10::string_view weightLayout,
                    c10::string_view activation) {
  checkFloat(x, "x");
  TORCH_CHECK(x.dim() >= 1 && weightSizes.size() == 2 && x.size(-1) == weightSizes[1],
              "shapes do not fit: x ", x.sizes(), ", weight ", weightSizes);
  checkBias(bias, weightSizes[0]);
  Sizes sizes = x.sizes().vec();
  sizes.back() = weightSizes[0];
  const at::Tensor from = x.contiguous();
  at::Tensor result = resultFor(sizes, other, at::MemoryFormat::Contiguous, x);
  if (result.numel() == 0) return result;
  const KernelRef kernel = innerProduct(result.numel() / weightSizes[0], weightSizes.vec(), bias.has_value(),
                                        {other.has_value(), std::string(activation)});
  runPacked(*kernel, from, packed, layoutOf(weightSizes.vec(), 1, std::string(weightLayout)), bias, result);
  return result;
}

at::Tensor matmulOp(const at::Tensor& a, const at::Tensor& b, const OptionalTensor& bias,
                    c10::string_view activation) {
  checkFloat(a, "a");
  checkFloat(b, "b");
  const int64_t rank = a.dim();
  TORCH_CHECK(rank >= 2 && rank == b.dim() && a.size(-1) == b.size(-2) &&
                  a.sizes().slice(0, rank - 2) == b.sizes().slice(0, rank - 2),
              "shapes do not fit: a ", a.sizes(), ", b ", b.sizes());
  checkBias(bias, b.size(-1));
  Sizes sizes = a.sizes().vec();
  sizes.back() = b.size(-1);
  at::Tensor result = at::empty(sizes, a.options());
  if (result.numel() == 0) return result;
  const at::Tensor left = a.contiguous(), right = b.contiguous();
  const at::Tensor plainBias = bias ? bias->contiguous() : at::Tensor();
  const int64_t batch = result.numel() / (a.size(-2) * b.size(-1));
  const KernelRef kernel =
      product(batch, a.size(-2), a.size(-1), b.size(-1), bias.has_value(), {false, std::string(activation)});
  run(*kernel, left.data_ptr(), right.data_ptr(), bias ? plainBias.data_ptr() : nullptr, result.data_ptr());
  return result;
}

PackedWeight pack(const at::Tensor& weight, int64_t groups, const dnnl::memory::desc& wanted) {
  const Sizes sizes = weight.sizes().vec();
  const dnnl::memory::desc plain = plainLayout(sizes, groups);
  std::string name = layoutName(wanted);
  const dnnl::memory::desc layout = name.empty() ? plain : wanted;
  if (name.empty()) name = layoutName(plain);  // a layout without a name could not be told to the operator
  const auto floats = static_cast<int64_t>((layout.get_size() + sizeof(float) - 1) / sizeof(float));
  at::Tensor bytes = at::zeros({floats}, weight.options().requires_grad(false));
  const at::Tensor from = weight.detach().contiguous();
  reorder(plain, from.data_ptr(), layout, bytes.data_ptr());
  return {std::move(bytes), std::move(name)};
}

}  // namespace

void registerOperators() {
  // From a function, for a static library loses registrations that nothing refers to.
  static torch::Library* library = [] {
    auto* made = new torch::Library(torch::Library::DEF, "onednn", c10::nullopt, __FILE__, __LINE__);
    made->def(
        "convolution(Tensor x, Tensor packed, Tensor? bias, Tensor? other, int[] weight_sizes, str "
        "weight_layout, int[] stride, int[] padding, int[] dilation, int groups, str activation, bool "
        "channels_last) -> Tensor",
        TORCH_FN(convolutionOp));
    made->def(
        "linear(Tensor x, Tensor packed, Tensor? bias, Tensor? other, int[] weight_sizes, str weight_layout, "
        "str activation) -> Tensor",
        TORCH_FN(linearOp));
    made->def("matmul(Tensor a, Tensor b, Tensor? bias, str activation) -> Tensor", TORCH_FN(matmulOp));
    return made;
  }();
  static_cast<void>(library);
}

PackedWeight packConvolution(const at::Tensor& weight, const ConvolutionShape& shape) {
  return pack(weight, shape.groups, convolution(shape, true, {false, "none"})->weights);
}

PackedWeight packLinear(const at::Tensor& weight, int64_t rows) {
  return pack(weight, 1, innerProduct(rows, weight.sizes().vec(), true, {false, "none"})->weights);
}

size_t reorderedWeights() {
  return reordered;
}

}  // namespace onednn

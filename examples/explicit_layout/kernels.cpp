#include "kernels.h"

#include "output_size.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace nhwc {
namespace {

using Ints = at::IntArrayRef;

void checkImage(const char* name, const at::Tensor& x, std::initializer_list<Ints> lists) {
  TORCH_CHECK(x.dim() == 4 && x.scalar_type() == at::kFloat, name,
              ": expected float32 images [N, H, W, C], found ", x.scalar_type(), " ", x.sizes());
  for (const Ints& list : lists)
    TORCH_CHECK(list.size() == 2, name, ": expected two numbers, for height and width, found ", list);
}

at::Tensor newImage(const char* name, const at::Tensor& x, Ints kernel, Ints stride, Ints padding,
                    Ints dilation, int64_t channels) {
  const int64_t height = outputSize(x.size(1), kernel[0], stride[0], padding[0], dilation[0]);
  const int64_t width = outputSize(x.size(2), kernel[1], stride[1], padding[1], dilation[1]);
  TORCH_CHECK(height > 0 && width > 0, name, ": a kernel of ", kernel, " does not fit into ", x.sizes());
  return at::empty({x.size(0), height, width, channels}, x.options());
}

// Calls visit(pixel, row of the kernel, column of the kernel) for what lies inside of the image.
template <typename Visit>
void forEachPixel(const at::Tensor& x, const float* image, int64_t row, int64_t column, Ints kernel,
                  Ints stride, Ints padding, Ints dilation, Visit&& visit) {
  for (int64_t i = 0; i < kernel[0]; ++i) {
    const int64_t fromRow = row * stride[0] - padding[0] + i * dilation[0];
    if (fromRow < 0 || fromRow >= x.size(1)) continue;
    for (int64_t j = 0; j < kernel[1]; ++j) {
      const int64_t fromColumn = column * stride[1] - padding[1] + j * dilation[1];
      if (fromColumn < 0 || fromColumn >= x.size(2)) continue;
      visit(image + (fromRow * x.size(2) + fromColumn) * x.size(3), i, j);
    }
  }
}

at::Tensor conv2d(const at::Tensor& image, const at::Tensor& filters, const c10::optional<at::Tensor>& bias,
                  Ints stride, Ints padding, Ints dilation, int64_t groups) {
  constexpr const char* kName = "nhwc::conv2d";
  checkImage(kName, image, {stride, padding, dilation});
  TORCH_CHECK(filters.dim() == 4 && groups > 0 && filters.size(0) % groups == 0 &&
                  filters.size(3) * groups == image.size(3),
              kName, ": shapes do not fit: x ", image.sizes(), ", weight ", filters.sizes(), ", groups ",
              groups);
  const at::Tensor x = image.contiguous(), weight = filters.contiguous();
  const at::Tensor offset = bias ? bias->contiguous() : at::Tensor();
  TORCH_CHECK(!bias || offset.numel() == weight.size(0), kName, ": expected a bias for each of ",
              weight.size(0), " channels, found ", offset.numel());
  const Ints kernel = weight.sizes().slice(1, 2);
  const int64_t channels = weight.size(0), perGroup = channels / groups, inner = weight.size(3);
  at::Tensor result = newImage(kName, x, kernel, stride, padding, dilation, channels);
  const float* const w = weight.data_ptr<float>();
  float* out = result.data_ptr<float>();
  for (int64_t n = 0; n < result.size(0); ++n) {
    const float* const from = x.data_ptr<float>() + n * x.stride(0);
    for (int64_t row = 0; row < result.size(1); ++row) {
      for (int64_t column = 0; column < result.size(2); ++column, out += channels) {
        if (bias) {
          std::copy_n(offset.data_ptr<float>(), channels, out);
        } else {
          std::fill_n(out, channels, 0.0f);
        }
        forEachPixel(x, from, row, column, kernel, stride, padding, dilation,
                     [&](const float* pixel, int64_t i, int64_t j) {
                       for (int64_t o = 0; o < channels; ++o) {
                         // Both the pixel and the filter have their channels side by side.
                         const float* const filter = w + ((o * kernel[0] + i) * kernel[1] + j) * inner;
                         const float* const in = pixel + o / perGroup * inner;
                         float sum = 0;
                         for (int64_t c = 0; c < inner; ++c) sum += in[c] * filter[c];
                         out[o] += sum;
                       }
                     });
      }
    }
  }
  return result;
}

at::Tensor maxPool2d(const at::Tensor& image, Ints kernel, Ints stride, Ints padding, Ints dilation) {
  constexpr const char* kName = "nhwc::max_pool2d";
  checkImage(kName, image, {kernel, stride, padding, dilation});
  const at::Tensor x = image.contiguous();
  const int64_t channels = x.size(3);
  at::Tensor result = newImage(kName, x, kernel, stride, padding, dilation, channels);
  float* out = result.data_ptr<float>();
  for (int64_t n = 0; n < result.size(0); ++n) {
    const float* const from = x.data_ptr<float>() + n * x.stride(0);
    for (int64_t row = 0; row < result.size(1); ++row) {
      for (int64_t column = 0; column < result.size(2); ++column, out += channels) {
        std::fill_n(out, channels, -std::numeric_limits<float>::infinity());
        forEachPixel(x, from, row, column, kernel, stride, padding, dilation,
                     [&](const float* pixel, int64_t, int64_t) {
                       // NaN counts as the largest, as in PyTorch.
                       for (int64_t c = 0; c < channels; ++c)
                         out[c] = pixel[c] > out[c] || std::isnan(pixel[c]) ? pixel[c] : out[c];
                     });
      }
    }
  }
  return result;
}

}  // namespace

void registerOperators() {
  // From a function, for a static library loses registrations that nothing refers to.
  static torch::Library* library = [] {
    auto* made = new torch::Library(torch::Library::DEF, "nhwc", c10::nullopt, __FILE__, __LINE__);
    made->def(
        "conv2d(Tensor x, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int "
        "groups) "
        "-> Tensor",
        TORCH_FN(conv2d));
    made->def("max_pool2d(Tensor x, int[] kernel, int[] stride, int[] padding, int[] dilation) -> Tensor",
              TORCH_FN(maxPool2d));
    return made;
  }();
  static_cast<void>(library);
}

}  // namespace nhwc

#include "kernels.h"

#include "kernel_arguments.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <vector>

namespace cortex_m {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr at::MemoryFormat kChannelsLast = at::MemoryFormat::ChannelsLast;

void checkInt8(const Tensor& x, int64_t rank) {
  TORCH_CHECK(x.scalar_type() == at::kChar && x.dim() == rank, "q8: expected int8 of rank ", rank, ", found ",
              x.scalar_type(), " of rank ", x.dim());
}

// Bias and factors of the channels of a layer.
class Channels {
 public:
  Channels(const Tensor& bias, const Tensor& factors, int64_t count)
      : bias_(bias.contiguous()), factors_(factors.contiguous()), step_(factors.size(-1) == 1 ? 0 : 1) {
    TORCH_CHECK(bias.scalar_type() == at::kInt && bias.dim() == 1 && bias.size(0) == count,
                "q8: expected an int32 bias of ", count, " channels, found ", bias.sizes());
    TORCH_CHECK(factors.scalar_type() == at::kInt && factors.dim() == 2 && factors.size(0) == 2 &&
                    (factors.size(1) == 1 || factors.size(1) == count),
                "q8: expected int32 factors [2, 1] or [2, ", count, "], found ", factors.sizes());
    const int32_t* shifts = factors_.data_ptr<int32_t>() + factors_.size(1);
    for (int64_t i = 0; i < factors_.size(1); ++i)
      TORCH_CHECK(shifts[i] >= -31 && shifts[i] <= 30, "q8: expected a shift from -31 to 30, found ",
                  shifts[i]);
  }

  const int32_t* bias() const { return bias_.data_ptr<int32_t>(); }
  Factor factor(int64_t channel) const {
    const int32_t* at = factors_.data_ptr<int32_t>() + channel * step_;
    return {at[0], at[factors_.size(1)]};
  }

 private:
  Tensor bias_, factors_;
  int64_t step_;
};

// One window of a convolution or of a pool moves over an image.
struct Window {
  int64_t height, width, kernelHeight, kernelWidth;
  IntArrayRef stride, padding, dilation;

  int64_t outputSize(size_t axis) const {
    const int64_t size = axis == 0 ? height : width, kernel = axis == 0 ? kernelHeight : kernelWidth;
    return (size + 2 * padding[axis] - dilation[axis] * (kernel - 1) - 1) / stride[axis] + 1;
  }
  void check() const {
    const auto isPair = [](IntArrayRef values, int64_t least) {
      return values.size() == 2 && values[0] >= least && values[1] >= least;
    };
    TORCH_CHECK(isPair(stride, 1) && isPair(padding, 0) && isPair(dilation, 1),
                "q8: expected pairs, found stride ", stride, ", padding ", padding, ", dilation ", dilation);
    const bool isEmpty = height + 2 * padding[0] < dilation[0] * (kernelHeight - 1) + 1 ||
                         width + 2 * padding[1] < dilation[1] * (kernelWidth - 1) + 1;
    TORCH_CHECK(!isEmpty, "q8: the window ", kernelHeight, " x ", kernelWidth, " is larger than the image ",
                height, " x ", width);
  }
  // Calls visit(tap, y, x) for the taps at an output that lie within the image. What lies outside is zero,
  // and adds nothing.
  template <typename Visit>
  void visitTaps(int64_t outY, int64_t outX, Visit&& visit) const {
    for (int64_t i = 0; i < kernelHeight; ++i) {
      const int64_t y = outY * stride[0] - padding[0] + i * dilation[0];
      if (y < 0 || y >= height) continue;
      for (int64_t j = 0; j < kernelWidth; ++j) {
        const int64_t x = outX * stride[1] - padding[1] + j * dilation[1];
        if (x >= 0 && x < width) visit(i * kernelWidth + j, y, x);
      }
    }
  }
};

// Calls pixel(n, y, x, result) for every place of a channels-last result [N, channels, H, W].
template <typename Pixel>
Tensor overPixels(const Tensor& x, int64_t channels, const Window& window, Pixel&& pixel) {
  window.check();
  const int64_t height = window.outputSize(0), width = window.outputSize(1);
  Tensor result = at::empty({x.size(0), channels, height, width}, x.options(), kChannelsLast);
  int8_t* out = result.data_ptr<int8_t>();
  for (int64_t n = 0; n < x.size(0); ++n) {
    for (int64_t row = 0; row < height; ++row) {
      for (int64_t column = 0; column < width; ++column, out += channels) pixel(n, row, column, out);
    }
  }
  return result;
}

int32_t dot(const int8_t* x, const int8_t* weight, int64_t count, int32_t xZero) {
  int32_t sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (x[i] - xZero) * weight[i];
  return sum;
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& factors,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups, int64_t xZero,
              int64_t yZero, int64_t yMin, int64_t yMax) {
  checkInt8(x, 4);
  checkInt8(weight, 4);
  const int64_t inputs = x.size(1), outputs = weight.size(0), inner = weight.size(3);
  TORCH_CHECK(groups > 0 && inner * groups == inputs && outputs % groups == 0, "q8::conv2d: weight ",
              weight.sizes(), " does not fit x ", x.sizes(), " in ", groups, " groups");
  const Tensor image = x.contiguous(kChannelsLast), taps = weight.contiguous();
  const Channels channels(bias, factors, outputs);
  const Output output = outputFrom(yZero, yMin, yMax);
  const Window window{x.size(2), x.size(3), weight.size(1), weight.size(2), stride, padding, dilation};
  const int64_t numTaps = window.kernelHeight * window.kernelWidth;
  const int8_t* in = image.data_ptr<int8_t>();
  const int8_t* w = taps.data_ptr<int8_t>();
  const int32_t zero = narrow(xZero);
  return overPixels(x, outputs, window, [&](int64_t n, int64_t row, int64_t column, int8_t* out) {
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t first = o / (outputs / groups) * inner;
      int32_t sum = channels.bias()[o];
      window.visitTaps(row, column, [&](int64_t tap, int64_t i, int64_t j) {
        sum += dot(in + ((n * window.height + i) * window.width + j) * inputs + first,
                   w + (o * numTaps + tap) * inner, inner, zero);
      });
      out[o] = output(requantize(sum, channels.factor(o)));
    }
  });
}

Tensor depthwiseConv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& factors,
                       IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t xZero,
                       int64_t yZero, int64_t yMin, int64_t yMax) {
  checkInt8(x, 4);
  checkInt8(weight, 4);
  const int64_t inputs = x.size(1), outputs = weight.size(3);
  TORCH_CHECK(weight.size(0) == 1 && inputs > 0 && outputs % inputs == 0, "q8::depthwise_conv2d: weight ",
              weight.sizes(), " does not fit x ", x.sizes());
  const Tensor image = x.contiguous(kChannelsLast), taps = weight.contiguous();
  const Channels channels(bias, factors, outputs);
  const Output output = outputFrom(yZero, yMin, yMax);
  const Window window{x.size(2), x.size(3), weight.size(1), weight.size(2), stride, padding, dilation};
  const int64_t multiplier = outputs / inputs;
  const int8_t* in = image.data_ptr<int8_t>();
  const int8_t* w = taps.data_ptr<int8_t>();
  const int32_t zero = narrow(xZero);
  std::vector<int32_t> sums(static_cast<size_t>(outputs));
  return overPixels(x, outputs, window, [&](int64_t n, int64_t row, int64_t column, int8_t* out) {
    std::copy_n(channels.bias(), outputs, sums.begin());
    window.visitTaps(row, column, [&](int64_t tap, int64_t i, int64_t j) {
      const int8_t* pixel = in + ((n * window.height + i) * window.width + j) * inputs;
      const int8_t* tapWeight = w + tap * outputs;
      for (int64_t o = 0; o < outputs; ++o)
        sums[static_cast<size_t>(o)] += (pixel[o / multiplier] - zero) * tapWeight[o];
    });
    for (int64_t o = 0; o < outputs; ++o)
      out[o] = output(requantize(sums[static_cast<size_t>(o)], channels.factor(o)));
  });
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& factors, int64_t xZero,
              int64_t yZero, int64_t yMin, int64_t yMax) {
  checkInt8(weight, 2);
  const int64_t outputs = weight.size(0), inner = weight.size(1);
  TORCH_CHECK(x.scalar_type() == at::kChar && x.dim() >= 1 && x.size(-1) == inner, "q8::linear: weight ",
              weight.sizes(), " does not fit x ", x.sizes());
  const Tensor rows = x.contiguous(), matrix = weight.contiguous();
  const Channels channels(bias, factors, outputs);
  const Output output = outputFrom(yZero, yMin, yMax);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = outputs;
  Tensor result = at::empty(sizes, x.options());
  int8_t* out = result.data_ptr<int8_t>();
  const int8_t* in = rows.data_ptr<int8_t>();
  const int32_t zero = narrow(xZero);
  const int64_t count = outputs == 0 ? 0 : result.numel() / outputs;
  for (int64_t row = 0; row < count; ++row, in += inner) {
    for (int64_t o = 0; o < outputs; ++o) {
      const int32_t sum = channels.bias()[o] + dot(in, matrix.data_ptr<int8_t>() + o * inner, inner, zero);
      *out++ = output(requantize(sum, channels.factor(o)));
    }
  }
  return result;
}

Tensor avgPool2d(const Tensor& x, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding, bool keepdim,
                 int64_t xZero, IntArrayRef yFactor, int64_t yZero, int64_t yMin, int64_t yMax) {
  checkInt8(x, 4);
  TORCH_CHECK(kernel.size() == 2, "q8::avg_pool2d: expected a pair, found kernel ", kernel);
  const Tensor image = x.contiguous(kChannelsLast);
  const Factor factor = factorFrom(yFactor);
  const Output output = outputFrom(yZero, yMin, yMax);
  const int64_t channels = x.size(1), ones[] = {1, 1};
  const Window window{x.size(2), x.size(3), kernel[0], kernel[1], stride, padding, ones};
  const int8_t* in = image.data_ptr<int8_t>();
  const int32_t zero = narrow(xZero);
  std::vector<int32_t> sums(static_cast<size_t>(channels));
  Tensor result = overPixels(x, channels, window, [&](int64_t n, int64_t row, int64_t column, int8_t* out) {
    std::fill(sums.begin(), sums.end(), 0);
    window.visitTaps(row, column, [&](int64_t, int64_t i, int64_t j) {
      const int8_t* pixel = in + ((n * window.height + i) * window.width + j) * channels;
      for (int64_t c = 0; c < channels; ++c) sums[static_cast<size_t>(c)] += pixel[c] - zero;
    });
    for (int64_t c = 0; c < channels; ++c) out[c] = output(requantize(sums[static_cast<size_t>(c)], factor));
  });
  return keepdim ? result : result.reshape({x.size(0), channels});
}

}  // namespace

TORCH_LIBRARY(q8, library) {
  library.def(
      "conv2d(Tensor x, Tensor weight, Tensor bias, Tensor factors, int[2] stride, int[2] padding, int[2] "
      "dilation, int groups, int x_zero, int y_zero, int y_min, int y_max) -> Tensor");
  library.def(
      "depthwise_conv2d(Tensor x, Tensor weight, Tensor bias, Tensor factors, int[2] stride, int[2] padding, "
      "int[2] dilation, int x_zero, int y_zero, int y_min, int y_max) -> Tensor");
  library.def(
      "linear(Tensor x, Tensor weight, Tensor bias, Tensor factors, int x_zero, int y_zero, int y_min, int "
      "y_max) -> Tensor");
  library.def(
      "add(Tensor a, Tensor b, int a_zero, int[2] a_factor, int b_zero, int[2] b_factor, int[2] y_factor, "
      "int "
      "y_zero, int y_min, int y_max) -> Tensor");
  library.def(
      "mul(Tensor a, Tensor b, int a_zero, int b_zero, int[2] y_factor, int y_zero, int y_min, int y_max) -> "
      "Tensor");
  library.def(
      "avg_pool2d(Tensor x, int[2] kernel, int[2] stride, int[2] padding, bool keepdim, int x_zero, int[2] "
      "y_factor, int y_zero, int y_min, int y_max) -> Tensor");
  library.def(
      "requantize(Tensor x, int x_zero, int[2] y_factor, int y_zero, int y_min, int y_max) -> Tensor");
}

// For the CPU only: tensors without data have no values to read.
TORCH_LIBRARY_IMPL(q8, CPU, library) {
  library.impl("conv2d", TORCH_FN(conv2d));
  library.impl("depthwise_conv2d", TORCH_FN(depthwiseConv2d));
  library.impl("linear", TORCH_FN(linear));
  library.impl("avg_pool2d", TORCH_FN(avgPool2d));
}

}  // namespace cortex_m

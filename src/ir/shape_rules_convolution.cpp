#include "ir/shape_layout.h"
#include "ir/shape_rules.h"
#include "ir/sym_arith.h"

#include <algorithm>

// Convolutions, pooling and resampling: operators on images of one to three dimensions.
namespace edgefx::detail {
namespace {

// (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1, rounded up or down.
SymInt windowCount(const ShapeCall& call, const SymInt& size, const SymInt& kernel, const SymInt& stride,
                   const SymInt& padding, const SymInt& dilation, bool roundUp) {
  const SymInt padded = symAdd(size, symMul(SymInt(2), padding));
  const SymInt room = symSub(padded, symAdd(symMul(dilation, symSub(kernel, SymInt(1))), SymInt(1)));
  if (!stride.isSymbolic() && stride.value() <= 0) {
    call.fail("expected a positive stride, found {}", stride.value());
  }
  const SymInt top = roundUp ? symAdd(room, symSub(stride, SymInt(1))) : room;
  const SymInt count = symAdd(symFloorDiv(top, stride), SymInt(1));
  if (!count.isSymbolic() && count.value() < 1) {
    call.fail("expected a kernel no larger than the padded input of {}, found {}", padded.text(),
              kernel.text());
  }
  if (!roundUp) return count;
  // The last window must begin inside the input or the padding before it.
  if (count.isSymbolic()) throw ShapeUnknown();
  const std::optional<int> order =
      symCompare(symMul(SymInt(count.value() - 1), stride), symAdd(size, padding));
  if (!order) throw ShapeUnknown();
  return *order >= 0 ? SymInt(count.value() - 1) : count;
}

struct ConvolutionArgs {
  Dims stride, padding, dilation, outputPadding;
  bool transposed = false;
  int64_t groups = 1;
};

TensorMeta convolved(const ShapeCall& call, const TensorMeta& input, const TensorMeta& weight, size_t spatial,
                     const ConvolutionArgs& args) {
  if (input.sizes.size() == spatial + 1) {
    TensorMeta one = input;
    one.sizes.insert(one.sizes.begin(), SymInt(1));
    one.strides.insert(one.strides.begin(), symMul(input.sizes[0], input.strides[0]));
    TensorMeta result = convolved(call, one, weight, spatial, args);
    result.sizes.erase(result.sizes.begin());
    result.strides.erase(result.strides.begin());
    return result;
  }
  if (input.sizes.size() != spatial + 2 || weight.sizes.size() != spatial + 2) {
    call.fail("expected an input of {} dimensions and a weight of as many, found sizes {} and {}",
              spatial + 2, dimsText(input.sizes), dimsText(weight.sizes));
  }
  if (input.dtype != weight.dtype) {
    call.fail("expected tensors of one type, found {} and {}", fxText(input.dtype), fxText(weight.dtype));
  }
  const SymInt& channels = input.sizes[1];
  const SymInt wanted = args.transposed ? weight.sizes[0] : symMul(weight.sizes[1], SymInt(args.groups));
  if (!channels.isSymbolic() && !wanted.isSymbolic() && channels.value() != wanted.value()) {
    call.fail("expected an input of {} channels, found sizes {}", wanted.value(), dimsText(input.sizes));
  }
  Dims sizes = {input.sizes[0]};
  sizes.push_back(args.transposed ? symMul(weight.sizes[1], SymInt(args.groups)) : weight.sizes[0]);
  for (size_t i = 0; i < spatial; ++i) {
    const SymInt& size = input.sizes[2 + i];
    const SymInt& kernel = weight.sizes[2 + i];
    if (!args.transposed) {
      sizes.push_back(
          windowCount(call, size, kernel, args.stride[i], args.padding[i], args.dilation[i], false));
      continue;
    }
    SymInt length = symMul(symSub(size, SymInt(1)), args.stride[i]);
    length = symSub(length, symMul(SymInt(2), args.padding[i]));
    length = symAdd(length, symMul(args.dilation[i], symSub(kernel, SymInt(1))));
    length = symAdd(length, symAdd(args.outputPadding[i], SymInt(1)));
    if (!length.isSymbolic() && length.value() <= 0) {
      call.fail("expected an output that is not empty, found size {}", length.value());
    }
    sizes.push_back(length);
  }
  MemoryFormat format = MemoryFormat::Contiguous;
  if (spatial >= 2 && input.dtype != Dtype::Float64) {
    format = suggestedFormat(input);
    if (format == MemoryFormat::Contiguous) format = suggestedFormat(weight);
  }
  return formatted(call, input, input.dtype, std::move(sizes), format);
}

ValueRef convolutionShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  const TensorMeta& weight = call.tensor(1, "weight");
  if (weight.sizes.size() < 3)
    call.fail("expected a weight of 3 or more dimensions, found {}", dimsText(weight.sizes));
  const size_t spatial = weight.sizes.size() - 2;
  ConvolutionArgs args;
  args.stride = call.perDimension(3, "stride", spatial);
  args.padding = call.perDimension(4, "padding", spatial);
  args.dilation = call.perDimension(5, "dilation", spatial);
  args.transposed = call.boolean(6, "transposed", false);
  args.outputPadding = call.perDimension(7, "output_padding", spatial, SymInt(0));
  args.groups = call.integer(8, "groups", 1);
  return valueOf(convolved(call, input, weight, spatial, args));
}

template <size_t kSpatial>
ValueRef convShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  const TensorMeta& weight = call.tensor(1, "weight");
  if (weight.sizes.size() != kSpatial + 2) {
    call.fail("expected a weight of {} dimensions, found sizes {}", kSpatial + 2, dimsText(weight.sizes));
  }
  ConvolutionArgs args;
  args.stride = call.perDimension(3, "stride", kSpatial, SymInt(1));
  args.dilation = call.perDimension(5, "dilation", kSpatial, SymInt(1));
  args.groups = call.integer(6, "groups", 1);
  if (call.overload() == "padding") {
    const Argument* const padding = call.find(4, "padding");
    args.padding = Dims(kSpatial, SymInt(0));
    if (padding != nullptr && (!padding->isString() || padding->asString() != "valid")) {
      // "same": the output has the input's size.
      TensorMeta same = input;
      if (weight.sizes[0].isSymbolic() || input.sizes.size() != kSpatial + 2) throw ShapeUnknown();
      same.sizes[1] = weight.sizes[0];
      MemoryFormat format = suggestedFormat(input);
      if (format == MemoryFormat::Contiguous) format = suggestedFormat(weight);
      return valueOf(formatted(call, input, input.dtype, std::move(same.sizes), format));
    }
  } else {
    args.padding = call.perDimension(4, "padding", kSpatial, SymInt(0));
  }
  return valueOf(convolved(call, input, weight, kSpatial, args));
}

template <size_t kSpatial>
ValueRef convTransposeShape(const ShapeCall& call) {
  ConvolutionArgs args;
  args.transposed = true;
  args.stride = call.perDimension(3, "stride", kSpatial, SymInt(1));
  args.padding = call.perDimension(4, "padding", kSpatial, SymInt(0));
  args.outputPadding = call.perDimension(5, "output_padding", kSpatial, SymInt(0));
  args.groups = call.integer(6, "groups", 1);
  args.dilation = call.perDimension(7, "dilation", kSpatial, SymInt(1));
  return valueOf(convolved(call, call.tensor(0, "input"), call.tensor(1, "weight"), kSpatial, args));
}

TensorMeta imageResult(const ShapeCall& call, const TensorMeta& input, size_t spatial, const Dims& window) {
  Dims sizes(input.sizes.begin(), input.sizes.end() - static_cast<ptrdiff_t>(spatial));
  sizes.insert(sizes.end(), window.begin(), window.end());
  const MemoryFormat format = spatial == 2 ? suggestedFormat(input) : MemoryFormat::Contiguous;
  return formatted(call, input, input.dtype, std::move(sizes), format);
}

void checkImage(const ShapeCall& call, const TensorMeta& input, size_t spatial) {
  if (input.sizes.size() != spatial + 1 && input.sizes.size() != spatial + 2) {
    call.fail("expected an input of {} or {} dimensions, found sizes {}", spatial + 1, spatial + 2,
              dimsText(input.sizes));
  }
}

TensorMeta pooled(const ShapeCall& call, const TensorMeta& input, size_t spatial, size_t ceilMode,
                  const Dims& dilation) {
  checkImage(call, input, spatial);
  const Dims kernel = call.perDimension(1, "kernel_size", spatial);
  Dims stride = kernel;
  if (call.find(2, "stride") != nullptr && !call.sizes(2, "stride").empty()) {
    stride = call.perDimension(2, "stride", spatial);
  }
  const Dims padding = call.perDimension(3, "padding", spatial, SymInt(0));
  const bool roundUp = call.boolean(ceilMode, "ceil_mode", false);
  Dims window;
  for (size_t i = 0; i < spatial; ++i) {
    const SymInt& size = input.sizes[input.sizes.size() - spatial + i];
    window.push_back(windowCount(call, size, kernel[i], stride[i], padding[i], dilation[i], roundUp));
  }
  return imageResult(call, input, spatial, window);
}

template <size_t kSpatial>
ValueRef maxPoolShape(const ShapeCall& call) {
  const Dims dilation = call.perDimension(4, "dilation", kSpatial, SymInt(1));
  TensorMeta values = pooled(call, call.tensor(0, "self"), kSpatial, 5, dilation);
  if (!call.op().ends_with("_with_indices")) return valueOf(std::move(values));
  TensorMeta indices = values;
  indices.dtype = Dtype::Int64;
  return valuesOf({std::move(values), std::move(indices)});
}

template <size_t kSpatial>
ValueRef avgPoolShape(const ShapeCall& call) {
  return valueOf(pooled(call, call.tensor(0, "self"), kSpatial, 4, Dims(kSpatial, SymInt(1))));
}

template <size_t kSpatial>
ValueRef adaptivePoolShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "self");
  checkImage(call, input, kSpatial);
  Dims window = call.perDimension(1, "output_size", kSpatial);
  for (size_t i = 0; i < kSpatial; ++i) {
    if (!window[i].isSymbolic() && window[i].value() == -1)
      window[i] = input.sizes[input.sizes.size() - kSpatial + i];
  }
  return valueOf(imageResult(call, input, kSpatial, window));
}

// Sizes given, or made from factors that are plain numbers.
template <size_t kSpatial>
ValueRef upsampleShape(const ShapeCall& call) {
  const TensorMeta& input = call.tensor(0, "input");
  if (input.sizes.size() != kSpatial + 2) {
    call.fail("expected an input of {} dimensions, found sizes {}", kSpatial + 2, dimsText(input.sizes));
  }
  if (call.find(1, "output_size") != nullptr) {
    return valueOf(imageResult(call, input, kSpatial, call.perDimension(1, "output_size", kSpatial)));
  }
  const bool hasCorners =
      call.op().find("linear") != std::string_view::npos || call.op().ends_with("cubic2d");
  const Argument& factors = call.at(hasCorners ? 3 : 2, "scale_factors");
  if (factors.items().size() != kSpatial) {
    call.fail("expected {} scale factors, found {}", kSpatial, factors.items().size());
  }
  Dims window;
  for (size_t i = 0; i < kSpatial; ++i) {
    const SymInt& size = input.sizes[2 + i];
    const Argument& factor = factors.items()[i];
    if (factor.kind() != ArgumentKind::Float) throw ShapeUnknown();
    const double scale = factor.asFloat();
    if (!(scale > 0 && scale < 1e6)) call.fail("expected a positive scale factor, found {}", scale);
    const auto whole = static_cast<int64_t>(scale);
    if (static_cast<double>(whole) == scale) {
      window.push_back(symMul(size, SymInt(whole)));
    } else if (size.isSymbolic()) {
      throw ShapeUnknown();
    } else {
      window.emplace_back(static_cast<int64_t>(static_cast<double>(size.value()) * scale));
    }
  }
  return valueOf(imageResult(call, input, kSpatial, window));
}

constexpr NamedShapeRule kConvolutionRules[] = {
    {"aten.convolution", convolutionShape},
    {"aten.conv1d", convShape<1>},
    {"aten.conv2d", convShape<2>},
    {"aten.conv3d", convShape<3>},
    {"aten.conv_transpose1d", convTransposeShape<1>},
    {"aten.conv_transpose2d", convTransposeShape<2>},
    {"aten.max_pool1d", maxPoolShape<1>},
    {"aten.max_pool2d", maxPoolShape<2>},
    {"aten.max_pool2d_with_indices", maxPoolShape<2>},
    {"aten.avg_pool1d", avgPoolShape<1>},
    {"aten.avg_pool2d", avgPoolShape<2>},
    {"aten.adaptive_avg_pool1d", adaptivePoolShape<1>},
    {"aten.adaptive_avg_pool2d", adaptivePoolShape<2>},
    {"aten._adaptive_avg_pool2d", adaptivePoolShape<2>},
    {"aten.upsample_nearest2d", upsampleShape<2>},
    {"aten.upsample_bilinear2d", upsampleShape<2>},
};

}  // namespace

std::span<const NamedShapeRule> convolutionShapeRules() {
  return kConvolutionRules;
}

}  // namespace edgefx::detail

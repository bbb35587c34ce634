#include "beside_aten.h"

#include <edgefx/run/verify_lowering.h>

#include "common/measure.h"
#include "kernels.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>
#include <dlfcn.h>

#include <cstdio>
#include <filesystem>
#include <functional>

namespace onednn {
namespace {

using Values = std::vector<c10::IValue>;

at::Tensor call(const char* name, const Values& arguments) {
  torch::jit::Stack stack(arguments);
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.front().toTensor();
}

struct Pair {
  std::string what;
  std::function<at::Tensor()> aten;
  std::function<at::Tensor()> own;
};

Pair convolutionPair(const ConvolutionShape& shape, bool hasBias, bool addsOther, bool channelsLast) {
  const at::Tensor x = at::randn(shape.input), weight = at::randn(shape.weight) / 16;
  const at::Tensor bias = hasBias ? at::randn({shape.weight[0]}) : at::Tensor();
  const at::Tensor other = addsOther ? at::randn(shape.output()) : at::Tensor();
  const PackedWeight packed = packConvolution(weight, shape);
  const at::Tensor source = channelsLast ? x.contiguous(at::MemoryFormat::ChannelsLast) : x;
  const auto given = [](const at::Tensor& tensor) {
    return tensor.defined() ? c10::IValue(tensor) : c10::IValue();
  };
  const Values arguments{source,         packed.bytes,  given(bias),  given(other),
                         shape.weight,   packed.layout, shape.stride, shape.padding,
                         shape.dilation, shape.groups,  "relu",       channelsLast};
  const auto aten = [=] {
    at::Tensor result = at::convolution(x, weight, bias, shape.stride, shape.padding, shape.dilation, false,
                                        std::vector<int64_t>{0, 0}, shape.groups);
    if (other.defined()) result = at::add(result, other);
    return at::relu(result);
  };
  char what[128];
  std::snprintf(what, sizeof what, "convolution %lld of %lld groups, %lldx%lld on %lldx%lld%s",
                static_cast<long long>(shape.weight[0]), static_cast<long long>(shape.groups),
                static_cast<long long>(shape.weight[2]), static_cast<long long>(shape.weight[3]),
                static_cast<long long>(shape.input[2]), static_cast<long long>(shape.input[3]),
                channelsLast ? ", channels last" : "");
  return {what, aten, [=] { return call("onednn::convolution", arguments); }};
}

Pair linearPair(int64_t rows, int64_t inner, int64_t columns, const char* activation, bool addsOther) {
  const at::Tensor x = at::randn({rows, inner}), weight = at::randn({columns, inner}) / 16,
                   bias = at::randn({columns});
  const at::Tensor other = addsOther ? at::randn({rows, columns}) : at::Tensor();
  const PackedWeight packed = packLinear(weight, rows);
  const Values arguments{x,
                         packed.bytes,
                         bias,
                         other.defined() ? c10::IValue(other) : c10::IValue(),
                         weight.sizes().vec(),
                         packed.layout,
                         activation};
  const std::string after = activation;
  const auto aten = [=] {
    at::Tensor result = at::addmm(bias, x, weight.t());
    if (other.defined()) result = at::add(result, other);
    if (after == "gelu") return at::gelu(result);
    if (after == "gelu_tanh") return at::gelu(result, "tanh");
    return after == "tanh" ? at::tanh(result) : result;
  };
  char what[128];
  std::snprintf(what, sizeof what, "linear %lldx%lld to %lld, %s", static_cast<long long>(rows),
                static_cast<long long>(inner), static_cast<long long>(columns), activation);
  return {what, aten, [=] { return call("onednn::linear", arguments); }};
}

Pair matmulPair(int64_t batch, int64_t rows, int64_t inner, int64_t columns) {
  const at::Tensor a = at::randn({batch, rows, inner}), b = at::randn({batch, inner, columns}) / 16,
                   bias = at::randn({columns});
  const auto aten = [=] { return at::add(at::bmm(a, b), bias); };
  char what[128];
  std::snprintf(what, sizeof what, "matmul with bias, %lld times %lldx%lldx%lld",
                static_cast<long long>(batch), static_cast<long long>(rows), static_cast<long long>(inner),
                static_cast<long long>(columns));
  const Values arguments{a, b, bias, "none"};
  return {what, aten, [=] { return call("onednn::matmul", arguments); }};
}

bool compareOne(const Pair& pair) {
  const edgefx::Difference difference =
      edgefx::compareValues(pair.own(), pair.aten(), {.absolute = 1e-4, .relative = 1e-4});
  const auto [aten, own] = examples::compareTimes([&pair] { pair.aten(); }, [&pair] { pair.own(); }, 0.15);
  std::printf("%-58s %10.4f %10.4f %12.3g%s\n", pair.what.c_str(), aten, own, difference.largestAbsolute,
              difference.agrees ? "" : "  differs!");
  return difference.agrees;
}

}  // namespace

std::string blasInUse() {
  const void* product = dlsym(RTLD_DEFAULT, "sgemm_");
  Dl_info library;
  if (product == nullptr || dladdr(product, &library) == 0) return "none in a library of its own";
  const std::string file = std::filesystem::weakly_canonical(library.dli_fname).string();
  const char* kind = file.find("openblas") != std::string::npos ? "OpenBLAS"
                     : file.find("/blas/") != std::string::npos ? "the reference BLAS"
                                                                : "a BLAS";
  return std::string(kind) + " (" + file + ")";
}

bool compareKernels() {
  registerOperators();
  at::manual_seed(0);
  std::printf("%-58s %10s %10s %12s\n", "kernel", "ATen ms", "oneDNN ms", "difference");
  bool agrees = true;
  const auto compare = [&agrees](const Pair& pair) { agrees = compareOne(pair) && agrees; };
  compare(convolutionPair({{1, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}}, true, true, true));
  compare(convolutionPair({{1, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}}, true, true, false));
  compare(convolutionPair({{1, 256, 14, 14}, {128, 256, 1, 1}, {2, 2}, {0, 0}, {1, 1}}, false, false, true));
  compare(convolutionPair({{2, 32, 28, 28}, {32, 1, 3, 3}, {1, 1}, {2, 2}, {2, 2}, 32}, true, false, true));
  compare(convolutionPair({{1, 12, 17, 19}, {18, 6, 5, 3}, {2, 1}, {2, 0}, {1, 2}, 2}, false, true, false));
  compare(linearPair(128, 768, 3072, "gelu", false));
  compare(linearPair(128, 3072, 768, "none", true));
  compare(linearPair(1, 768, 768, "gelu_tanh", true));
  compare(linearPair(7, 33, 65, "tanh", false));
  compare(matmulPair(12, 128, 64, 128));
  compare(matmulPair(3, 5, 7, 9));
  return agrees;
}

}  // namespace onednn

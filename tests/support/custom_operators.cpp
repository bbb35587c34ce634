#include "support/custom_operators.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <tuple>
#include <vector>

namespace edgefx::test {
namespace {

at::Tensor scaleShift(const at::Tensor& x, double scale, double shift) {
  return x.mul(scale).add(shift);
}

std::tuple<at::Tensor, at::Tensor> twoOutputs(const at::Tensor& x, int64_t dim) {
  return {x.amin({dim}), x.amax({dim})};
}

void accumulate(at::Tensor acc, const at::Tensor& x) {
  acc.add_(x);
}

std::vector<at::Tensor> splitAll(const at::Tensor& x, c10::IntArrayRef sizes, c10::string_view,
                                 c10::optional<bool>) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : x.split_with_sizes(sizes)) parts.push_back(part.clone());
  return parts;
}

void log(const at::Tensor&, c10::string_view) {}

at::Tensor logThrough(const at::Tensor& x, c10::string_view) {
  return x.clone();
}

// In a function, for the linker drops what nothing refers to.
struct CustomLibraries {
  torch::Library mylib{torch::Library::FRAGMENT, "mylib", c10::nullopt, __FILE__, __LINE__};
  torch::Library fxlog{torch::Library::FRAGMENT, "fxlog", c10::nullopt, __FILE__, __LINE__};

  CustomLibraries() {
    mylib.def("scale_shift(Tensor x, float scale, float shift=0.0) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(scaleShift)));
    mylib.def("two_outputs(Tensor x, int dim=0) -> (Tensor low, Tensor high)",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(twoOutputs)));
    mylib.def("accumulate_(Tensor(a!) acc, Tensor x) -> ()",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(accumulate)));
    mylib.def("split_all(Tensor x, int[] sizes, *, str mode='even', bool? flag=None) -> Tensor[]",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(splitAll)));
    fxlog.def("log(Tensor x, str tag) -> ()",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(log)));
    fxlog.def("log_through(Tensor x, str tag) -> Tensor",
              torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, TORCH_FN(logThrough)));
  }
};

}  // namespace

void registerCustomOperators() {
  static const CustomLibraries libraries;
}

}  // namespace edgefx::test

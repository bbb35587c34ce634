// Lowers exported programs for the kernel library in this folder and shows what changed.
//   tiny_library FILE.pt2 OUT.pt2 [FILE.pt2 OUT.pt2 ...]

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>

#include "backend.h"
#include "common/measure.h"
#include "kernels.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/randn.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

using namespace edgefx;

constexpr size_t kShortGraph = 20;  // nodes; longer graphs are shown as a table

void showChange(const ExportedProgram& before, const ExportedProgram& after) {
  if (before.graph().size() <= kShortGraph) {
    std::printf("before\n%s\nafter\n%s\n", fxText(before.graph()).c_str(), fxText(after.graph()).c_str());
  }
  std::fputs(examples::operatorTable(before, after).c_str(), stdout);
  std::printf("%-56s %7zu %7zu\n", "parameters and buffers", before.stateDict().size(),
              after.stateDict().size());
  std::printf("%-56s %7zu %7zu\n", "constants", before.constants().size(), after.constants().size());
}

// The largest difference between tiny::linear, called through LibTorch, and ATen on random data.
double checkKernel() {
  tiny::registerOperators();
  at::Tensor x = at::randn({3, 8}), weight = at::randn({5, 8}), bias = at::randn({5});
  c10::OperatorHandle linear = c10::Dispatcher::singleton().findSchemaOrThrow("tiny::linear", "");
  torch::jit::Stack stack{x, tiny::packWeight(weight), bias};
  linear.callBoxed(&stack);
  at::Tensor expected = at::addmm(bias, x, weight.t());
  return stack.front().toTensor().sub(expected).abs().max().item().toDouble();
}

void lowerFile(const std::string& from, const std::string& to) {
  std::printf("== %s\n", from.c_str());
  EdgeProgramManager manager(loadProgram(from));
  EdgeProgramManager lowered = manager.toOpBackend(tiny::TinyBackend());
  showChange(manager.exportedProgram(), lowered.exportedProgram());
  saveProgram(lowered.exportedProgram(), to);
  std::printf("saved as %s\n", to.c_str());
  examples::writePictures(manager.exportedProgram(), lowered.exportedProgram(),
                          std::filesystem::path(to).replace_extension());
  std::printf("\n");

  std::printf("a backend that forgets to describe its new input is caught:\n");
  examples::showRefusal(manager, [&] { manager.toOpBackend(tiny::ForgetfulBackend()); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) {
    std::fprintf(stderr, "usage: tiny_library FILE.pt2 OUT.pt2 [FILE.pt2 OUT.pt2 ...]\n");
    return 2;
  }
  try {
    for (int i = 1; i + 1 < argc; i += 2) lowerFile(argv[i], argv[i + 1]);
    double difference = checkKernel();
    std::printf("tiny::linear against aten::addmm: largest difference %.2g\n", difference);
    return difference < 1e-5 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

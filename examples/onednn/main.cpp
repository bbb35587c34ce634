// Lowers exported programs for oneDNN and measures them beside LibTorch.
//   onednn REFUSED.txt OUTPUT_FOLDER MODEL.pt2 EXPECTED.pt [MODEL.pt2 EXPECTED.pt ...]
// REFUSED.txt is a program with a convolution that cannot be lowered, EXPECTED.pt what PyTorch computed.

#include <edgefx/edgefx.h>
#include <edgefx/run/saved_calls.h>

#include "backend.h"
#include "beside_aten.h"
#include "common/measure.h"
#include "kernels.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <torch/version.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace edgefx;
namespace fs = std::filesystem;

// Measures what was saved and read again, so that packed weights have gone through a file.
examples::Row lowerModel(const fs::path& file, const std::string& expected, const fs::path& folder) {
  std::printf("\n== %s\n", file.string().c_str());
  const ExportedProgram exported = loadProgram(file);
  const EdgeProgramManager edge = toEdge(exported.clone());
  double loweringMs = 0;
  const EdgeProgramManager lowered =
      examples::timeMs(loweringMs, [&edge] { return edge.toOpBackend(onednn::OneDnnBackend()); });
  std::fputs(examples::operatorTable(edge.exportedProgram(), lowered.exportedProgram()).c_str(), stdout);

  const fs::path saved = folder / (file.stem().string() + ".onednn.pt2");
  saveProgram(lowered.exportedProgram(), saved);
  std::printf("saved as %s\n", saved.string().c_str());
  examples::writePictures(edge.exportedProgram(), lowered.exportedProgram(),
                          folder / (file.stem().string() + ".onednn"));
  const ExportedProgram loaded = loadProgram(saved);
  const std::vector<SavedCall> calls = readSavedCalls(expected);
  const examples::Row asExported = examples::measure({"", "", exported, loaded, calls, 0});
  std::printf("as torch.export wrote it, on LibTorch: %.4f ms; lowered: %.4f ms\n", asExported.beforeMs,
              asExported.afterMs);
  return examples::measure(
      {"onednn", file.stem().string(), edge.exportedProgram(), loaded, calls, loweringMs});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) {
    std::fprintf(stderr, "usage: onednn REFUSED.txt OUTPUT_FOLDER MODEL.pt2 EXPECTED.pt ...\n");
    return 2;
  }
  try {
    std::printf("LibTorch %s; its BLAS: %s; it %s oneDNN itself; %d threads\n\n", TORCH_VERSION,
                onednn::blasInUse().c_str(), at::hasMKLDNN() ? "uses" : "does not use",
                at::get_num_threads());
    bool agrees = onednn::compareKernels();
    std::vector<examples::Row> rows;
    for (int i = 3; i + 1 < argc; i += 2) rows.push_back(lowerModel(argv[i], argv[i + 1], argv[2]));
    std::printf("\nweights reordered while running: %zu\n", onednn::reorderedWeights());
    const EdgeProgramManager refused(examples::loadText(argv[1]));
    std::printf("\na convolution that there is no kernel for:\n");
    examples::showRefusal(refused, [&] { refused.toOpBackend(onednn::OneDnnBackend()); });
    std::printf("\n");
    agrees = examples::printTable(rows) && agrees;
    return agrees ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

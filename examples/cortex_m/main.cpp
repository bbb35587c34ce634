// Lowers quantized int8 models to integer operators in the arithmetic of CMSIS-NN, runs them beside PyTorch's
// saved results, and shows what is left over.
//   cortex_m MODEL.pt2 EXPECTED.pt OUT.pt2 [MODEL.pt2 EXPECTED.pt OUT.pt2 ...]

#include <edgefx/edgefx.h>
#include <edgefx/program/tensor_table.h>

#include "backend.h"
#include "common/measure.h"
#include "layer_check.h"
#include "quantization.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <string>

namespace {

using namespace edgefx;

// One step of the coarsest result: what the results are allowed to differ by.
double outputStep(const ExportedProgram& program) {
  double step = 0;
  for (const Node& result : program.graph().outputNode().inputs()) {
    const auto quantization = cortex_m::int8Of(result);
    if (quantization) step = std::max(step, quantization->scale);
  }
  return step;
}

void showReport(const cortex_m::Report& report) {
  std::map<std::string, int> counts;
  for (const cortex_m::Report::Layer& layer : report.layers) ++counts[layer.op];
  std::printf("layers, one operator each:\n");
  for (const auto& [op, count] : counts) std::printf("  %3d x %s\n", count, op.c_str());
  std::printf("left over:\n");
  for (const cortex_m::Report::Leftover& left : report.leftovers) {
    const std::string path = left.graph.empty() ? std::string() : " of graph " + left.graph;
    std::printf("  %%%s%s, %s, %s: %s\n", left.node.c_str(), path.c_str(), left.op.c_str(),
                left.source.empty() ? "no source line" : left.source.c_str(), left.reason.c_str());
  }
}

// Runs each layer beside the float operators it replaced. Returns whether none is further off than a step.
bool checkLayers(const ExportedProgram& before, const ExportedProgram& after, const cortex_m::Report& report,
                 const std::vector<SavedCall>& calls) {
  size_t all = 0, equal = 0, near = 0;
  for (const SavedCall& call : calls) {
    for (const cortex_m::LayerCheck& check : cortex_m::checkLayers(before, after, report, call.inputs)) {
      ++all;
      equal += check.steps == 0;
      near += check.steps == 1;
      if (check.steps > 1)
        std::printf("  %%%s, %s: %lld steps\n", check.node.c_str(), check.op.c_str(),
                    static_cast<long long>(check.steps));
    }
  }
  std::printf(
      "layers beside the float operators they replaced, on the same operands: %zu equal, %zu within a "
      "step, of %zu\n",
      equal, near, all);
  return equal + near == all;
}

examples::Row lowerFile(const std::string& from, const std::string& expected, const std::string& to,
                        bool& agrees) {
  std::printf("== %s\n", from.c_str());
  const EdgeProgramManager manager(loadProgram(from));
  const ExportedProgram& before = manager.exportedProgram();
  cortex_m::Report report;
  double loweringMs = 0;
  const EdgeProgramManager lowered =
      examples::timeMs(loweringMs, [&] { return manager.toOpBackend(cortex_m::Backend(&report)); });
  const ExportedProgram& after = lowered.exportedProgram();
  showReport(report);

  const std::vector<SavedCall> calls = readSavedCalls(expected);
  const double step = outputStep(before);
  agrees = checkLayers(before, after, report, calls) && agrees;
  // A step, and what float32 adds to it.
  examples::Row row = examples::measure({.example = "cortex_m",
                                         .model = std::filesystem::path(from).stem(),
                                         .before = before,
                                         .after = after,
                                         .calls = calls,
                                         .loweringMs = loweringMs,
                                         .tolerance = {.absolute = step * 1.001, .relative = 0}});
  std::printf("largest difference to PyTorch's result: %.2f steps of %.3g\n",
              step == 0 ? row.largestDifference : row.largestDifference / step, step);
  saveProgram(after, to);
  std::printf("saved as %s\n", to.c_str());
  examples::writePictures(before, after, std::filesystem::path(to).replace_extension());
  std::printf("\n");
  return row;
}

// The program with a weight that is not centered, null if no weight has one scale for all of it.
std::optional<ExportedProgram> withShiftedWeight(const ExportedProgram& original) {
  ExportedProgram program = original.clone();
  for (Node& node : program.graph().nodes()) {
    if (!node.callsOperator(cortex_m::kDequantize) || !node.arg(0).asNode().isPlaceholder()) continue;
    node.setArg(2, 3);
    return program;
  }
  return std::nullopt;
}

// An island that the backend claims and that integers cannot express: the kernels take centered weights.
void showRefusal(const std::string& file) {
  std::optional<ExportedProgram> shifted = withShiftedWeight(loadProgram(file));
  if (!shifted) return;
  const EdgeProgramManager manager(std::move(*shifted));
  std::printf("a weight of %s with zero point 3 is refused:\n", file.c_str());
  examples::showRefusal(manager, [&] { manager.toOpBackend(cortex_m::Backend()); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc % 3 != 1) {
    std::fprintf(stderr,
                 "usage: cortex_m MODEL.pt2 EXPECTED.pt OUT.pt2 [MODEL.pt2 EXPECTED.pt OUT.pt2 ...]\n");
    return 2;
  }
  try {
    std::vector<examples::Row> rows;
    bool agrees = true;
    for (int i = 1; i + 2 < argc; i += 3)
      rows.push_back(lowerFile(argv[i], argv[i + 1], argv[i + 2], agrees));
    showRefusal(argv[1]);
    return examples::printTable(rows) && agrees ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

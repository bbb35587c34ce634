#include "decoder.h"

#include <edgefx/edgefx.h>
#include <edgefx/run/saved_calls.h>

#include "cond_partitioner.h"
#include "onednn/backend.h"

#include <ATen/core/ivalue.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace kv_cache {
namespace {

using namespace edgefx;
namespace fs = std::filesystem;

size_t countConds(const ExportedProgram& program) {
  return static_cast<size_t>(std::ranges::count_if(
      program.graph().nodes(), [](const Node& node) { return node.isCall("higher_order.cond"); }));
}

size_t countBuffers(const ExportedProgram& program) {
  return static_cast<size_t>(std::ranges::count_if(
      program.signature.inputs, [](const InputSpec& spec) { return spec.kind == InputKind::Buffer; }));
}

// Step by step, with the state that the steps before have left.
void showSteps(const ExportedProgram& program, const std::vector<SavedCall>& calls) {
  Interpreter interpreter(program);
  size_t step = 0;
  for (const SavedCall& call : calls) {
    const std::vector<c10::IValue> results = interpreter.run(call.inputs);
    double largest = 0;
    size_t buffers = 0;
    const auto compared = compareCall(program, call, call.inputs, results, interpreter);
    for (const VerifyReport::Compared& value : compared) {
      largest = std::max(largest, value.difference.largestAbsolute);
      buffers += value.name.starts_with("buffer") ? 1 : 0;
    }
    std::printf("  step %zu: %zu results and %zu buffers, largest difference to PyTorch's %.3g\n", ++step,
                compared.size() - buffers, buffers, largest);
  }
}

struct Way {
  const char* name;
  const char* title;
  std::unique_ptr<Partitioner> partitioner;  // null for none
};

std::vector<Way> ways() {
  std::vector<Way> ways;
  ways.push_back({"whole", "whole: delegates take the conds with their branches and caches, oneDNN the rest",
                  std::make_unique<npu::CondPartitioner>(ControlFlow::Whole)});
  ways.push_back({"branches", "branches: conds stay, delegates are made in their branches, oneDNN the rest",
                  std::make_unique<npu::CondPartitioner>(ControlFlow::Branches)});
  ways.push_back({"onednn", "onednn: no delegates, all that oneDNN can take", nullptr});
  return ways;
}

EdgeProgramManager lower(const EdgeProgramManager& edge, const Way& way, const BackendRegistry& registry) {
  const onednn::OneDnnBackend kernels;
  if (way.partitioner == nullptr) return edge.toOpBackend(kernels);
  return edge.toBackend(*way.partitioner, registry).toOpBackend(kernels);
}

BackendRegistry makeRegistry() {
  BackendRegistry registry;
  registry.add(std::make_unique<npu::Compiler>());
  return registry;
}

}  // namespace

std::vector<examples::Row> lowerDecoder(const fs::path& file, const std::string& expected,
                                        const fs::path& folder) {
  const std::string model = file.stem().string();
  EdgeCompileConfig config;
  config.skipDimOrder = true;  // copies stay operators that the device knows
  const EdgeProgramManager edge = toEdge(loadProgram(file), config);
  const ExportedProgram& before = edge.exportedProgram();
  const std::vector<SavedCall> calls = readSavedCalls(expected);
  const BackendRegistry registry = makeRegistry();
  std::printf("\n== %s: %zu conds, %zu buffers, %zu steps\n", model.c_str(), countConds(before),
              countBuffers(before), calls.size());

  std::vector<examples::Row> rows;
  for (const Way& way : ways()) {
    double loweringMs = 0;
    const EdgeProgramManager lowered =
        examples::timeMs(loweringMs, [&] { return lower(edge, way, registry); });
    const fs::path saved = folder / (model + "." + way.name + ".pt2");
    saveProgram(lowered.exportedProgram(), saved);
    const ExportedProgram after = loadProgram(saved);
    std::printf("\n%s\n  saved as %s: %zu conds, %zu buffers, %zu delegates\n", way.title,
                saved.string().c_str(), countConds(after), countBuffers(after),
                delegatePayloads(after, "forward").size());
    showSteps(after, calls);
    examples::writePictures(before, after, folder / (model + "." + way.name));
    rows.push_back(examples::measure({"kv_cache", model + " " + way.name, before, after, calls, loweringMs}));
  }
  std::printf("\na partitioner that claims an operator too many:\n");
  examples::showRefusal(edge,
                        [&] { edge.toBackend(npu::CondPartitioner(ControlFlow::Whole, true), registry); });
  return rows;
}

}  // namespace kv_cache

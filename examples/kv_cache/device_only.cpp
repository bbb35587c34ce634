#include "device_only.h"

#include <edgefx/edgefx.h>

#include "common/measure.h"
#include "hand_partitioner.h"
#include "npu.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace kv_cache {
namespace {

using namespace edgefx;

void check(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("this should hold, but does not: ") + what);
  std::printf("checked: %s\n", what);
}

void show(const char* title, const ExportedProgram& program) {
  std::printf("\n== %s\n\n%s", title, delegatedText(program).c_str());
}

// What toBackend noted at the nodes that stayed.
void showReasons(const ExportedProgram& program) {
  std::printf("\nwhat stays outside, and why:\n");
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      const SharedText* reason = node.meta().find(kWhyNotDelegated);
      if (reason == nullptr) continue;
      std::printf("  %%%s: %s\n", std::string(node.name()).c_str(), (*reason)->c_str());
    }
  }
}

size_t countStored(const ExportedProgram& program) {
  return static_cast<size_t>(std::ranges::count_if(
      program.signature.inputs, [](const InputSpec& spec) { return spec.target.has_value(); }));
}

bool hasBuffer(const ExportedProgram& program, std::string_view name) {
  return std::ranges::any_of(program.signature.inputs, [&](const InputSpec& spec) {
    return spec.kind == InputKind::Buffer && spec.target == name;
  });
}

const Node* findCond(const ExportedProgram& program) {
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall("higher_order.cond")) return &node;
  }
  return nullptr;
}

// Whether each delegate that the graph calls is given tensors only, besides the delegate itself.
bool takesTensorsOnly(const Graph& graph) {
  for (const Node& call : graph.nodes()) {
    if (!callsDelegate(call)) continue;
    for (const Argument& argument : call.args().subspan(1)) {
      const Node* input = argument.findNode();
      if (input == nullptr || input->value() == nullptr || input->value()->tensor() == nullptr) return false;
    }
  }
  return true;
}

void checkWhole(const ExportedProgram& lowered) {
  const std::vector<DelegatePayload> delegates = delegatePayloads(lowered, "forward");
  check(lowered.graphModule().children().empty(), "no branch is left in the program");
  check(delegates.size() == 1, "there is one delegate");
  const ExportedProgram& inner = delegates.front().module->program;
  const Node* cond = findCond(inner);
  check(cond != nullptr && branchesOf(*cond, inner.graphModule()).size() == 2,
        "it holds the cond with both branches");
  check(hasBuffer(inner, "cached_keys") && hasBuffer(inner, "cached_values"), "it holds the cache");
  check(takesTensorsOnly(lowered.graph()), "it is called with tensors only");
}

void checkBranches(const ExportedProgram& lowered) {
  const Node* cond = findCond(lowered);
  check(cond != nullptr, "the program still has its cond");
  const std::vector<const GraphModule*> branches = branchesOf(*cond, lowered.graphModule());
  check(branches.size() == 2 &&
            std::ranges::none_of(branches,
                                 [](const GraphModule* branch) { return branch->delegates().empty(); }),
        "there are delegates in both branches");
  check(std::ranges::all_of(branches,
                            [](const GraphModule* branch) { return takesTensorsOnly(branch->graph()); }),
        "they are called with tensors only");
  check(hasBuffer(lowered, "cached_keys") && hasBuffer(lowered, "cached_values"),
        "the cache stays with the program");
}

// The text of the error that a partitioner gets that takes the cond and leaves its branches.
std::string errorOfForgottenBranches(const ExportedProgram& program) {
  try {
    npu::lower(program, npu::HandPartitioner(true));
  } catch (const LoweringError& error) {
    return error.what();
  }
  throw std::runtime_error("a forgotten branch should be an error, but was none");
}

void showSizes(const ExportedProgram& before, const ExportedProgram& whole, const ExportedProgram& branches) {
  std::printf("\n%-34s %8s %8s %8s\n", "", "before", "whole", "branches");
  const auto row = [&](const char* what, auto count) {
    std::printf("%-34s %8zu %8zu %8zu\n", what, count(before), count(whole), count(branches));
  };
  row("delegates",
      [](const ExportedProgram& program) { return delegatePayloads(program, "forward").size(); });
  row("branches outside of delegates",
      [](const ExportedProgram& program) { return namedModules(program.graphModule()).size() - 1; });
  row("weights and buffers of the program", countStored);
}

void save(const ExportedProgram& program, const std::filesystem::path& file) {
  saveProgram(program, file);
  std::printf("saved as %s, read again:\n", file.c_str());
  const ExportedProgram loaded = loadProgram(file);
  const auto isSame = [](const DelegatePayload& a, const DelegatePayload& b) {
    return a.path == b.path && a.module->processedBytes.text() == b.module->processedBytes.text();
  };
  check(std::ranges::equal(delegatePayloads(loaded, "forward"), delegatePayloads(program, "forward"), isSame),
        "it has the same delegates");
}

}  // namespace

void lowerForDevice(const std::filesystem::path& file, const std::filesystem::path& folder) {
  ExportedProgram program = loadProgram(file);
  wrapAsEdge(program);  // files name edge operators as the ATen operators that they wrap
  show("before: a cond fills the cache, or keeps it", program);

  const ExportedProgram whole = npu::lower(program, npu::Partitioner(ControlFlow::Whole));
  show("whole: the delegate takes the cond with its branches, and the cache that only it reads and writes",
       whole);
  showReasons(whole);
  checkWhole(whole);
  save(whole, folder / "kv_cache_whole.pt2");

  const ExportedProgram branches = npu::lower(program, npu::Partitioner(ControlFlow::Branches));
  show("branches: the cond stays, for a device that cannot branch, and delegates are made inside", branches);
  showReasons(branches);
  checkBranches(branches);
  save(branches, folder / "kv_cache_branches.pt2");

  showSizes(program, whole, branches);
  std::printf("\n");
  examples::writePictures(program, whole, folder / "kv_cache_whole");
  examples::writePictures(program, branches, folder / "kv_cache_branches");

  std::printf("\n== the same tags by hand\n\n");
  check(delegatedText(npu::lower(program, npu::HandPartitioner(false))) == delegatedText(whole),
        "they give the same program as partitionBySupport");
  std::printf("without tagBranches:\n%s\n", errorOfForgottenBranches(program).c_str());
}

}  // namespace kv_cache

// Lowers exported programs to channels-last operators, with explicit permutes at the borders.
//   explicit_layout REFUSED.txt OUTPUT_FOLDER MODEL.pt2 EXPECTED.pt [MODEL.pt2 EXPECTED.pt ...]
// REFUSED.txt is a program, as text, with a convolution that cannot be lowered, EXPECTED.pt what PyTorch
// computed.

#include <edgefx/edgefx.h>
#include <edgefx/run/saved_calls.h>

#include "backend.h"
#include "common/measure.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace edgefx;
namespace fs = std::filesystem;

using Counts = std::map<std::string, size_t, std::less<>>;

size_t countOf(const Counts& counts, std::string_view name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

size_t countPermutes(const ExportedProgram& program) {
  return countOf(examples::countOperators(program), "aten.permute_copy.default");
}

bool hasDimOrder(const ExportedProgram& program) {
  return std::ranges::any_of(examples::countOperators(program),
                             [](const auto& entry) { return entry.first.starts_with("dim_order_ops."); });
}

// All but these are called as often as before.
bool isPartOfLayout(std::string_view name) {
  static const std::set<std::string_view> kParts{"aten._native_batch_norm_legit_no_training.default",
                                                 "aten.convolution.default",
                                                 "aten.max_pool2d_with_indices.default",
                                                 "aten.permute_copy.default",
                                                 "aten.clone.default",
                                                 "aten._to_copy.default",
                                                 "dim_order_ops._clone_dim_order.default",
                                                 "dim_order_ops._to_dim_order_copy.default"};
  return kParts.contains(name) || name.starts_with("nhwc.");
}

// Throws if something else became another: an operator, or what the program takes and gives.
void checkRest(const ExportedProgram& before, const ExportedProgram& after) {
  Counts counts = examples::countOperators(before), lowered = examples::countOperators(after);
  for (const auto& [name, count] : lowered) counts.try_emplace(name, 0);
  size_t unchanged = 0;
  for (const auto& [name, count] : counts) {
    if (isPartOfLayout(name)) continue;
    if (countOf(lowered, name) != count) throw std::runtime_error("another number of calls of " + name);
    unchanged += count;
  }
  std::vector<const Node*> users[2];
  for (const ExportedProgram* program : {&before, &after}) {
    std::vector<const Node*>& found = users[program == &after ? 1 : 0];
    for (const InputSpec& spec : program->signature.inputs)
      if (spec.kind == InputKind::UserInput) found.push_back(program->graph().find(spec.arg.name));
    for (const OutputSpec& spec : program->signature.outputs)
      if (!spec.arg.isConstant()) found.push_back(program->graph().find(spec.arg.name));
  }
  const bool isSame = std::ranges::equal(
      users[0], users[1], [](const Node* a, const Node* b) { return describeSame(a->value(), b->value()); });
  if (!isSame) throw std::runtime_error("inputs or results have another shape, dtype or strides");
  std::printf("nothing else changed: %zu other calls, shapes and strides of inputs and results\n", unchanged);
}

EdgeCompileConfig configOf(bool skipDimOrder) {
  EdgeCompileConfig config;
  config.skipDimOrder = skipDimOrder;
  config.coreAtenOpsExceptionList = {"aten.empty_permuted.default"};  // which models with layouts call
  return config;
}

// Lowers with what the config says of dim orders. Measures what was saved and read again.
examples::Row lowerModel(const fs::path& file, const std::vector<SavedCall>& calls, const fs::path& folder,
                         bool skipDimOrder) {
  const EdgeCompileConfig config = configOf(skipDimOrder);
  const EdgeProgramManager edge = toEdge(loadProgram(file), config);
  const nhwc::ExplicitLayoutBackend backend({.skipDimOrder = skipDimOrder});
  const nhwc::ExplicitLayoutBackend inserting({.skipDimOrder = skipDimOrder, .cancels = false});
  const std::string name = file.stem().string() + (skipDimOrder ? "_skip_dim_order" : "");
  std::printf("\n== %s\n", name.c_str());

  const EdgeProgramManager inserted = edge.toOpBackend(inserting);
  double loweringMs = 0;
  const EdgeProgramManager lowered = examples::timeMs(loweringMs, [&] { return edge.toOpBackend(backend); });
  const ExportedProgram& before = edge.exportedProgram();
  const ExportedProgram& after = lowered.exportedProgram();
  const size_t own = countPermutes(before);
  std::printf("permutes: %zu in the program, %zu inserted at borders, %zu of them left after cancelling\n",
              own, countPermutes(inserted.exportedProgram()) - own, countPermutes(after) - own);
  std::fputs(examples::operatorTable(before, after).c_str(), stdout);
  checkRest(before, after);

  examples::writePictures(inserted.exportedProgram(), after, folder / (name + ".cancelling"));
  examples::writePictures(before, after, folder / (name + ".nhwc"));
  const fs::path saved = folder / (name + ".nhwc.pt2");
  saveProgram(after, saved);
  std::printf("saved as %s\n", saved.string().c_str());
  return examples::measure({.example = "explicit_layout",
                            .model = name,
                            .before = before,
                            .after = loadProgram(saved),
                            .calls = calls,
                            .loweringMs = loweringMs});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5 || argc % 2 == 0) {
    std::fprintf(stderr, "usage: explicit_layout REFUSED.txt OUTPUT_FOLDER MODEL.pt2 EXPECTED.pt ...\n");
    return 2;
  }
  try {
    std::vector<examples::Row> rows;
    for (int i = 3; i + 1 < argc; i += 2) {
      const std::vector<SavedCall> calls = readSavedCalls(argv[i + 1]);
      rows.push_back(lowerModel(argv[i], calls, argv[2], false));
      if (hasDimOrder(toEdge(loadProgram(argv[i]), configOf(false)).exportedProgram()))
        rows.push_back(lowerModel(argv[i], calls, argv[2], true));
    }
    const EdgeProgramManager refused(examples::loadText(argv[1]));
    std::printf("\na convolution that is claimed, but that there is no kernel for:\n");
    examples::showRefusal(refused, [&] { refused.toOpBackend(nhwc::ExplicitLayoutBackend()); });
    return examples::printTable(rows) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

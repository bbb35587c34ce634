#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/delegated_text.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "conformance_tests/conformance_plugin.h"
#include "manager/method_to_edge.h"
#include "support/lowered_text.h"
#include "support/sha256.h"
#include "support/test_data.h"
#include "support/value_numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Each partitioner of the plugin has a counterpart in Python, which was run on the same programs through
// exir's to_backend: what both lower must read the same, byte for byte.
namespace edgefx::test {
namespace {

namespace fs = std::filesystem;

// One lowering whose result, or whose failure, is known.
struct DelegateGolden {
  fs::path folder;
  std::string name;  // "backend-all", "aten-backend-two", "lower-all"

  std::string fixtureName() const { return folder.filename().string(); }
  std::string id() const { return fixtureName() + ' ' + name; }
  std::string partitioner() const {
    for (std::string_view prefix : {"aten-backend-", "backend-", "lower-"}) {
      if (name.starts_with(prefix)) return name.substr(prefix.size());
    }
    throw std::runtime_error("no partitioner in " + name);
  }
  bool isAten() const { return name.starts_with("aten-"); }
  fs::path file(std::string_view extension) const { return folder / (name + std::string(extension)); }
};

std::vector<DelegateGolden> goldensWith(std::string_view extension) {
  std::vector<DelegateGolden> goldens;
  for (const fs::directory_entry& folder : fs::directory_iterator(corpusRoots()[0])) {
    if (!folder.is_directory() || folder.path().filename() == "multi_model") continue;
    for (const fs::directory_entry& file : fs::directory_iterator(folder.path())) {
      std::string name = file.path().filename().string();
      if (!name.ends_with(extension)) continue;
      name.resize(name.size() - extension.size());
      const bool isKnown =
          name.starts_with("backend-") || name.starts_with("aten-backend-") || name.starts_with("lower-");
      if (isKnown) goldens.push_back({folder.path(), std::move(name)});
    }
  }
  std::ranges::sort(goldens, {}, &DelegateGolden::id);
  return goldens;
}

// The program that the lowering starts from; none if no file holds it: some edge programs cannot be saved as
// they were.
std::optional<ExportedProgram> startOf(const DelegateGolden& golden) {
  const bool isEdge = golden.name.starts_with("backend-");
  const fs::path file = golden.folder / (isEdge ? "edge.pt2" : "program.pt2");
  if (!fs::exists(file)) return std::nullopt;
  ExportedProgram program = loadProgram(file);
  if (golden.name.starts_with("lower-")) {
    EdgeCompileConfig config;
    config.checkIrValidity = false;
    config.skipDimOrder = true;
    std::set<std::string> kept;
    return detail::methodToEdge(
        std::move(program), "forward", config, [](const Node&) { return true; }, kept);
  }
  if (!golden.isAten()) wrapAsEdge(program);
  const bool isExact = !isEdge || fxText(program.graphModule()) == readFile(golden.folder / "edge.graph.txt");
  return isExact ? std::optional(std::move(program)) : std::nullopt;
}

ExportedProgram lower(const ExportedProgram& program, const DelegateGolden& golden) {
  const BackendRegistry& registry = conformanceRegistry();
  return toBackend(program, registry.partitioner(golden.partitioner()), registry);
}

// exir leaves tensors behind that no placeholder reads any more, under the names of placeholders that it
// copied.
std::string withoutLeftovers(const std::string& line) {
  std::istringstream words(line);
  std::string kept;
  for (std::string word; words >> word;) {
    const size_t copy = word.rfind("_copy_");
    const bool isCopy =
        copy != std::string::npos && word.find_first_not_of("0123456789", copy + 6) == std::string::npos;
    if (!isCopy) kept += (kept.empty() ? "" : " ") + word;
  }
  return kept.ends_with(':') ? kept + ' ' : kept;
}

// The lines of `step` in a fixture's states.txt, nothing if it has none.
std::optional<std::string> statesSection(const fs::path& folder, const std::string& step) {
  if (!fs::exists(folder / "states.txt")) return std::nullopt;
  std::istringstream lines(readFile(folder / "states.txt"));
  std::optional<std::string> section;
  bool isWanted = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      isWanted = line == "# " + step;
      if (isWanted) section.emplace();
    } else if (isWanted) {
      *section += withoutLeftovers(line) + '\n';
    }
  }
  return section;
}

// Where edgefx lowers otherwise than exir, which is wrong there or asks for more than the program, and why.
// The computation must be the original's all the same.
struct Deviation {
  std::string_view fixture;
  std::string_view golden;
  const char* reason;
};

constexpr const char* kGradient =
    "exir moves a parameter away whose gradient the program returns, so that nobody can update it";
constexpr const char* kBranchesWhole =
    "exir keeps operators whole only if the top level calls them, and decomposes others in branches";
constexpr const char* kPlaceholdersFirst = "exir puts symbolic calls before placeholders that come later";

constexpr Deviation kDeviations[] = {
    {"kv_cache_cond", "lower-all", kBranchesWhole},
    {"seq2seq_cross_attention", "lower-all", kBranchesWhole},
    {"seq2seq_cross_attention_flat", "lower-all", kBranchesWhole},
    {"symint_input_core", "aten-backend-two", kPlaceholdersFirst},
    {"symint_input_core", "backend-addmul", kPlaceholdersFirst},
    {"symint_input_core", "backend-two", kPlaceholdersFirst},
    {"training_input_grad", "aten-backend-all", kGradient},
    {"training_input_grad", "aten-backend-two", kGradient},
    {"training_input_grad", "backend-addmul", kGradient},
    {"training_input_grad", "backend-all", kGradient},
    {"training_input_grad", "backend-two", kGradient},
};

const char* deviationOf(const DelegateGolden& golden) {
  for (const Deviation& deviation : kDeviations) {
    if (deviation.fixture == golden.fixtureName() && deviation.golden == golden.name) return deviation.reason;
  }
  return nullptr;
}

std::string contentOr(const fs::path& file, std::string otherwise) {
  return fs::exists(file) ? readFile(file) : std::move(otherwise);
}

void expectGolden(const ExportedProgram& lowered, const DelegateGolden& golden,
                  const std::string& method = {}) {
  EXPECT_EQ(delegatedText(lowered), readFile(golden.file(method + ".graph.txt")));
  EXPECT_EQ(text(lowered.signature), readFile(golden.file(method + ".signature.txt")));
  EXPECT_EQ(loweredText(lowered), contentOr(golden.file(method + ".lowered.txt"), ""));
  if (const std::optional<std::string> states = statesSection(golden.folder, golden.name + method)) {
    EXPECT_EQ(stateText(lowered), *states);
  }
}

// How many programs, delegates' among them, hold each buffer, and which are written. Two holders of a written
// buffer would not see each other's writes.
struct Holders {
  std::map<std::string, int> programs;
  std::set<std::string> written;
};

void countHolders(const ExportedProgram& program, Holders& holders) {
  std::set<std::string> held;
  for (const InputSpec& spec : program.signature.inputs) {
    if (spec.kind == InputKind::Buffer) held.insert(*spec.target);
  }
  for (const std::string& buffer : held) ++holders.programs[buffer];
  for (const OutputSpec& spec : program.signature.outputs) {
    if (spec.kind == OutputKind::BufferMutation) holders.written.insert(*spec.target);
  }
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const GraphModule::Delegate& delegate : nested.module->delegates()) {
      countHolders(delegate.module->program, holders);
    }
  }
}

void expectSound(const ExportedProgram& original, const ExportedProgram& lowered) {
  for (const Diagnostic& violation : checkProgram(lowered)) ADD_FAILURE() << violation.render();
  ValueNumbers numbers;
  EXPECT_EQ(numbers.resultsOf(lowered), numbers.resultsOf(original));
  Holders holders;
  countHolders(lowered, holders);
  for (const std::string& buffer : holders.written) EXPECT_LE(holders.programs[buffer], 1) << buffer;
}

// Returns whether the texts were compared.
bool lowerAndCompare(const DelegateGolden& golden) {
  const std::optional<ExportedProgram> program = startOf(golden);
  if (!program) return false;
  const std::string before = fxText(program->graphModule());
  const ExportedProgram lowered = lower(*program, golden);
  expectSound(*program, lowered);
  EXPECT_EQ(fxText(program->graphModule()), before);
  if (deviationOf(golden) == nullptr) {
    expectGolden(lowered, golden);
    return true;
  }
  EXPECT_TRUE(delegatedText(lowered) != readFile(golden.file(".graph.txt")) ||
              loweredText(lowered) != readFile(golden.file(".lowered.txt")))
      << "no deviation any more";
  return false;
}

TEST(DelegateGoldens, OneMethod) {
  size_t compared = 0;
  for (const DelegateGolden& golden : goldensWith(".graph.txt")) {
    SCOPED_TRACE(golden.id());
    try {
      compared += lowerAndCompare(golden);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  RecordProperty("compared", static_cast<int>(compared));
  EXPECT_GE(compared, 30u);
}

// Where exir refuses or fails, edgefx refuses what separates control flow from its branches, and lowers the
// rest.
bool separatesBranches(const DelegateGolden& golden) {
  const std::string partitioner = golden.partitioner();
  if (partitioner.ends_with("no_get_attr")) return true;
  // tag0 knows neither of these operators.
  const std::string fixture = golden.fixtureName();
  return partitioner == "tag0" && (fixture == "scan_loop_core" || fixture == "invoke_subgraph_core");
}

TEST(DelegateGoldens, WhatExirRefuses) {
  size_t lowered = 0;
  size_t refused = 0;
  for (const DelegateGolden& golden : goldensWith(".error.txt")) {
    SCOPED_TRACE(golden.id());
    const std::optional<ExportedProgram> program = startOf(golden);
    if (!program || golden.partitioner().ends_with("_fifo")) continue;
    const std::string before = fxText(program->graphModule());
    try {
      expectSound(*program, lower(*program, golden));
      EXPECT_FALSE(separatesBranches(golden));
      ++lowered;
    } catch (const LoweringError& error) {
      EXPECT_TRUE(separatesBranches(golden)) << error.what();
      const std::string message = error.what();
      EXPECT_NE(message.find("is outside of the partition"), std::string::npos) << message;
      EXPECT_NE(message.find("method 'forward'"), std::string::npos) << message;
      ++refused;
    }
    EXPECT_EQ(fxText(program->graphModule()), before);
  }
  EXPECT_GE(lowered, 5u);
  EXPECT_GE(refused, 5u);
}

EdgeProgramManager multiModel() {
  EdgeProgramManager::Methods methods;
  for (Archive::Model& model : loadArchive(fixture("multi_model/multi_edge.pt2")).models) {
    wrapAsEdge(model.program);
    methods.emplace_back(std::move(model.name), std::move(model.program));
  }
  return EdgeProgramManager(std::move(methods));
}

// The subset has texts of one of these lowerings only.
TEST(DelegateGoldens, SeveralMethods) {
  const EdgeProgramManager manager = multiModel();
  const BackendRegistry& registry = conformanceRegistry();
  const fs::path folder = fixture("multi_model/multi_edge.pt2").parent_path();
  for (const std::string partitioner : {"all", "addmul"}) {
    const DelegateGolden golden{folder, "backend-" + partitioner};
    SCOPED_TRACE(golden.id());
    const EdgeProgramManager lowered = manager.toBackend(registry.partitioner(partitioner), registry);
    EXPECT_EQ(lowered.methods(), manager.methods());
    for (const std::string& method : manager.methods()) {
      SCOPED_TRACE(method);
      expectSound(manager.exportedProgram(method), lowered.exportedProgram(method));
      if (!fs::exists(golden.file("." + method + ".graph.txt"))) continue;
      expectGolden(lowered.exportedProgram(method), golden, "." + method);
    }
  }
  const EdgeProgramManager two = manager.toBackend(registry.partitioner("two"), registry);
  for (const std::string& method : manager.methods()) {
    expectSound(manager.exportedProgram(method), two.exportedProgram(method));
  }
}

TEST(DelegateGoldens, OneMethodOfSeveral) {
  const EdgeProgramManager manager = multiModel();
  const BackendRegistry& registry = conformanceRegistry();
  const EdgeProgramManager lowered =
      manager.toBackend({{"decode", &registry.partitioner("addmul")}}, registry);
  EXPECT_EQ(fxText(lowered.exportedProgram("prefill").graphModule()),
            fxText(manager.exportedProgram("prefill").graphModule()));
  const DelegateGolden golden{fixture("multi_model/multi_edge.pt2").parent_path(),
                              "backend-addmul_decode_only"};
  for (const std::string& method : manager.methods()) {
    SCOPED_TRACE(method);
    if (fs::exists(golden.file("." + method + ".graph.txt"))) {
      expectGolden(lowered.exportedProgram(method), golden, "." + method);
    }
  }
}

// Its text is too long to keep: the file holds "<SHA-256> <bytes> bytes <lines> lines".
TEST(DelegateGoldens, LargeChain) {
  const std::optional<fs::path> start = findFixture("large_chain_5k/program.pt2");
  if (!start) GTEST_SKIP() << "the subset has no large programs";
  const DelegateGolden golden{start->parent_path(), "backend-all"};
  ExportedProgram program = loadProgram(*start);
  wrapAsEdge(program);
  // Edge programs are traced anew, which names every call after its edge operator.
  for (Node& node : program.graph().nodes()) {
    if (node.isCall()) program.rename(node, node.target().nameCandidate());
  }
  ASSERT_EQ(fxText(program.graphModule()), readFile(golden.folder / "edge.graph.txt"));
  const ExportedProgram lowered = lower(program, golden);
  expectSound(program, lowered);
  const std::string text = delegatedText(lowered);
  const std::string found = sha256(std::as_bytes(std::span(text))) + ' ' + std::to_string(text.size()) +
                            " bytes " + std::to_string(std::ranges::count(text, '\n')) + " lines\n";
  EXPECT_EQ(found, readFile(golden.file(".graph.sha256.txt")));
  EXPECT_EQ(edgefx::text(lowered.signature), readFile(golden.file(".signature.txt")));
}

}  // namespace
}  // namespace edgefx::test

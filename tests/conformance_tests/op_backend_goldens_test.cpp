#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>

#include "conformance_tests/conformance_plugin.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Each backend of the plugin has a counterpart in Python, which was run on the same programs: what both
// return must read the same, byte for byte.
namespace edgefx::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBackends[] = {"retarget", "addconst", "qdq"};

// Their files do not hold the program that the counterparts were given: a tuple of operands was saved as a
// list, or the operators of a called graph were not those of the edge dialect.
constexpr const char* kOtherStart[] = {"awkward_names_core", "invoke_subgraph_core", "scan_loop_core"};

std::vector<fs::path> fixtureFolders() {
  std::vector<fs::path> folders;
  for (const fs::directory_entry& entry : fs::directory_iterator(corpusRoots()[0])) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && std::count(std::begin(kOtherStart), std::end(kOtherStart), name) == 0) {
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

EdgeProgramManager managerOf(const fs::path& archive) {
  EdgeProgramManager::Methods methods;
  for (Archive::Model& model : loadArchive(archive).models) {
    wrapAsEdge(model.program);
    methods.emplace_back(std::move(model.name), std::move(model.program));
  }
  return EdgeProgramManager(std::move(methods));
}

std::vector<std::string> keys(const TensorTable& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return names;
}

std::string stateText(const std::vector<std::string>& stateDict, const std::vector<std::string>& constants) {
  auto line = [](std::string text, const std::vector<std::string>& names) {
    for (const std::string& name : names) text += (text.back() == ' ' ? "" : " ") + name;
    return text + '\n';
  };
  return line("state_dict: ", stateDict) + line("constants: ", constants);
}

// The lines of `step` in a fixture's states.txt, empty if it has none.
std::string expectedStates(const fs::path& folder, const std::string& step) {
  std::string section;
  if (!fs::exists(folder / "states.txt")) return section;
  std::istringstream lines(readFile(folder / "states.txt"));
  bool isWanted = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# ")) {
      isWanted = line == "# " + step;
    } else if (isWanted) {
      section += line + '\n';
    }
  }
  return section;
}

void expectTexts(const ExportedProgram& program, const fs::path& folder, const std::string& prefix) {
  EXPECT_EQ(fxText(program.graphModule()), readFile(folder / (prefix + ".graph.txt")));
  EXPECT_EQ(text(program.signature), readFile(folder / (prefix + ".signature.txt")));
}

void expectStates(const ExportedProgram& before, const ExportedProgram& after, const fs::path& folder,
                  const std::string& backend) {
  std::string expected = expectedStates(folder, "op-" + backend);
  if (expected.empty()) {
    std::vector<std::string> stateDict = keys(before.stateDict());
    if (backend == "addconst") stateDict.emplace_back("op_backend_scale");
    expected = stateText(stateDict, keys(before.constants()));
  }
  EXPECT_EQ(stateText(keys(after.stateDict()), keys(after.constants())), expected);
  for (const auto& [name, entry] : before.stateDict()) {
    const StoredTensor* kept = after.stateDict().find(name);
    ASSERT_NE(kept, nullptr) << name;
    EXPECT_EQ(kept->storage().data(), entry.storage().data()) << name;
  }
}

TEST(OpBackendGoldens, OneMethod) {
  size_t compared = 0;
  for (const fs::path& folder : fixtureFolders()) {
    for (const std::string backend : kBackends) {
      const std::string golden = "op-" + backend;
      if (!fs::exists(folder / (golden + ".graph.txt"))) continue;
      SCOPED_TRACE(folder.filename().string() + ' ' + golden);
      EdgeProgramManager manager = managerOf(folder / "edge.pt2");
      ASSERT_EQ(manager.methods(), (std::vector<std::string>{"model"}));
      expectTexts(manager.exportedProgram("model"), folder, "edge");
      if (testing::Test::HasFailure()) return;

      EdgeProgramManager lowered = manager.toOpBackend(conformanceBackend(backend));
      expectTexts(lowered.exportedProgram("model"), folder, golden);
      expectStates(manager.exportedProgram("model"), lowered.exportedProgram("model"), folder, backend);
      expectTexts(manager.exportedProgram("model"), folder, "edge");
      ++compared;
    }
  }
  EXPECT_GE(compared, 35u);
}

TEST(OpBackendGoldens, SeveralMethods) {
  const fs::path folder = fixture("multi_model/multi_edge.pt2").parent_path();
  EdgeProgramManager manager = managerOf(folder / "multi_edge.pt2");
  std::vector<std::string> methods = manager.methods();
  std::sort(methods.begin(), methods.end());
  ASSERT_EQ(methods, (std::vector<std::string>{"decode", "prefill"}));
  for (const std::string& method : methods)
    expectTexts(manager.exportedProgram(method), folder, "edge." + method);

  EdgeProgramManager lowered = manager.toOpBackend(conformanceBackend("retarget"));
  EXPECT_EQ(lowered.methods(), manager.methods());
  for (const std::string& method : methods) {
    SCOPED_TRACE(method);
    expectTexts(lowered.exportedProgram(method), folder, "op-retarget." + method);
    expectStates(manager.exportedProgram(method), lowered.exportedProgram(method), folder, "retarget");
  }
}

std::string pythonList(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return "[" + text + "]";
}

// The names of the constant methods, then the compile config, as Python prints them.
TEST(OpBackendGoldens, ConfigAndConstantMethods) {
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  EdgeProgramManager manager(EdgeProgramManager::Methods{}, config,
                             {{"eos", 2}, {"max_len", 16}, {"name", "tiny"}});
  EdgeProgramManager lowered = manager.toOpBackend(conformanceBackend("retarget"));

  std::vector<std::string> names;
  for (const auto& [name, value] : lowered.constantMethods()) names.push_back(name);
  const EdgeCompileConfig& after = lowered.compileConfig();
  auto python = [](bool value) { return value ? "True" : "False"; };
  std::ostringstream found;
  found << pythonList(names) << "\nEdgeCompileConfig(_check_ir_validity=" << python(after.checkIrValidity)
        << ", _skip_dim_order=" << python(after.skipDimOrder)
        << ", _core_aten_ops_exception_list=" << pythonList(after.coreAtenOpsExceptionList)
        << ", preserve_ops=" << pythonList(after.preserveOps) << ")\n";
  EXPECT_EQ(found.str(), readFile(fixture("multi_model/op-retarget.config.txt")));
}

}  // namespace
}  // namespace edgefx::test

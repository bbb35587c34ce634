#include "support/test_data.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <tuple>

namespace edgefx::test {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTorch26Folder = "torch-2.6";
constexpr std::string_view kManyModels = "multi.pt2";

// Loading it is refused, so there is no text of it.
constexpr std::string_view kRefusedCase = "version_major_newer";

fs::path corpusRoot() {
  const char* corpus = std::getenv("EDGEFX_CORPUS");
  return corpus != nullptr && *corpus != '\0' ? fs::path(corpus) : dataDir();
}

void addProgram(std::vector<CorpusProgram>& programs, CorpusProgram program) {
  for (const fs::path& text : {program.graphText, program.signatureText}) {
    if (!fs::is_regular_file(text)) {
      throw std::runtime_error(program.file.string() + ": expected its text in " + text.string() +
                               ", found no file");
    }
  }
  programs.push_back(std::move(program));
}

// Flat folders: NAME.pt2 beside NAME.graph.txt.
void addFlatFolder(std::vector<CorpusProgram>& programs, const fs::path& folder, CorpusKind kind) {
  const char* signature = kind == CorpusKind::Case ? ".graph.txt" : ".signature.txt";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".pt2" || (kind == CorpusKind::Case && stem == kRefusedCase)) {
      continue;
    }
    addProgram(programs, {kind, folder.filename().string() + "/" + stem, "", entry.path(),
                          folder / (stem + ".graph.txt"), folder / (stem + signature)});
  }
}

void addManyModels(std::vector<CorpusProgram>& programs, const fs::path& folder) {
  for (const std::string model : {"decode", "prefill"}) {
    addProgram(programs,
               {CorpusKind::Fixture, folder.filename().string() + "/" + model, model, folder / kManyModels,
                folder / (model + ".graph.txt"), folder / (model + ".signature.txt")});
  }
}

}  // namespace

fs::path dataDir() {
  return EDGEFX_TEST_DATA;
}

std::vector<fs::path> corpusRoots() {
  const fs::path root = corpusRoot();
  std::vector<fs::path> roots = {root / "fixtures", root / "cases"};
  for (const fs::path& folder : roots) {
    if (!fs::is_directory(folder)) {
      throw std::runtime_error("expected exported programs in the folder " + folder.string() +
                               ", found no folder");
    }
  }
  return roots;
}

std::optional<fs::path> findFixture(std::string_view relative) {
  fs::path path = corpusRoots()[0] / relative;
  return fs::is_regular_file(path) ? std::optional(std::move(path)) : std::nullopt;
}

fs::path fixture(std::string_view relative) {
  if (auto path = findFixture(relative)) {
    return *std::move(path);
  }
  throw std::runtime_error("expected the file " + (corpusRoots()[0] / relative).string() + ", found none");
}

std::vector<CorpusProgram> corpusPrograms() {
  const std::vector<fs::path> roots = corpusRoots();
  std::vector<CorpusProgram> programs;
  for (const fs::directory_entry& entry : fs::directory_iterator(roots[0])) {
    const fs::path& folder = entry.path();
    if (!entry.is_directory()) {
      continue;
    }
    if (folder.filename() == kTorch26Folder) {
      addFlatFolder(programs, folder, CorpusKind::Torch26);
    } else if (fs::exists(folder / kManyModels)) {
      addManyModels(programs, folder);
    } else if (fs::exists(folder / "program.pt2")) {
      addProgram(programs, {CorpusKind::Fixture, folder.filename().string(), "", folder / "program.pt2",
                            folder / "graph.txt", folder / "signature.txt"});
    }
  }
  addFlatFolder(programs, roots[1], CorpusKind::Case);
  std::sort(programs.begin(), programs.end(), [](const CorpusProgram& a, const CorpusProgram& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  });
  return programs;
}

std::vector<fs::path> corpusFiles() {
  std::vector<fs::path> files;
  for (const fs::path& root : corpusRoots()) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".pt2" || entry.path().stem() == "version_major_newer") continue;
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string readFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream content;
  // Inserting nothing sets failbit, so an empty file is told apart by its size.
  if (!stream || (!(content << stream.rdbuf()) && fs::file_size(path) != 0)) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return std::move(content).str();
}

void writeFile(const fs::path& path, std::string_view content) {
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  stream.close();
  if (!stream) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "edgefx-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder like " + name);
  }
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace edgefx::test

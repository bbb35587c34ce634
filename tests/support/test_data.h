#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Files that tests read. The folder tests/data holds a subset of a larger corpus; the environment variable
// EDGEFX_CORPUS, a folder with `fixtures` and `cases` inside, puts all of it in the subset's place.
namespace edgefx::test {

// The folder tests/data, whatever EDGEFX_CORPUS says.
std::filesystem::path dataDir();

// The folders `fixtures` and `cases`, in this order. Throws std::runtime_error if one does not exist.
std::vector<std::filesystem::path> corpusRoots();

// The file at `relative` under `fixtures`, such as "nested_cond_core/edge.pt2". The subset lacks some:
// findFixture then returns nothing, fixture throws std::runtime_error.
std::filesystem::path fixture(std::string_view relative);
std::optional<std::filesystem::path> findFixture(std::string_view relative);

// How the texts of a program are written.
enum class CorpusKind {
  Fixture,  // graph, then nested graphs after "# submodule <path>"; the signature as Python prints it
  Torch26,  // the same, of a file in the flat layout of torch 2.6
  Case,     // all in one file: graph, nested graphs after "[<path>]", "[signature]", the keys of the tables
};

struct CorpusProgram {
  CorpusKind kind = CorpusKind::Fixture;
  std::string name;   // "nested_cond_core", "multi_model/decode", "torch-2.6/names", "cases/effects"
  std::string model;  // name of the model inside the archive, empty for the only one
  std::filesystem::path file;
  std::filesystem::path graphText;
  std::filesystem::path signatureText;  // of a Case the same file as graphText
};

// Every program that loads and whose texts are known, sorted by kind and name. Programs before lowering only:
// `edge.pt2` files are not among them. Throws std::runtime_error if a program lacks a text it should have.
std::vector<CorpusProgram> corpusPrograms();

// Every .pt2 file of the corpus that edgefx reads, sorted.
std::vector<std::filesystem::path> corpusFiles();

// The bytes of a file. Throws std::runtime_error if it cannot be read.
std::string readFile(const std::filesystem::path& path);

// Writes `content` and nothing else to the file. Throws std::runtime_error if that fails.
void writeFile(const std::filesystem::path& path, std::string_view content);

// A fresh, empty folder that is removed with all it holds when the object goes.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace edgefx::test

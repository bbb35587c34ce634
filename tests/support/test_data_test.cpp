#include "support/test_data.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

namespace edgefx::test {
namespace {

namespace fs = std::filesystem;

// Sets EDGEFX_CORPUS and puts the former value back.
class CorpusVariable {
 public:
  explicit CorpusVariable(const fs::path& value) {
    if (const char* old = std::getenv("EDGEFX_CORPUS")) {
      old_ = old;
    }
    setenv("EDGEFX_CORPUS", value.c_str(), 1);
  }
  ~CorpusVariable() {
    if (old_) {
      setenv("EDGEFX_CORPUS", old_->c_str(), 1);
    } else {
      unsetenv("EDGEFX_CORPUS");
    }
  }
  CorpusVariable(const CorpusVariable&) = delete;
  CorpusVariable& operator=(const CorpusVariable&) = delete;

 private:
  std::optional<std::string> old_;
};

const CorpusProgram* findProgram(const std::vector<CorpusProgram>& programs, std::string_view name) {
  auto found = std::find_if(programs.begin(), programs.end(),
                            [&](const auto& program) { return program.name == name; });
  return found == programs.end() ? nullptr : &*found;
}

TEST(TestData, ListsEveryProgramFileOnceAModel) {
  const std::vector<CorpusProgram> programs = corpusPrograms();
  std::set<fs::path> listed;
  std::set<std::string> names;
  for (const CorpusProgram& program : programs) {
    listed.insert(program.file);
    EXPECT_TRUE(names.insert(program.name).second) << program.name;
  }

  std::set<fs::path> present;
  for (const fs::path& root : corpusRoots()) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      const std::string file = entry.path().filename().string();
      const bool later = file == "edge.pt2" || file == "multi_core.pt2" || file == "multi_edge.pt2";
      if (entry.path().extension() == ".pt2" && !later && file != "version_major_newer.pt2") {
        present.insert(entry.path());
      }
    }
  }
  EXPECT_EQ(listed, present);
  EXPECT_EQ(programs.size(), present.size() + 1) << "the archive of two models is listed twice";
  EXPECT_GE(programs.size(), 135u);
}

TEST(TestData, KnowsTheTextsOfEachKind) {
  const std::vector<CorpusProgram> programs = corpusPrograms();

  const CorpusProgram* plain = findProgram(programs, "nested_cond_core");
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->kind, CorpusKind::Fixture);
  EXPECT_EQ(plain->file, fixture("nested_cond_core/program.pt2"));
  EXPECT_EQ(plain->graphText, fixture("nested_cond_core/graph.txt"));
  EXPECT_EQ(plain->signatureText, fixture("nested_cond_core/signature.txt"));

  const CorpusProgram* decode = findProgram(programs, "multi_model/decode");
  ASSERT_NE(decode, nullptr);
  EXPECT_EQ(decode->model, "decode");
  EXPECT_EQ(decode->file, fixture("multi_model/multi.pt2"));
  EXPECT_EQ(decode->graphText, fixture("multi_model/decode.graph.txt"));

  const CorpusProgram* old = findProgram(programs, "torch-2.6/names");
  ASSERT_NE(old, nullptr);
  EXPECT_EQ(old->kind, CorpusKind::Torch26);
  EXPECT_EQ(old->signatureText, fixture("torch-2.6/names.signature.txt"));

  const CorpusProgram* report = findProgram(programs, "cases/effects");
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->kind, CorpusKind::Case);
  EXPECT_EQ(report->file, corpusRoots()[1] / "effects.pt2");
  EXPECT_EQ(report->signatureText, report->graphText);
}

TEST(TestData, OrderIsByKindAndName) {
  const std::vector<CorpusProgram> programs = corpusPrograms();
  EXPECT_TRUE(std::is_sorted(programs.begin(), programs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.kind, a.name) < std::tie(b.kind, b.name);
  }));
}

TEST(TestData, VariableReplacesTheSubset) {
  TempDir corpus;
  fs::create_directories(corpus / "cases");
  fs::create_directories(corpus / "fixtures/small");
  writeFile(corpus / "fixtures/small/program.pt2", "x");
  writeFile(corpus / "fixtures/small/graph.txt", "graph():\n");
  writeFile(corpus / "fixtures/small/signature.txt", "\n");
  const CorpusVariable variable(corpus.path());

  EXPECT_EQ(fixture("small/graph.txt"), corpus / "fixtures/small/graph.txt");
  EXPECT_EQ(findFixture("nested_cond_core/graph.txt"), std::nullopt);
  EXPECT_THROW(fixture("nested_cond_core/graph.txt"), std::runtime_error);
  const std::vector<CorpusProgram> programs = corpusPrograms();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_EQ(programs[0].name, "small");

  fs::remove(corpus / "fixtures/small/signature.txt");
  EXPECT_THROW(corpusPrograms(), std::runtime_error);
}

TEST(TestData, AbsentCorpusIsAnError) {
  TempDir empty;
  const CorpusVariable variable(empty / "none");
  EXPECT_THROW(corpusRoots(), std::runtime_error);
  EXPECT_THROW(corpusPrograms(), std::runtime_error);
}

TEST(TestData, FilesComeBackByteForByte) {
  TempDir dir;
  const std::string content("a\0\r\n\xff", 5);
  writeFile(dir / "file", content);
  EXPECT_EQ(readFile(dir / "file"), content);
  writeFile(dir / "file", "");
  EXPECT_EQ(readFile(dir / "file"), "");
  EXPECT_THROW(readFile(dir / "none"), std::runtime_error);
}

TEST(TestData, TempDirIsFreshAndGoesAway) {
  fs::path path;
  {
    TempDir dir;
    TempDir other;
    path = dir.path();
    EXPECT_NE(path, other.path());
    EXPECT_TRUE(fs::is_empty(path));
    writeFile(dir / "file", "x");
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace edgefx::test

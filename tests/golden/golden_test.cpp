#include <edgefx/ir/dead_code.h>
#include <edgefx/program/check_program.h>
#include <edgefx/rewrite/program_rewriter.h>
#include <edgefx/text/program_text.h>

#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

// The files beside this one: the text of a program, then, after lines "# ==== STEP", what each step makes of
// it, as it is printed.
namespace edgefx::test {
namespace {

const std::map<std::string, std::function<void(ExportedProgram&)>>& goldenSteps() {
  static const std::map<std::string, std::function<void(ExportedProgram&)>> steps = {
      {"print", [](ExportedProgram&) {}},
      {"wrapAsEdge", [](ExportedProgram& program) { wrapAsEdge(program); }},
      {"eliminateDeadCode", [](ExportedProgram& program) { eliminateDeadCode(program.graphModule()); }},
      {"eraseDeadInputs",
       [](ExportedProgram& program) {
         ProgramRewriter rewriter(program);
         rewriter.eraseDeadNodes();
         rewriter.eraseDeadInputs({InputKind::Parameter, InputKind::Buffer, InputKind::ConstantTensor});
       }},
  };
  return steps;
}

struct GoldenPart {
  std::string step;  // empty for the program itself
  std::string text;
};

std::vector<GoldenPart> goldenParts(const std::string& content) {
  constexpr std::string_view kMark = "# ==== ";
  std::vector<GoldenPart> parts(1);
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\n', at), content.size() - 1) + 1;
    const std::string line = content.substr(at, end - at);
    at = end;
    if (line.starts_with(kMark)) {
      parts.push_back({line.substr(kMark.size(), line.size() - kMark.size() - 1), ""});
    } else {
      parts.back().text += line;
    }
  }
  return parts;
}

TEST(Golden, StepsPrintWhatTheFilesSay) {
  const std::filesystem::path folder = dataDir().parent_path() / "golden";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::vector<GoldenPart> parts = goldenParts(readFile(entry.path()));
    for (size_t i = 1; i < parts.size(); ++i) {
      ExportedProgram program = parseProgram(parts[0].text, entry.path().string());
      verifyProgram(program);
      goldenSteps().at(parts[i].step)(program);
      EXPECT_EQ(programText(program), parts[i].text) << parts[i].step;
      verifyProgram(program);
      ++count;
    }
  }
  EXPECT_GE(count, 5u);
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/operators.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/check_shapes.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "support/custom_operators.h"
#include "support/expected_results.h"
#include "support/test_data.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

// Exported programs against what Python's decompositions made of them.
namespace edgefx::test {
namespace {

namespace fs = std::filesystem;

// Graph text with nodes numbered in their order, without counts of users, and without items that nobody takes
// (a file has one for each result).
std::string numberedText(const std::string& text) {
  std::string out, line;
  std::map<std::string, std::string> names;
  std::istringstream lines(text);
  while (std::getline(lines, line)) {
    if (line.starts_with("#") || line.starts_with("graph()")) names.clear();
    if (line.find("[num_users=0] = call_function[target=operator.getitem]") != std::string::npos) continue;
    if (const size_t at = line.find(" : [num_users="); at != std::string::npos && line.starts_with("    %")) {
      const std::string name = line.substr(5, at - 5);
      const bool isInput = line.find("= placeholder[") != std::string::npos;
      names[name] = isInput ? name : "n" + std::to_string(names.size());
      line.erase(at + 3, line.find(']', at) - at - 2);
    }
    std::string renamed;
    const bool isReturn = line.starts_with("    return");
    for (size_t i = 0; i < line.size();) {
      const bool begins =
          line[i] == '%' ||
          (isReturn && i >= 10 && std::isalpha(static_cast<unsigned char>(line[i])) + (line[i] == '_') != 0);
      if (!begins) {
        renamed += line[i++];
        continue;
      }
      size_t end = line[i] == '%' ? i + 1 : i;
      const size_t begin = end;
      while (end < line.size() &&
             (std::isalnum(static_cast<unsigned char>(line[end])) != 0 || line[end] == '_'))
        ++end;
      const std::string name = line.substr(begin, end - begin);
      const auto found = names.find(name);
      renamed += line.substr(i, begin - i) + (found == names.end() ? name : found->second);
      i = end;
    }
    out += renamed + '\n';
  }
  return out;
}

std::string graphAndSignature(const ExportedProgram& program) {
  std::string out;
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    if (nested.parent != nullptr) out += "# submodule " + nested.path + '\n';
    out += fxText(nested.module->graph()) + '\n';
  }
  return out;
}

// Operators that work in place on a value that nobody else has, as such that do not.
void retargetInPlace(ExportedProgram& program) {
  for (const NestedModule& nested : namedModules(program.graphModule())) {
    for (Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().ns() != "aten" || node.numUsers() == 0) continue;
      if (!node.target().op().ends_with('_') || node.target().op().ends_with("__")) continue;
      const Node* const self = node.arg(0).findNode();
      if (self == nullptr || self->isPlaceholder() || self->numUsers() != 1) continue;
      std::string op(node.target().op());
      op.pop_back();
      node.setTarget(Target("aten." + op + "." + std::string(node.target().overload())));
    }
  }
}

// Whether functionalization has something to do before decompositions.
bool isFunctional(const ExportedProgram& program) {
  for (const ConstNestedModule& nested : namedModules(program.graphModule())) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall()) continue;
      const OperatorInfo* const info = node.target().isOperator() ? findOperator(node.target()) : nullptr;
      if (info != nullptr && info->isMutable) return false;
      const std::string_view name = node.target().name();
      if (name.starts_with("wrap_with") || name == "mylib.accumulate_.default" ||
          name.starts_with("fxlog.")) {
        return false;
      }
      for (size_t i = 0; i < node.args().size(); ++i) {
        if (writesUndeclared(node, i)) return false;
      }
    }
  }
  return true;
}

// Programs whose decompositions have another form than Python's, and why. Their numbers are those of PyTorch.
const std::map<std::string, std::string>& otherForms() {
  static const std::map<std::string, std::string> reasons = {
      {"associative_scan", "calls of Python's batching functions stay"},
      {"complex_dtypes", "Python resolves a lazy conjugate with a clone"},
      {"cond_in_submodule_with_constants", "inputs of branches are named after the operands' new operators"},
      {"symint_item", "the text of an assertion names a node"},
      {"symint_nonzero", "the text of an assertion names a node"},
      {"symint_shapes", "sizes are taken of the first input that has them"},
  };
  return reasons;
}

TEST(DecomposeGoldens, FunctionalProgramsHavePythonsForm) {
  size_t compared = 0;
  for (const CorpusProgram& corpus : corpusPrograms()) {
    if (corpus.kind != CorpusKind::Fixture || !corpus.model.empty()) continue;
    const fs::path folder = corpus.file.parent_path();
    const fs::path golden = folder.parent_path() / (folder.filename().string() + "_core") / "graph.txt";
    if (!fs::exists(golden)) continue;
    SCOPED_TRACE(corpus.name);
    ExportedProgram program = loadProgram(corpus.file);
    retargetInPlace(program);
    if (!isFunctional(program)) continue;
    decompose(program);
    eliminateDeadCode(program.graphModule());
    const std::string made = numberedText(graphAndSignature(program)),
                      wanted = numberedText(readFile(golden));
    if (otherForms().contains(corpus.name)) {
      EXPECT_NE(made, wanted) << "has Python's form";
      continue;
    }
    EXPECT_EQ(made, wanted);
    ++compared;
  }
  EXPECT_GE(compared, 10u);
}

// What Python's decompositions leave, too.
const std::set<std::string, std::less<>>& leftByPython() {
  static const std::set<std::string, std::less<>> names = {
      "aten._assert_scalar.default", "aten._assert_tensor_metadata.default",
      "aten._conj.default",          "aten._native_batch_norm_legit_functional.default",
      "aten.empty_permuted.default", "aten.view_as_real.default",
  };
  return names;
}

TEST(DecomposeGoldens, EveryProgramGivesTheSameNumbers) {
  registerCustomOperators();
  std::map<std::string, std::string> left;  // by operator: the first program
  size_t compared = 0;
  for (const CorpusProgram& corpus : corpusPrograms()) {
    SCOPED_TRACE(corpus.name);
    const ExportedProgram before = loadProgram(corpus.file, corpus.model);
    ExportedProgram after = before.clone();
    for (const UndecomposedOperator& op : decompose(after)) {
      const bool isInPlace = findOperator(op.name) != nullptr && findOperator(op.name)->isMutable;
      const bool isAutocast = op.reason.starts_with("it runs under autocast");
      const bool isTraining = op.reason.starts_with("it writes its running statistics");
      if (!isInPlace && !isAutocast && !isTraining && !leftByPython().contains(op.name)) {
        left.emplace(op.name + ": " + op.reason, corpus.name);
      }
    }
    std::string findings;
    for (const Diagnostic& finding : checkProgram(after)) findings += finding.render() + '\n';
    const size_t shapesBefore = checkShapes(before).size();
    if (shapesBefore == 0) {
      for (const Diagnostic& finding : checkShapes(after)) findings += finding.render() + '\n';
    }
    EXPECT_EQ(findings, "");
    if (cannotRunHere().contains(corpus.name)) continue;
    try {
      if (!missingOperators(before).empty()) continue;
      try {
        Interpreter(before).run(generateInputs(before));
      } catch (const ExecutionError&) {
        continue;  // an assertion wants other inputs
      }
      const VerifyReport report = verifyLowering(before, after, {.tolerance = {1e-5, 1e-4}});
      EXPECT_TRUE(report.agrees()) << report.text() << graphAndSignature(after);
      ++compared;
    } catch (const UnsupportedError&) {
      continue;  // inputs that cannot be made up
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  for (const auto& [op, program] : left) ADD_FAILURE() << program << ": " << op;
  EXPECT_GE(compared, 30u);
}

}  // namespace
}  // namespace edgefx::test

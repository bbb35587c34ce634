#include <edgefx/run/saved_calls.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/serialization/torch_save.h>

#include "support/custom_operators.h"
#include "support/expected_results.h"
#include "support/program_builder.h"
#include "support/test_data.h"
#include "tools/run_tool.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

// Files of torch 2.6 whose inputs hold tensors in place of numbers, and leave out None and texts.
const std::set<std::string> kInexactInputs{"torch-2.6/dynamic_shapes", "torch-2.6/pytree_io"};

TEST(RunCommand, ReproducesPytorchsResultsOfSampleInputs) {
  for (const CorpusProgram& corpus : corpusPrograms()) {
    if (!kInexactInputs.contains(corpus.name)) continue;
    const ExportedProgram program = loadProgram(corpus.file);
    std::string note;
    Interpreter interpreter(program);
    const std::vector<c10::IValue> results = interpreter.run(sampleInputs(program, 0, note));
    EXPECT_EQ(note, "the sample inputs of the file");
    // Numbers are tensors there, too, and what is no number is left out.
    std::vector<c10::IValue> tensors;
    for (const c10::IValue& result : results) {
      if (result.isTensor()) tensors.push_back(result);
      if (result.isInt() || result.isDouble())
        tensors.emplace_back(at::scalar_tensor(result.toScalar(), result.isInt() ? at::kLong : at::kFloat));
    }
    const std::vector<SavedCall> expected = readSavedCalls(expectedResults(corpus).value());
    ASSERT_EQ(tensors.size(), expected.front().outputs->size()) << corpus.name;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Difference difference = compareValues(tensors[i], (*expected.front().outputs)[i]);
      EXPECT_TRUE(difference.agrees) << corpus.name << ": " << difference.reason;
    }
  }
}

TEST(RunCommand, ReproducesPytorchsResults) {
  registerCustomOperators();
  size_t compared = 0;
  std::set<std::string> refused;
  for (const CorpusProgram& program : corpusPrograms()) {
    const auto expected = expectedResults(program);
    if (!expected) continue;
    if (kInexactInputs.contains(program.name)) continue;
    std::vector<std::string> arguments{"run", program.file, "--expect", *expected};
    if (!program.model.empty()) arguments.insert(arguments.end(), {"--model", program.model});
    const ToolRun run = runTool(arguments);
    if (cannotRunHere().contains(program.name)) {
      EXPECT_EQ(run.exitCode, 6) << program.name << ": " << run.out;
      refused.insert(program.name);
      continue;
    }
    EXPECT_EQ(run.exitCode, 0) << program.name << ":\n" << run.err << run.out;
    EXPECT_TRUE(run.out.ends_with("ok\n")) << program.name << ":\n" << run.out;
    ++compared;
  }
  EXPECT_EQ(refused, cannotRunHere());
  EXPECT_GE(compared, 90u);
}

std::string smallModel(const TempDir& dir) {
  Archive archive;
  archive.models.push_back({"model", countingProgram()});
  saveArchive(archive, dir / "model.pt2");
  return dir / "model.pt2";
}

TEST(RunCommand, PrintsResultsAndTakesInputs) {
  TempDir dir;
  const std::string model = smallModel(dir);
  const ToolRun plain = runTool({"run", model});
  EXPECT_EQ(plain.exitCode, 0) << plain.err;
  EXPECT_NE(plain.out.find("relu: float32[1, 4]: "), std::string::npos) << plain.out;
  EXPECT_NE(plain.out.find("(with generated inputs)"), std::string::npos) << plain.out;

  c10::impl::GenericList inputs(c10::AnyType::get());
  inputs.push_back(at::zeros({1, 4}));
  saveTorchSave(dir / "x.pt", inputs);
  const ToolRun zeros = runTool({"run", model, "--inputs", dir / "x.pt", "-o", dir / "y.pt", "--tap"});
  EXPECT_EQ(zeros.exitCode, 0) << zeros.err;
  EXPECT_NE(zeros.out.find("relu: float32[1, 4]: -0, -0, -0, -0\n"), std::string::npos) << zeros.out;
  EXPECT_NE(zeros.out.find("%linear = float32[1, 4]: 0, 0, 0, 0\n"), std::string::npos) << zeros.out;

  // What was written is what was printed.
  const ToolRun again = runTool({"run", model, "--inputs", dir / "x.pt", "--expect", dir / "y.pt"});
  EXPECT_EQ(again.exitCode, 0) << again.err << again.out;
}

TEST(RunCommand, AnotherResultIsExitCodeOne) {
  TempDir dir;
  const std::string model = smallModel(dir);
  c10::impl::GenericList results(c10::AnyType::get());
  results.push_back(at::full({1, 4}, 100.0));
  saveTorchSave(dir / "y.pt", results);
  const ToolRun run = runTool({"run", model, "--expect", dir / "y.pt"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_NE(run.out.find("4 of 4 elements differ"), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find("ok\n"), std::string::npos) << run.out;
  EXPECT_EQ(runTool({"run", model, "--expect", dir / "y.pt", "--atol", "1000"}).exitCode, 0);
}

TEST(RunCommand, AnotherNumberOfResultsIsADifference) {
  TempDir dir;
  const std::string model = smallModel(dir);
  c10::impl::GenericList results(c10::AnyType::get());
  for (int i = 0; i < 2; ++i) results.push_back(at::zeros({1, 4}));
  saveTorchSave(dir / "y.pt", results);
  const ToolRun run = runTool({"run", model, "--expect", dir / "y.pt"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_NE(run.out.find("expected 2 values, got 1"), std::string::npos) << run.out;
}

TEST(RunCommand, FaultsHaveTheirOwnExitCodes) {
  TempDir dir;
  const std::string model = smallModel(dir);
  EXPECT_EQ(runTool({"run", dir / "none.pt2"}).exitCode, 3);
  EXPECT_EQ(runTool({"run", model, "--inputs", dir / "none.pt"}).exitCode, 3);
  c10::impl::GenericList inputs(c10::AnyType::get());
  inputs.push_back(at::zeros({2, 4}));
  saveTorchSave(dir / "x.pt", inputs);
  const ToolRun run = runTool({"run", model, "--inputs", dir / "x.pt"});
  EXPECT_EQ(run.exitCode, 2);
  EXPECT_NE(run.err.find("dimension 0 is 2, not 1"), std::string::npos) << run.err;
}

TEST(CompareCommand, NamesTheFirstNodeThatDiffers) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"model", countingProgram()});
  saveArchive(archive, dir / "a.pt2");
  EXPECT_EQ(runTool({"compare", dir / "a.pt2", dir / "a.pt2"}).out.find("ok\n") != std::string::npos, true);

  Node& mul = *archive.models[0].program.graph().find("mul");
  mul.setTarget("aten.sub.Tensor");
  saveArchive(archive, dir / "b.pt2");
  const ToolRun run = runTool({"compare", dir / "a.pt2", dir / "b.pt2"});
  EXPECT_EQ(run.exitCode, 1) << run.err;
  EXPECT_NE(run.out.find("first deviation at node '%mul'"), std::string::npos) << run.out;
  EXPECT_EQ(runTool({"compare", dir / "a.pt2", dir / "b.pt2", "--atol", "100"}).exitCode, 0);
}

TEST(LowerCommand, CheckComparesAndWritesNothingThatDiffers) {
  TempDir dir;
  const std::string plugin = std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so";
  const std::string model = fixture("linear_atan_relu_core/edge.pt2");
  const ToolRun good = runTool({"lower", model, "-o", dir / "good.pt2", "--edge", "--plugin", plugin,
                                "--partitioner", "all", "--check"});
  EXPECT_EQ(good.exitCode, 0) << good.err << good.out;
  EXPECT_NE(good.out.find("largest difference 0 absolute"), std::string::npos) << good.out;
  EXPECT_TRUE(std::filesystem::exists(dir / "good.pt2"));

  // Multiplies every relu by a half.
  const ToolRun bad = runTool({"lower", model, "-o", dir / "bad.pt2", "--edge", "--plugin", plugin,
                               "--op-backend", "addconst", "--check"});
  EXPECT_EQ(bad.exitCode, 1) << bad.err << bad.out;
  EXPECT_NE(bad.out.find("method 'forward' computes something else"), std::string::npos) << bad.out;
  EXPECT_FALSE(std::filesystem::exists(dir / "bad.pt2"));
}

// Gives every relu another recorded shape than it has.
TEST(LowerCommand, CheckComparesRecordedShapes) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"model", countingProgram()});
  Node& mul = *archive.models[0].program.graph().find("mul");
  mul.setValue(tensorValue({2, 4}));
  saveArchive(archive, dir / "model.pt2");
  const std::string plugin = std::string(EDGEFX_BINARY_DIR) + "/libedgefx_conformance.so";
  const std::vector<std::string> arguments{"lower", dir / "model.pt2", "-o",      dir / "out.pt2", "--plugin",
                                           plugin,  "--op-backend",    "retarget"};
  EXPECT_EQ(runTool(arguments).exitCode, 0);
  std::vector<std::string> checked = arguments;
  checked.push_back("--check");
  const ToolRun run = runTool(checked);
  EXPECT_EQ(run.exitCode, 1) << run.err;
  EXPECT_NE(run.out.find("node '%mul'"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("float32[1, 4]"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace edgefx::test

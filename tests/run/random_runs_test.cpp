#include <edgefx/backend/to_backend.h>
#include <edgefx/ir/dead_code.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/partition/partition_by_support.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/random_runnable.h"
#include "support/random_tags.h"
#include "support/test_data.h"

#include <ATen/Parallel.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Random programs give the same results, bit by bit, before and after everything that is done to programs.
namespace edgefx::test {
namespace {

constexpr int kShards = 8;
constexpr uint64_t kProgramsPerShard = 50;

using Values = std::vector<c10::IValue>;

// Bytes of everything that a program stores.
std::vector<std::string> storedBytes(const ExportedProgram& program) {
  std::vector<std::string> all;
  for (const TensorTable* table : {&program.stateDict(), &program.constants()}) {
    for (const auto& [name, entry] : *table) {
      const std::span<const std::byte> bytes = entry.storage();
      all.push_back(name + ": " + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
  }
  return all;
}

// Inputs that a run may write.
Values copiesOf(const Values& inputs) {
  Values copies;
  for (const c10::IValue& input : inputs) {
    copies.push_back(input.isTensor() ? c10::IValue(input.toTensor().clone()) : input);
  }
  return copies;
}

std::string wholeText(const ExportedProgram& program) {
  return fxText(program.graphModule()) + text(program.signature);
}

// Whether two buffers hold the same memory.
bool sharesBuffers(const ExportedProgram& program) {
  return std::ranges::any_of(program.signature.inputs, [](const InputSpec& input) {
    return input.target == "cache_alias" || input.target == "cache_row";
  });
}

// Takes about as many operators as it says, by their names.
OperatorSupport someOperators(uint64_t seed) {
  const uint64_t share = 20 + seed % 7 * 10;
  return support::predicate(
      [seed, share](const Node& node) {
        if (!node.isCall()) return false;
        uint64_t hash = seed * 0x9e3779b97f4a7c15u;
        for (char c : node.target().name()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
        return (hash >> 20) % 100 < share;
      },
      "it is none of the chosen ones");
}

class RandomRuns : public testing::TestWithParam<int> {
 protected:
  // The tensors are small: threads only wait for each other.
  RandomRuns() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~RandomRuns() override { at::set_num_threads(threads_); }

  // `visit(program, inputs, seed)` for each program of this shard.
  template <typename Visit>
  void forEachProgram(Visit&& visit) {
    for (uint64_t i = 0; i < kProgramsPerShard && !HasFatalFailure(); ++i) {
      const uint64_t seed = static_cast<uint64_t>(GetParam()) * kProgramsPerShard + i;
      SCOPED_TRACE("seed " + std::to_string(seed));
      Dice dice(seed);
      const ExportedProgram program = randomRunnable(dice);
      ASSERT_EQ(render(checkProgram(program)), "") << wholeText(program);
      const ExportedProgram before = program.clone();
      const std::vector<std::string> stored = storedBytes(program);
      const Values inputs = generateInputs(program, seed);
      const Values copies = copiesOf(inputs);
      try {
        visit(program, inputs, seed);
      } catch (const std::exception& error) {
        FAIL() << error.what() << '\n' << wholeText(program);
      }
      ASSERT_EQ(storedBytes(program), stored) << "running wrote what the program stores";
      const std::optional<Diagnostic> difference = findDifference(before, program);
      ASSERT_FALSE(difference) << difference->render();
      for (size_t k = 0; k < inputs.size(); ++k) {
        const Difference changed = compareValues(inputs[k], copies[k], {0, 0});
        ASSERT_TRUE(changed.agrees) << "input " << k << " was written: " << changed.reason;
      }
    }
  }

  void expectSame(const ExportedProgram& before, const ExportedProgram& after, const Values& inputs,
                  const char* what) {
    try {
      ASSERT_EQ(render(checkProgram(after)), "");
      ASSERT_EQ(render(checkDelegates(after)), "");
      const VerifyReport report = verifyLowering(before, after, inputs, {.tolerance = {0, 0}, .calls = 2});
      EXPECT_TRUE(report.agrees()) << what << '\n'
                                   << report.text() << wholeText(before) << "\nafter\n"
                                   << wholeText(after);
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what() << '\n'
                    << wholeText(before) << "\nafter\n"
                    << wholeText(after);
    }
    ++compared_[what];
  }

  // The program from a file: of PyTorch's form, or of that of exir.
  void expectSavedSame(const ExportedProgram& before, const ExportedProgram& after, const Values& inputs,
                       const char* what, bool asExir = false) {
    const std::filesystem::path file = folder_ / "program.pt2";
    try {
      asExir ? saveExir(after, file) : saveProgram(after, file);
    } catch (const UnsupportedError& error) {
      ++refused_[std::string(what) + ": " + error.diagnostics().front().message];
      ++refused_[what];
      return;
    }
    expectSame(before, loadProgram(file), inputs, what);
    std::filesystem::remove(file);  // replacing a file waits for the disk
  }
  void printRefused() const {
    for (const auto& [what, count] : refused_) std::printf("refused %zu times: %s\n", count, what.c_str());
  }

  TempDir folder_;
  std::map<std::string, size_t> compared_, refused_;

 private:
  const int threads_;
};

// Sizes of symbols are those of the export, as the hints are.
void expectDescribed(const Node& node, const at::Tensor& tensor) {
  ASSERT_NE(node.value(), nullptr) << node.text();
  const TensorMeta* meta = node.value()->tensor();
  ASSERT_NE(meta, nullptr) << node.text();
  ASSERT_EQ(toScalarType(meta->dtype), tensor.scalar_type()) << node.text();
  ASSERT_EQ(meta->sizes.size(), static_cast<size_t>(tensor.dim())) << node.text();
  const auto numberOf = [](const SymInt& size) -> std::optional<int64_t> {
    if (!size.isSymbolic()) return size.value();
    const int64_t* hint = std::get_if<int64_t>(&size.symbolic()->hint);
    return hint == nullptr ? std::nullopt : std::optional<int64_t>(*hint);
  };
  for (size_t d = 0; d < meta->sizes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d);
    EXPECT_EQ(numberOf(meta->sizes[d]), tensor.size(dim)) << node.text() << " dimension " << d;
    const std::optional<int64_t> stride = numberOf(meta->strides[d]);
    if (stride && tensor.size(dim) != 1) {
      EXPECT_EQ(*stride, tensor.stride(dim)) << node.text() << " dimension " << d;
    }
  }
}

TEST_P(RandomRuns, EveryValueIsAsDescribed) {
  std::map<std::string, size_t> calls;
  forEachProgram([&](const ExportedProgram& program, const Values&, uint64_t) {
    RunOptions options;
    options.tap = [&](const TapEvent& event) {
      if (event.node.isCall()) ++calls[std::string(event.node.target().name())];
      if (event.value.isTensor()) expectDescribed(event.node, event.value.toTensor());
    };
    Interpreter(program, options).run(generateInputs(program));
    if (HasFailure()) FAIL() << wholeText(program);
  });
  EXPECT_GT(calls.size(), 80u) << "operators of many kinds";
  for (const char* name : {"cond", "while_loop", "map_impl", "scan", "invoke_subgraph", "aten.sym_size.int",
                           "aten.add_.Tensor"}) {
    EXPECT_GT(calls[name], 0u) << name;
  }
}

TEST_P(RandomRuns, PassesAndFilesChangeNothing) {
  forEachProgram([&](const ExportedProgram& program, const Values& inputs, uint64_t) {
    expectSame(program, program.clone(), inputs, "clone");
    ExportedProgram withoutDead = program.clone();
    if (eliminateDeadCode(withoutDead.graphModule()) > 0) {
      expectSame(program, withoutDead, inputs, "dead code");
    }
    expectSavedSame(program, program, inputs, "pt2");
    ExportedProgram edge = program.clone();
    wrapAsEdge(edge);
    expectSame(program, edge, inputs, "edge");
    expectSavedSame(program, edge, inputs, "edge pt2");
    expectSavedSame(program, edge, inputs, "exir", true);
    const FunctionBackend identity([](ExportedProgram given, std::string_view) { return given; });
    const EdgeProgramManager lowered = EdgeProgramManager(edge.clone()).toOpBackend(identity);
    expectSame(program, lowered.exportedProgram(), inputs, "op backend");
  });
  EXPECT_GT(compared_["dead code"], kProgramsPerShard / 2);
  for (const char* what : {"pt2", "edge pt2", "exir"}) EXPECT_GT(compared_[what], kProgramsPerShard * 8 / 10);
  printRefused();
}

TEST_P(RandomRuns, DelegatesComputeTheSame) {
  const BackendRegistry registry = textBackends({"BackendA", "even", "odd"});
  forEachProgram([&](const ExportedProgram& program, const Values& inputs, uint64_t seed) {
    const auto lower = [&](const Partitioner& partitioner,
                           const char* what) -> std::optional<ExportedProgram> {
      try {
        ExportedProgram lowered = toBackend(program, partitioner, registry);
        expectSame(program, lowered, inputs, what);
        return lowered;
      } catch (const LoweringError& error) {
        for (const Diagnostic& diagnostic : error.diagnostics()) EXPECT_FALSE(diagnostic.node.empty());
        ++refused_[what];
        if (what != std::string("tags by hand")) {
          ADD_FAILURE() << what << ": " << error.what() << '\n' << wholeText(program);
        }
        return std::nullopt;
      }
    };
    for (const ControlFlow mode : {ControlFlow::Whole, ControlFlow::Branches}) {
      const bool isWhole = mode == ControlFlow::Whole;
      auto lowered = lower(AotiPartitioner({"BackendA"}, "aoti", mode), isWhole ? "all" : "all in branches");
      if (lowered && isWhole == (seed % 2 == 0)) expectSavedSame(program, *lowered, inputs, "all, saved");
      const FunctionPartitioner some([&](const ExportedProgram& shown) {
        return partitionBySupport(shown, someOperators(seed), {.spec = {"BackendA"}, .controlFlow = mode});
      });
      lowered = lower(some, isWhole ? "some" : "some in branches");
      if (lowered && isWhole != (seed % 2 == 0)) expectSavedSame(program, *lowered, inputs, "some, saved");
    }
    if (sharesBuffers(program)) return;  // such buffers are not to be torn apart
    const FunctionPartitioner byHand([&](const ExportedProgram& shown) { return randomTags(shown, seed); });
    const auto lowered = lower(byHand, "tags by hand");
    if (lowered) expectSavedSame(program, *lowered, inputs, "tags by hand, saved");
  });
  EXPECT_LT(refused_["tags by hand"], kProgramsPerShard * 6 / 10);
  printRefused();
}

// Another operator of the same dtype and shape.
const char* otherOperator(const Node& node) {
  static const std::map<std::string_view, const char*> kOthers = {
      {"aten.relu.default", "aten.neg.default"},
      {"aten.neg.default", "aten.abs.default"},
      {"aten.abs.default", "aten.neg.default"},
      {"aten.tanh.default", "aten.sigmoid.default"},
      {"aten.cos.default", "aten.sin.default"},
      {"aten.sin.default", "aten.cos.default"},
      {"aten.add.Scalar", "aten.sub.Scalar"},
      {"aten.gt.Scalar", "aten.le.Scalar"},
      {"aten.mul.Scalar", "aten.add.Scalar"},
      {"aten.sigmoid.default", "aten.tanh.default"},
      {"aten.logical_and.default", "aten.logical_or.default"},
  };
  const auto found = node.isCall() ? kOthers.find(node.target().name()) : kOthers.end();
  return found == kOthers.end() ? nullptr : found->second;
}

// What a node of the top level gives, and the results.
struct Outcome {
  c10::IValue value;
  Values results;
};
Outcome outcomeOf(const ExportedProgram& program, const Values& inputs, std::string_view name) {
  Outcome outcome;
  RunOptions options;
  options.tap = [&](const TapEvent& event) {
    if (event.graph.empty() && event.node.name() == name)
      outcome.value = c10::IValue(event.value.toTensor().clone());
  };
  outcome.results = Interpreter(program, options).run(copiesOf(inputs));
  return outcome;
}

bool sameResults(const Values& found, const Values& expected) {
  bool isSame = found.size() == expected.size();
  for (size_t i = 0; isSame && i < found.size(); ++i) {
    isSame = compareValues(found[i], expected[i], {0, 0}).agrees;
  }
  return isSame;
}

TEST_P(RandomRuns, AChangedOperatorIsFound) {
  size_t found = 0;
  forEachProgram([&](const ExportedProgram& program, const Values& inputs, uint64_t) {
    std::vector<std::string> names;
    for (const Node& node : program.graph().nodes()) {
      if (otherOperator(node) != nullptr) names.emplace_back(node.name());
    }
    constexpr size_t kMost = 3;
    for (size_t i = 0; i < names.size() && i < kMost; ++i) {
      const std::string& name = names[names.size() - 1 - i];
      ExportedProgram broken = program.clone();
      Node& changed = *broken.graph().find(name);
      changed.setTarget(otherOperator(changed));
      const Outcome before = outcomeOf(program, inputs, name), after = outcomeOf(broken, inputs, name);
      const VerifyReport report = verifyLowering(program, broken, inputs, {.tolerance = {0, 0}, .calls = 2});
      EXPECT_FALSE(report.agrees() && !sameResults(after.results, before.results))
          << name << wholeText(program);
      if (report.agrees()) continue;
      // Nodes are compared in the first call.
      if (compareValues(after.value, before.value, {0, 0}).agrees) continue;
      ++found;
      ASSERT_TRUE(report.firstDeviation) << name << '\n' << wholeText(program);
      const Node* deviating = program.graph().find(report.firstDeviation->node);
      ASSERT_NE(deviating, nullptr) << report.text();
      EXPECT_FALSE(program.graph().find(name)->isBefore(*deviating)) << name << '\n'
                                                                     << report.text() << wholeText(program);
    }
  });
  EXPECT_GT(found, kProgramsPerShard / 3);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Range(0, kShards));

}  // namespace
}  // namespace edgefx::test

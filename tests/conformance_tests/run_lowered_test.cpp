#include <edgefx/backend/to_backend.h>
#include <edgefx/dialect/decompose.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/passes/pass_manager.h>
#include <edgefx/passes/standard.h>
#include <edgefx/run/saved_calls.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>

#include "conformance_tests/conformance_plugin.h"
#include "conformance_tests/expect_results.h"
#include "run/operator_equivalents.h"
#include "support/custom_operators.h"
#include "support/expected_results.h"
#include "support/test_data.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Lowered programs compute what their originals do, and what PyTorch does.
namespace edgefx::test {
namespace {

// The operators that the backends of the plugin lower to are the same as those that they replace.
void callAten(const c10::OperatorHandle& self, torch::jit::Stack* stack) {
  const std::string name = "aten" + self.operator_name().name.substr(std::string("op_backend_test").size());
  c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), "").callBoxed(stack);
}

void callQuantized(const c10::OperatorHandle& self, torch::jit::Stack* stack) {
  const std::string op = self.operator_name().name.substr(std::string("cortex_m::").size());
  detail::findEquivalent("quantized_decomposed." + op + ".default")->run(*stack);
}

void registerBackendOperators() {
  static const bool isDone = [] {
    using torch::CppFunction;
    using torch::Library;
    static Library rewritten(Library::FRAGMENT, "op_backend_test", c10::nullopt, __FILE__, __LINE__);
    for (const std::string op :
         {"abs", "acos", "asin", "atan", "ceil", "cos", "erf", "exp", "floor", "log", "neg", "reciprocal",
          "relu", "rsqrt", "sigmoid", "sin", "sqrt", "tan", "tanh"}) {
      rewritten.def((op + "(Tensor self) -> Tensor").c_str());
      rewritten.impl(op.c_str(), CppFunction::makeFromBoxedFunction<&callAten>());
    }
    static Library quantized(Library::FRAGMENT, "cortex_m", c10::nullopt, __FILE__, __LINE__);
    const std::string common =
        "(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype";
    quantized.def(("quantize_per_tensor" + common + ") -> Tensor").c_str());
    quantized.def(("dequantize_per_tensor" + common + ", *, ScalarType? out_dtype=None) -> Tensor").c_str());
    for (const char* op : {"quantize_per_tensor", "dequantize_per_tensor"}) {
      quantized.impl(op, CppFunction::makeFromBoxedFunction<&callQuantized>());
    }
    return true;
  }();
  ASSERT_TRUE(isDone);
}

struct Start {
  std::string name;
  ExportedProgram program;
  std::vector<SavedCall> calls;
};

// Programs with known results: as exported, and in edge dialect where a file has them.
template <typename Visit>
void forEachStart(Visit&& visit) {
  registerCustomOperators();
  registerBackendOperators();
  for (const CorpusProgram& corpus : corpusPrograms()) {
    const auto expected = expectedResults(corpus);
    if (!expected || corpus.kind != CorpusKind::Fixture || !corpus.model.empty()) continue;
    if (cannotRunHere().contains(corpus.name)) continue;
    std::vector<SavedCall> calls = readSavedCalls(*expected);
    visit(Start{corpus.name, loadProgram(corpus.file), calls});
    const auto edge = corpus.file.parent_path() / "edge.pt2";
    if (!std::filesystem::exists(edge)) continue;
    Start start{corpus.name + " (edge)", loadProgram(edge), std::move(calls)};
    wrapAsEdge(start.program);
    visit(std::move(start));
  }
}

TEST(RunLowered, DelegatedProgramsGivePytorchsResults) {
  const BackendRegistry& registry = conformanceRegistry();
  std::map<std::string, int> lowered;  // by partitioner
  size_t severalCalls = 0;
  forEachStart([&](const Start& start) {
    for (const std::string& name : registry.partitionerNames()) {
      ExportedProgram result;
      try {
        result = toBackend(start.program, registry.partitioner(name), registry);
      } catch (const Error&) {
        continue;  // which programs are refused, and how, is tested beside the goldens
      }
      const std::string what = start.name + " by " + name;
      expectResults(result, start.calls, what);
      const VerifyReport report = verifyLowering(start.program, result, start.calls.front().inputs);
      EXPECT_TRUE(report.agrees()) << what << ":\n" << report.text();
      ++lowered[name];
      if (start.calls.size() > 1) ++severalCalls;
    }
  });
  for (const char* name : {"all", "tag0", "addmul", "branches", "two"}) EXPECT_GT(lowered[name], 30) << name;
  EXPECT_GT(severalCalls, 10u);
}

TEST(RunLowered, DecomposedProgramsGivePytorchsResults) {
  size_t changed = 0;
  forEachStart([&](Start start) {
    if (start.name.ends_with("(edge)")) return;
    const std::string before = fxText(start.program.graphModule());
    decompose(start.program);
    if (fxText(start.program.graphModule()) != before) ++changed;
    expectResults(start.program, start.calls, start.name + ", decomposed");
  });
  EXPECT_GT(changed, 10u);
}

TEST(RunLowered, RewrittenProgramsGivePytorchsResults) {
  size_t changed = 0;
  forEachStart([&](Start start) {
    if (!start.name.ends_with("(edge)")) wrapAsEdge(start.program);
    for (const char* name : {"retarget", "qdq"}) {
      const EdgeProgramManager manager(start.program.clone());
      const EdgeProgramManager lowered = manager.toOpBackend(conformanceBackend(name));
      const ExportedProgram& result = lowered.exportedProgram();
      if (fxText(result.graphModule()) != fxText(start.program.graphModule())) ++changed;
      expectResults(result, start.calls, start.name + " by " + name);
    }
  });
  EXPECT_GT(changed, 20u);
}

// The backend "addconst" multiplies every relu of the top level by a half.
TEST(RunLowered, AddedConstantsTakePart) {
  size_t changed = 0;
  forEachStart([&](Start start) {
    if (!start.name.ends_with("(edge)")) wrapAsEdge(start.program);
    ExportedProgram expected = start.program.clone();
    std::vector<Node*> relus;
    for (Node& node : expected.graph().nodes()) {
      if (node.isCall(Target::edge("aten.relu.default"))) relus.push_back(&node);
    }
    for (Node* relu : relus) {
      InsertionGuard guard(expected.graph(), after(*relu));
      Node& half = expected.graph().call(Target::edge("aten.mul.Tensor"), {*relu, 0.5});
      half.setValue(relu->valueRef());
      relu->replaceAllUsesWith(half, [&](const Node& user) { return &user != &half; });
      expected.signature.renameOutput(relu->name(), half.name());
    }
    const EdgeProgramManager lowered =
        EdgeProgramManager(start.program.clone()).toOpBackend(conformanceBackend("addconst"));
    VerifyOptions options;
    options.calls = static_cast<int>(start.calls.size());
    const VerifyReport report =
        verifyLowering(expected, lowered.exportedProgram(), start.calls.front().inputs, options);
    EXPECT_TRUE(report.agrees()) << start.name << ":\n" << report.text();
    if (!relus.empty()) ++changed;
  });
  EXPECT_GT(changed, 10u);
}

TEST(RunLowered, SimplifiedProgramsGivePytorchsResults) {
  std::map<std::string, int> changed;  // by pass
  forEachStart([&](const Start& start) {
    // Constants lie as is recorded, what the permute_copy of LibTorch 1.13 gives does not; products of
    // bfloat16 are rounded otherwise then.
    const bool isCoarse = start.name.starts_with("autocast_region");
    const Tolerance tolerance = isCoarse ? Tolerance{0.01, 0.01} : Tolerance();
    PassManager all;
    for (const std::string& name : standardPassNames()) {
      ExportedProgram result = start.program.clone();
      all.add(makePass(name));
      if (!PassManager({makePass(name)}).run(result)) continue;
      expectResults(result, start.calls, start.name + " after " + name, tolerance, &start.program);
      ++changed[name];
    }
    ExportedProgram result = start.program.clone();
    all.run(result);
    expectResults(result, start.calls, start.name + " after all passes", tolerance, &start.program);
  });
  for (const char* name : {"common-subexpressions", "debug-handles", "no-ops"})
    EXPECT_GE(changed[name], 3) << name;
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/to_backend.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/passes/debug_handles.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/compare_programs.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/rules.h>
#include <edgefx/serialization/pt2.h>

#include "backend/case_lowering.h"
#include "passes/pass_testing.h"
#include "support/allocation_meter.h"
#include "support/test_data.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <map>

// What the field reports of tests/data/cases ask of passes and of EdgeProgramManager::transform.
namespace edgefx::test {
namespace {

using cases::caseProgram;
using CaseNames = std::vector<std::string>;

PassManager allPasses() {
  PassManager manager;
  for (const std::string& name : standardPassNames()) {
    if (name != "debug-handles") manager.add(makePass(name));
  }
  return manager;
}

ExportedProgram afterAllPasses(const ExportedProgram& program) {
  ExportedProgram made = program.clone();
  allPasses().run(made);
  return made;
}

TEST(PassCases, Case14_TwoItemsOfOneIndex) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 2}));
  ValueMeta::Sequence rows;
  rows.elements = {tensorValue({1, 2}), tensorValue({1, 2})};
  rows.isList = true;
  Node& split = builder.call("aten.split.Tensor", {x, 1}, ValueMeta::of(std::move(rows)));
  Node& first = builder.call("operator.getitem", {split, 0}, tensorValue({1, 2}), "getitem");
  Node& again = builder.call("operator.getitem", {split, 0}, tensorValue({1, 2}), "getitem_2");
  Node& second = builder.call("operator.getitem", {split, 1}, tensorValue({1, 2}), "getitem_1");
  Node& sum = builder.call("aten.add.Tensor", {first, second}, tensorValue({1, 2}));
  builder.userOutput(sum);
  builder.userOutput(again);
  const ExportedProgram program = builder.finish();

  const TempDir folder;
  saveProgram(program, folder / "program.pt2");
  const ExportedProgram loaded = loadProgram(folder / "program.pt2");
  EXPECT_EQ(resultLine(loaded), "return (add, getitem)");
  const ExportedProgram merged = afterPass(program, "common-subexpressions");
  EXPECT_EQ(resultLine(merged), "return (add, getitem)");
  EXPECT_EQ(merged.signature.outputs[1].arg.name, "getitem");
  EXPECT_EQ(callNames(merged), (CaseNames{"split", "getitem", "getitem_1", "add"}));
}

TEST(PassCases, Case15_ADelegateKeepsTheInputsOfItsCall) {
  const ExportedProgram lowered =
      cases::lower(caseProgram("delegate_input_goes_dead"), {{"t0", {"mul", "add", "add_1"}}});
  const ExportedProgram made = afterAllPasses(lowered);
  EXPECT_EQ(cases::argumentsOf(made, 0), (CaseNames{"x", "y"}));
  EXPECT_EQ(inputNames(cases::delegate(made, 0).program), (CaseNames{"x", "y"}));
}

TEST(PassCases, Case16_NothingButConstants) {
  const ExportedProgram program = caseProgram("constants_only");
  ExportedProgram made = program.clone();
  EXPECT_FALSE(allPasses().run(made));
  EXPECT_EQ(inputNames(made), (CaseNames{"p_p", "b_a", "b_b"}));
  ASSERT_EQ(made.signature.outputs.size(), 4u);
  for (const OutputSpec& output : made.signature.outputs) EXPECT_EQ(output.kind, OutputKind::UserOutput);
  EXPECT_EQ(made.signature.outputs[0].arg.name, made.signature.outputs[3].arg.name);
  EXPECT_EQ(render(checkProgram(made)), "");
}

TEST(PassCases, Case17_ConstantOutputsAfterAMutation) {
  const ExportedProgram made = afterAllPasses(caseProgram("mutation_then_constant"));
  ASSERT_EQ(made.signature.outputs.size(), 4u);
  EXPECT_EQ(made.signature.outputs[0].kind, OutputKind::UserInputMutation);
  at::Tensor x = at::ones({2});
  const std::vector<c10::IValue> results = Interpreter(made).run({x, int64_t{3}});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].toTensor().item<float>(), 4);
  EXPECT_EQ(results[1].toInt(), 7);
  EXPECT_EQ(results[2].toInt(), 3);
  EXPECT_TRUE(x.equal(at::full({2}, 2.0)));
}

TEST(PassCases, Case18_PassesBetweenTwoBackends) {
  const ExportedProgram once =
      cases::lower(caseProgram("two_backends"), {{"t0", {"mul"}}}, {.constants = false});
  const ExportedProgram between = afterAllPasses(once);
  EXPECT_EQ(&cases::delegate(between, 0), &cases::delegate(once, 0));
  EXPECT_TRUE(verifyLowering(once, between).agrees());
  const ExportedProgram twice = cases::lowerWith(between, AotiPartitioner({"BackendB"}));
  EXPECT_EQ(&cases::delegate(twice, 0), &cases::delegate(once, 0));
  const ExportedProgram made = afterAllPasses(twice);
  CaseNames state, constants;
  for (const InputSpec& spec : made.signature.inputs) {
    if (spec.target) (spec.kind == InputKind::ConstantTensor ? constants : state).push_back(*spec.target);
  }
  EXPECT_EQ(cases::keysOf(made.stateDict()), state);
  EXPECT_EQ(cases::keysOf(made.constants()), constants);
}

ExportedProgram sinPlusOne() {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& sine = builder.call("aten.sin.default", {builder.call("aten.clone.default", {x}, tensorValue({4}))},
                            tensorValue({4}));
  builder.userOutput(builder.call("aten.add.Tensor", {sine, 1}, tensorValue({4})));
  return builder.finish();
}

TEST(PassCases, Case33_NothingOfTheManagerIsLost) {
  EdgeProgramManager::Methods methods;
  methods.emplace_back("forward", sinPlusOne());
  methods.emplace_back("aux", sinPlusOne());
  EdgeCompileConfig config;
  config.skipDimOrder = true;
  config.preserveOps = {"aten.linear.default"};
  const EdgeCompileConfig given = config;
  const auto record = std::make_shared<const EtRecord>();
  const EdgeProgramManager manager(std::move(methods), config,
                                   {{"get_max", ConstantValue(int64_t{7})}, {"t", at::ones({1})}}, record);
  const std::string forward = test::snapshot(manager.exportedProgram("forward"));

  const EdgeProgramManager made =
      manager.transform(EdgeProgramManager::PassesOfMethod{{"aux", {makePass("no-ops")}}});
  EXPECT_EQ(made.etRecord(), record);
  EXPECT_EQ(made.constantMethods(), manager.constantMethods());
  EXPECT_EQ(made.compileConfig(), given);
  EXPECT_EQ(config, given);
  EXPECT_EQ(&made.exportedProgram("forward"), &manager.exportedProgram("forward"));
  EXPECT_EQ(callNames(made.exportedProgram("aux")), (CaseNames{"sin", "add"}));
  EXPECT_EQ(callNames(manager.exportedProgram("aux")), (CaseNames{"clone", "sin", "add"}));
  EXPECT_EQ(test::snapshot(manager.exportedProgram("forward")), forward);

  const EdgeProgramManager lowered = made.toBackend(AotiPartitioner({"BackendA"}), cases::backends());
  EXPECT_EQ(lowered.etRecord(), record);
  EXPECT_EQ(lowered.constantMethods(), manager.constantMethods());
  EXPECT_TRUE(lowered.compileConfig().skipDimOrder);
  EXPECT_EQ(lowered.compileConfig().preserveOps, given.preserveOps);
  EXPECT_EQ(lowered.transform(allPasses()).compileConfig(), lowered.compileConfig());
}

TEST(PassCases, Case34_WeightsAreNotCopied) {
  constexpr int64_t kElements = int64_t{16} << 20;  // 64 MB
  constexpr size_t kRoom = size_t{8} << 20;
  const at::Tensor weight = at::full({kElements}, 0.5);
  EdgeProgramManager::Methods methods;
  for (const char* name : {"one", "two"}) {
    ProgramBuilder builder;
    Node& w = builder.parameter("w", weight);
    builder.parameter("unused", weight);
    Node& x = builder.userInput("x", tensorValue({kElements}));
    Node& copy = builder.call("aten.clone.default", {builder.call("aten.neg.default", {x}, x.valueRef())},
                              x.valueRef());
    builder.userOutput(builder.call("aten.add.Tensor", {copy, w}, x.valueRef()));
    methods.emplace_back(name, builder.finish());
  }
  const EdgeProgramManager manager(std::move(methods));
  const std::string before = test::snapshot(manager.exportedProgram("one"));
  const size_t bytes = residentBytes();
  const EdgeProgramManager made = manager.transform(allPasses());
  EXPECT_LT(residentBytes(), bytes + kRoom);
  EXPECT_EQ(test::snapshot(manager.exportedProgram("one")), before);
  for (const char* name : {"one", "two"}) {
    const ExportedProgram& program = made.exportedProgram(name);
    EXPECT_EQ(callNames(program), (CaseNames{"neg", "add"}));
    EXPECT_FALSE(program.stateDict().contains("unused"));
    EXPECT_EQ(static_cast<const void*>(program.stateDict().find("w")->storage().data()), weight.data_ptr());
  }
}

TEST(PassCases, Case35_DeadCodeKeepsWrites) {
  const ExportedProgram made = afterPass(caseProgram("effects"), "dead-code");
  EXPECT_EQ(callNames(made), (CaseNames{"add_", "select", "fill_", "sum_1", "gt", "_assert_async", "sin"}));
  EXPECT_EQ(callNames(afterAllPasses(made)), callNames(made));
}

TEST(PassCases, Case36_DeadCodeKeepsAnEffectInABranch) {
  ExportedProgram program = caseProgram("cond_with_assert");
  ExportedProgram kept = program.clone();
  EXPECT_TRUE(PassManager({deadCodePass()}).run(kept));
  EXPECT_EQ(callNames(kept), (CaseNames{"cond", "mul"}));
  EXPECT_EQ(kept.graphModule().children().size(), 2u);
  Graph& branch = program.graphModule().findChild("true_graph_0")->graph();
  branch.erase(*branch.find("_assert_async"));
  const ExportedProgram made = afterPass(program, "dead-code");
  EXPECT_EQ(callNames(made), (CaseNames{"mul"}));
  EXPECT_EQ(made.graph().find("true_graph_0"), nullptr);
  EXPECT_TRUE(made.graphModule().children().empty());
}

TEST(PassCases, Case37_OneDequantizeInTwoPlaces) {
  using namespace patterns;
  const std::string quantize = "quantized_decomposed.quantize_per_tensor.default";
  const std::string dequantize = "quantized_decomposed.dequantize_per_tensor.default";
  const auto again = [&](const Match& match, ProgramRewriter& rewriter, double factor) -> Node& {
    const auto& old = match["d"];
    Args args(old.args().begin(), old.args().end());
    args[1] = old.arg(1).asFloat() * factor;
    return rewriter.call(old.target(), args);
  };
  const PassRef folding = programPass("fold-add", [&](ExportedProgram& program) {
    RuleSet rules;
    const Pattern d = op(dequantize, any("q"), rest("more")).as("d");
    rules.add("add", op(quantize, op("aten.add.Tensor", d, any("other")), rest("out")),
              [&](const Match& match, ProgramRewriter& rewriter) {
                if (&match["other"] != &match["d"]) return match.decline("two operands");
                Args args{rewriter.call("aten.mul.Tensor", {again(match, rewriter, 1), 2.0})};
                for (size_t i = 0; i < match.numArgs("out"); ++i) args.emplace_back(match.arg("out", i));
                return rewriter.replace(match.root(), rewriter.call(quantize, args));
              });
    ProgramRewriter rewriter(program);
    return rules.run(rewriter) != 0;
  });
  const PassRef scaling = programPass("fold-mul", [&](ExportedProgram& program) {
    RuleSet rules;
    const Pattern d = op(dequantize, any("q"), rest("more")).as("d");
    rules.add("mul", op("aten.mul.Tensor", d, equals(4.0)),
              [&](const Match& match, ProgramRewriter& rewriter) {
                return rewriter.replace(match.root(), again(match, rewriter, 4));
              });
    ProgramRewriter rewriter(program);
    return rules.run(rewriter) != 0;
  });
  const ExportedProgram program = caseProgram("qdq_shared");
  ExportedProgram made = program.clone();
  PassManager manager({folding, scaling});
  EXPECT_TRUE(manager.run(made));
  allPasses().run(made);
  EXPECT_EQ(made.graph().find("add"), nullptr);
  EXPECT_EQ(made.graph().find("mul_1"), nullptr);
  ASSERT_NE(made.graph().find("dequantize_per_tensor"), nullptr);
  ASSERT_NE(made.graph().find("mul"), nullptr);
  for (const ExportedProgram* one : {&program, static_cast<const ExportedProgram*>(&made)}) {
    const std::vector<c10::IValue> results = Interpreter(*one).run({at::tensor({0.3F, -1.0F, 100.0F})});
    EXPECT_TRUE(results[0].toTensor().equal(at::tensor({4.0F, -8.0F, 127.0F}))) << results[0];
    EXPECT_TRUE(results[1].toTensor().equal(at::tensor({0.6F, 0.0F, 200.0F}))) << results[1];
    EXPECT_TRUE(results[2].toTensor().equal(at::tensor({0.5F, -1.0F, 62.0F}))) << results[2];
  }
}

TEST(PassCases, Case38_OnlyClonesThatKeepTheLayoutGo) {
  const ExportedProgram program = caseProgram("clone_layout");
  const auto strides = [&](const char* name) {
    return program.graph().find(name)->value()->tensor()->strides;
  };
  EXPECT_EQ(strides("clone"), (std::vector<SymInt>{24, 1, 8, 2}));
  EXPECT_EQ(strides("add"), (std::vector<SymInt>{24, 1, 8, 2}));
  EXPECT_EQ(strides("contiguous"), (std::vector<SymInt>{24, 12, 4, 1}));
  EXPECT_EQ(strides("to"), (std::vector<SymInt>{24, 1, 8, 2}));
  const ExportedProgram made = afterPass(program, "no-ops");
  EXPECT_EQ(made.graph().find("clone"), nullptr);
  EXPECT_NE(made.graph().find("contiguous"), nullptr);
  EXPECT_NE(made.graph().find("to"), nullptr);
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/ir/dead_code.h>
#include <edgefx/program/delegated_text.h>

#include "backend/case_lowering.h"
#include "support/program_builder.h"

#include <ATen/ops/ones.h>

namespace edgefx::test::cases {
namespace {

TEST(ToBackendCases, OneTagOverNodesThatDoNotLieTogether) {
  const ExportedProgram program = caseProgram("one_tag_nonconvex");
  expectMentions(refusal(program, {{"t0", {"add", "mul", "add_1"}}}), {"'t0'", "add -> sin -> mul"});
  EXPECT_EQ(proposalNames(program, allBut({"aten.sin.default"})),
            (std::vector<Names>{{"add"}, {"mul", "add_1"}}));

  const ExportedProgram lowered = lower(program, {{"t0", {"add"}}, {"t1", {"mul", "add_1"}}});
  ASSERT_EQ(numDelegates(lowered), 2u);
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"x"}));
  EXPECT_EQ(argumentsOf(lowered, 1), (Names{"sin", "getitem"}));
  EXPECT_EQ(outputsOf(delegate(lowered, 1).program), (Names{"add_1: USER_OUTPUT"}));
  EXPECT_EQ(outputsOf(lowered), (Names{"getitem_1: USER_OUTPUT"}));
}

TEST(ToBackendCases, TagsTakenAwayAtABorder) {
  const ExportedProgram program = caseProgram("untag_boundary");
  const ExportedProgram lowered = lower(program, {{"t0", {"*"}}});
  EXPECT_EQ(numDelegates(lowered), 1u);
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"x"}));

  expectMentions(refusal(program, {{"t0", {"relu", "matmul"}}}),
                 {"'t0'", "relu -> mul -> round_1 -> div -> matmul"});
  const Node* relu = program.graph().find("relu");
  const Node* matmul = program.graph().find("matmul");
  EXPECT_EQ(splitIntoConvex(program.graph(), {{relu, matmul}}),
            (std::vector<std::vector<const Node*>>{{relu}, {matmul}}));
}

TEST(ToBackendCases, TwoPartitionsThatMakeACycleTogether) {
  const ExportedProgram program = caseProgram("interleaved_groups");
  for (const Wanted& alone : {Wanted{{"p1", {"add", "mul"}}}, Wanted{{"p2", {"add_1", "mul_1"}}}}) {
    const ExportedProgram lowered = lower(program, alone);
    EXPECT_EQ(argumentsOf(lowered, 0).size(), 2u);
    EXPECT_EQ(delegate(lowered, 0).program.signature.outputs.size(), 2u);
  }
  EXPECT_EQ(argumentsOf(lower(program, {{"p1", {"add", "mul"}}}), 0), (Names{"x", "cos"}));
  expectMentions(refusal(program, {{"p1", {"add", "mul"}}, {"p2", {"add_1", "mul_1"}}}),
                 {"p1", "p2", "sin", "cos"});
  EXPECT_EQ(proposalNames(program, allBut({"aten.sin.default", "aten.cos.default"})),
            (std::vector<Names>{{"add", "add_1"}, {"mul", "mul_1"}}));
}

TEST(ToBackendCases, TheReaderOfANodeWithSeveralResults) {
  ExportedProgram program = caseProgram("multi_output_getitem");
  wrapAsEdge(program);  // drops the getitem of the result that nobody uses
  auto by = [&](const std::vector<Target>& operators) {
    const FunctionPartitioner partitioner([operators](const ExportedProgram& shown) {
      return partitionBySupport(shown, support::operators(operators), {.spec = {"BackendA"}});
    });
    return lowerWith(program, partitioner);
  };
  const ExportedProgram both = by({"aten.topk.default", "aten.add.Tensor"});
  EXPECT_EQ(callsOf(delegate(both, 0)), (Names{"topk", "getitem", "add"}));
  const ExportedProgram add = by({"aten.add.Tensor"});
  EXPECT_EQ(callsOf(delegate(add, 0)), (Names{"add"}));
  EXPECT_EQ(argumentsOf(add, 0), (Names{"getitem"}));
  const ExportedProgram topk = by({"aten.topk.default"});
  EXPECT_EQ(callsOf(delegate(topk, 0)), (Names{"topk", "getitem"}));
  EXPECT_EQ(outputsOf(delegate(topk, 0).program), (Names{"getitem: USER_OUTPUT"}));

  const std::string message = refusal(program, {{"t0", {"topk", "add"}}});
  expectMentions(message, {"'t0'", "getitem"});
  const ExportedProgram closed = lower(program, {{"t0", {"topk", "add"}}}, {.getitems = true});
  EXPECT_EQ(callsOf(delegate(closed, 0)), (Names{"topk", "getitem", "add"}));
}

TEST(ToBackendCases, SiblingsShareADelegate) {
  const ExportedProgram program = caseProgram("siblings");
  const FunctionPartitioner partitioner([](const ExportedProgram& shown) {
    return partitionBySupport(shown, allBut({"aten.abs.default"}), {.spec = {"BackendA"}});
  });
  const ExportedProgram lowered = lowerWith(program, partitioner);
  ASSERT_EQ(numDelegates(lowered), 1u);
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"abs_1"}));
  EXPECT_EQ(outputsOf(delegate(lowered, 0).program), (Names{"sin: USER_OUTPUT", "cos: USER_OUTPUT"}));
}

TEST(ToBackendCases, TheOrderOfTagsDoesNotMatter) {
  const ExportedProgram program = caseProgram("one_tag_nonconvex");
  const ExportedProgram first = lower(program, {{"tb", {"add"}}, {"ta", {"mul", "add_1"}}});
  const ExportedProgram second = lower(program, {{"ta", {"mul", "add_1"}}, {"tb", {"add"}}});
  EXPECT_EQ(delegatedText(first), delegatedText(second));
  EXPECT_EQ(callsOf(delegate(first, 0)), (Names{"add"}));
  EXPECT_EQ(callsOf(delegate(first, 1)), (Names{"mul", "add_1"}));
}

TEST(ToBackendCases, InputsKeepTheOrderOfTheProgram) {
  const ExportedProgram lowered = lower(caseProgram("delegate_input_order"), {{"t0", {"*"}}});
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"a", "b", "c"}));
  EXPECT_EQ(inputsOf(delegate(lowered, 0).program),
            (Names{"a: USER_INPUT", "b: USER_INPUT", "c: USER_INPUT"}));
}

TEST(ToBackendCases, AConstantInListsOfTwoDelegates) {
  const ExportedProgram lowered =
      lower(caseProgram("const_in_list_arg"), {{"t0", {"cat"}}, {"t1", {"cat_1"}}});
  ASSERT_EQ(numDelegates(lowered), 2u);
  EXPECT_EQ(inputsOf(lowered), (Names{"x: USER_INPUT"}));
  EXPECT_TRUE(lowered.stateDict().empty());
  EXPECT_TRUE(lowered.constants().empty());
  const TensorTable& first = delegate(lowered, 0).program.stateDict();
  const TensorTable& second = delegate(lowered, 1).program.stateDict();
  EXPECT_EQ(keysOf(first), (Names{"k"}));
  EXPECT_EQ(keysOf(second), (Names{"k"}));
  EXPECT_EQ(first.find("k")->storage().data(), second.find("k")->storage().data());
  const Node& cat = *delegate(lowered, 1).program.graph().find("cat_1");
  EXPECT_EQ(&cat.arg(0).items()[0].asNode(), &cat.arg(0).items()[2].asNode());
}

TEST(ToBackendCases, AWrittenBufferThatIsNotPersistent) {
  const ExportedProgram program = caseProgram("mutated_buffer_nonpersistent");
  const Wanted both{{"t0", {"add", "add_1"}}};
  const ExportedProgram taken = lower(program, both, {.writtenBuffers = true});
  EXPECT_EQ(inputsOf(taken), (Names{"x: USER_INPUT"}));
  ASSERT_EQ(taken.signature.outputs.size(), 1u);
  EXPECT_EQ(taken.signature.outputs[0].kind, OutputKind::UserOutput);
  EXPECT_TRUE(taken.stateDict().empty());
  EXPECT_TRUE(taken.constants().empty());
  const ExportedProgram& inner = delegate(taken, 0).program;
  EXPECT_EQ(inputsOf(inner), (Names{"b_st: BUFFER st", "x: USER_INPUT"}));
  EXPECT_EQ(inner.signature.inputs[0].persistent, false);
  EXPECT_EQ(outputsOf(inner), (Names{"add: BUFFER_MUTATION st", "add_1: USER_OUTPUT"}));
  EXPECT_EQ(keysOf(inner.constants()), (Names{"st"}));

  const ExportedProgram left = lower(program, both);
  EXPECT_EQ(inputsOf(left), (Names{"b_st: BUFFER st", "x: USER_INPUT"}));
  EXPECT_EQ(left.signature.outputs[0].kind, OutputKind::BufferMutation);
  EXPECT_EQ(argumentsOf(left, 0), (Names{"b_st", "x"}));
  EXPECT_EQ(delegate(left, 0).program.signature.outputs.size(), 2u);
}

TEST(ToBackendCases, ABufferWrittenAtOneRemove) {
  const ExportedProgram program = caseProgram("indirect_mutation");
  const Wanted all{{"t0", {"*"}}};
  const ExportedProgram left = lower(program, all);
  EXPECT_EQ(argumentsOf(left, 0), (Names{"b_cache", "x"}));
  EXPECT_EQ(left.signature.outputs[0].kind, OutputKind::BufferMutation);
  for (bool constants : {true, false}) {
    const ExportedProgram taken = lower(program, all, {.constants = constants, .writtenBuffers = true});
    EXPECT_EQ(inputsOf(taken), (Names{"x: USER_INPUT"}));
    EXPECT_EQ(delegate(taken, 0).program.signature.outputs[0].target, "cache");
    EXPECT_EQ(taken.signature.outputs.size(), program.signature.outputs.size() - 1);
  }
}

TEST(ToBackendCases, StoredTensorsAreFoundByTheSignature) {
  const ExportedProgram program = caseProgram("name_vs_fqn");
  const ExportedProgram lowered = lower(program, {{"t0", {"*"}}});
  EXPECT_EQ(inputsOf(lowered), (Names{"x: USER_INPUT", "b_a_b: USER_INPUT"}));
  EXPECT_TRUE(lowered.stateDict().empty());
  const ExportedProgram& inner = delegate(lowered, 0).program;
  for (const auto& [target, value] : std::vector<std::pair<std::string, float>>{
           {"a.b", 1}, {"a_b", 10}, {"lin.weight", 1000}, {"lin_weight", 100}}) {
    ASSERT_NE(inner.stateDict().find(target), nullptr) << target;
    EXPECT_EQ(inner.stateDict().find(target)->tensor().item<float>(), value) << target;
  }
}

// Removes everything but the last call from the program it is given, and may say which inputs are left.
class FoldingBackend final : public BackendDetails {
 public:
  explicit FoldingBackend(bool saysInputs) : saysInputs_(saysInputs) {}
  std::string_view name() const override { return "BackendA"; }
  PreprocessResult preprocess(const ExportedProgram& program, std::span<const CompileSpec>) const override {
    ExportedProgram folded = program.clone();
    Graph& graph = folded.graph();
    graph.find("add_1")->setArg(0, *graph.find("x"));
    eliminateDeadCode(folded.graphModule());
    PreprocessResult result{SharedBytes::copyOf(fxText(graph))};
    if (saysInputs_) result.inputs = Names{"x"};
    return result;
  }

 private:
  bool saysInputs_;
};

TEST(ToBackendCases, AnInputThatTheBackendNoLongerReads) {
  const ExportedProgram program = caseProgram("delegate_input_goes_dead");
  const HandPartitioner all(Wanted{{"t0", {"*"}}});
  BackendRegistry silent;
  silent.add(std::make_unique<FoldingBackend>(false));
  const ExportedProgram lowered = toBackend(program, all, silent);
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"x", "y"}));
  EXPECT_EQ(inputsOf(delegate(lowered, 0).program), (Names{"x: USER_INPUT", "y: USER_INPUT"}));
  EXPECT_EQ(callsOf(delegate(lowered, 0)), (Names{"mul", "add", "add_1"}));
  EXPECT_EQ(delegate(lowered, 0).processedBytes.text().find("mul"), std::string_view::npos);

  BackendRegistry saying;
  saying.add(std::make_unique<FoldingBackend>(true));
  try {
    toBackend(program, all, saying);
    ADD_FAILURE() << "nothing thrown";
  } catch (const LoweringError& error) {
    expectMentions(error.what(), {"(x)", "(x, y)", "'BackendA'", "'forward'"});
  }
}

// What the program says of an input that is no tensor, the delegate says too, wherever it comes in the call.
TEST(ToBackendCases, ANumberAmongTheInputs) {
  ProgramBuilder builder;
  const ValueRef value = tensorValue({4});
  Node& weight = builder.parameter("w", at::ones({4}));
  Node& x = builder.userInput("x", value);
  Node& number = builder.constantInput("n", int64_t{3});
  Node& relu = builder.call("aten.relu.default", {x}, value);
  Node& mul = builder.call("aten.mul.Tensor", {relu, weight}, value);
  builder.userOutput(builder.call("aten.add.Scalar", {mul, number}, value));
  const ExportedProgram lowered = lower(builder.finish(), {{"t0", {"p_w", "mul", "add"}}});
  EXPECT_EQ(argumentsOf(lowered, 0), (Names{"relu", "n"}));
  const std::vector<InputSpec>& inputs = delegate(lowered, 0).program.signature.inputs;
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[0].target, "w");
  EXPECT_FALSE(inputs[1].arg.isConstant());
  EXPECT_EQ(inputs[2].arg.name, "n");
  EXPECT_TRUE(inputs[2].arg.isConstant());
}

TEST(ToBackendCases, NothingButConstants) {
  const ExportedProgram program = caseProgram("constants_only");
  const ExportedProgram lowered = lowerWith(program, AotiPartitioner({"BackendA"}));
  EXPECT_EQ(fxText(lowered.graphModule()), fxText(program.graphModule()));
  EXPECT_EQ(outputsOf(lowered), outputsOf(program));
  EXPECT_EQ(keysOf(lowered.stateDict()), keysOf(program.stateDict()));
  EXPECT_EQ(keysOf(lowered.constants()), keysOf(program.constants()));
}

TEST(ToBackendCases, ConstantOutputsAfterAMutation) {
  const ExportedProgram lowered = lower(caseProgram("mutation_then_constant"), {{"t0", {"mul", "sum_1"}}});
  EXPECT_EQ(delegate(lowered, 0).program.signature.outputs.size(), 2u);
  EXPECT_EQ(lowered.graph().outputNode().text(), "return (getitem, getitem_1, 7, 3)");
  ASSERT_EQ(lowered.signature.outputs.size(), 4u);
  EXPECT_EQ(lowered.signature.outputs[0].kind, OutputKind::UserInputMutation);
  EXPECT_EQ(lowered.signature.outputs[0].arg.name, "getitem");
  EXPECT_EQ(lowered.signature.outputs[0].target, "x");
  EXPECT_TRUE(lowered.signature.outputs[2].arg.isConstant());
}

TEST(ToBackendCases, ASecondBackendOverALoweredProgram) {
  const ExportedProgram program = caseProgram("two_backends");
  const ExportedProgram once = lower(program, {{"t0", {"mul"}}}, {.constants = false});
  EXPECT_EQ(argumentsOf(once, 0), (Names{"p_w", "x"}));
  const ExportedProgram twice = lowerWith(once, AotiPartitioner({"BackendB"}));
  ASSERT_EQ(numDelegates(twice), 2u);
  EXPECT_EQ(&delegate(twice, 0), &delegate(once, 0));
  for (const Node& node : delegate(twice, 1).program.graph().nodes()) EXPECT_FALSE(callsDelegate(node));
  Names targets;
  for (const InputSpec& spec : twice.signature.inputs) {
    if (spec.target) targets.push_back(*spec.target);
  }
  EXPECT_EQ(targets, (Names{"w"}));
  EXPECT_EQ(keysOf(twice.stateDict()), (Names{"w"}));

  expectMentions(refusal(once, {{"t1", {"executorch_call_delegate"}}}), {"'t1'", "executorch_call_delegate"});
}

// Keeps the tensors it is given, as a backend does that only reads.
class ReadingBackend final : public BackendDetails {
 public:
  explicit ReadingBackend(std::vector<const void*>& storages) : storages_(storages) {}
  std::string_view name() const override { return "BackendA"; }
  PreprocessResult preprocess(const ExportedProgram& program, std::span<const CompileSpec>) const override {
    for (const auto& entry : program.stateDict()) storages_.push_back(entry.value.storage().data());
    return {};
  }

 private:
  std::vector<const void*>& storages_;
};

TEST(ToBackendCases, WeightsAreNotCopied) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({4, 4}));
  Node& x = builder.userInput("x", tensorValue({4, 4}));
  builder.userOutput(builder.call("aten.mm.default", {x, w}, tensorValue({4, 4})));
  const ExportedProgram program = builder.finish();
  const ExportedProgram copy = program.clone();

  std::vector<const void*> storages;
  BackendRegistry registry;
  registry.add(std::make_unique<ReadingBackend>(storages));
  const AotiPartitioner all({"BackendA"});
  const std::vector<ExportedProgram> lowered =
      toBackend({{"one", &program, &all}, {"two", &copy, &all}}, registry);
  const void* storage = program.stateDict().find("w")->storage().data();
  EXPECT_EQ(storages, (std::vector<const void*>{storage, storage}));
  for (const ExportedProgram& method : lowered) {
    EXPECT_EQ(delegate(method, 0).program.stateDict().find("w")->storage().data(), storage);
  }
  EXPECT_EQ(keysOf(program.stateDict()), (Names{"w"}));
}

}  // namespace
}  // namespace edgefx::test::cases

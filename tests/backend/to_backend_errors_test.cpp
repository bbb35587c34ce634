#include <edgefx/backend/to_backend.h>
#include <edgefx/program/compare_programs.h>

#include "backend/test_backends.h"
#include "backend/test_delegates.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

// What is wrong with tags is said with tag, backend, method and node, and nothing has changed then.
namespace edgefx::test {
namespace {

using TagsByName = std::map<std::string, std::string>;

FunctionPartitioner tagging(TagsByName tags, std::string backend = "npu") {
  return FunctionPartitioner([=](const ExportedProgram& program) {
    PartitionResult result;
    for (const Node& node : program.graph().nodes()) {
      const auto found = tags.find(std::string(node.name()));
      if (found != tags.end()) result.tags.tag(node, found->second);
    }
    for (const std::string& tag : result.tags.all()) result.addSpec(tag, {backend});
    return result;
  });
}

std::string errorText(const ExportedProgram& program, const Partitioner& partitioner) {
  const ExportedProgram before = program.clone();
  const std::string text =
      caught<LoweringError>([&] { toBackend(program, partitioner, textBackends({"npu"}), "decode"); }).what();
  EXPECT_FALSE(findDifference(before, program).has_value());
  return text;
}

// %p_weight, %b_scale, %x, linear, mul, relu.
TEST(ToBackendErrors, ATaggedInputOfTheProgram) {
  const std::string text = errorText(tinyProgram(), tagging({{"x", "t0"}, {"relu", "t0"}}));
  EXPECT_CONTAINS(text, "backend 'npu', method 'decode', node '%x'");
  EXPECT_CONTAINS(
      text,
      "expected tags on parameters, buffers and constants among the placeholders, found tag 't0' on "
      "an input of the program");
}

TEST(ToBackendErrors, ATaggedOutput) {
  EXPECT_CONTAINS(errorText(tinyProgram(), tagging({{"output", "t0"}})),
                  "the output node must not be tagged, found tag 't0'");
}

TEST(ToBackendErrors, AnUnknownBackend) {
  const std::string text = errorText(tinyProgram(), tagging({{"relu", "t0"}}, "dsp"));
  EXPECT_CONTAINS(text,
                  "tag 't0' asks for delegate backend 'dsp', which is not registered; registered are 'npu'");
}

TEST(ToBackendErrors, ABackendThatNoTagInUseAsksForNeedNotBeThere) {
  FunctionPartitioner partitioner([](const ExportedProgram&) {
    PartitionResult result;
    result.addSpec("t0", {"dsp"});
    return result;
  });
  EXPECT_EQ(toBackend(tinyProgram(), partitioner, {}).graphModule().delegates().size(), 0u);
}

TEST(ToBackendErrors, NodesThatDoNotLieTogether) {
  const std::string text = errorText(tinyProgram(), tagging({{"linear", "t0"}, {"relu", "t0"}}));
  EXPECT_CONTAINS(text, "backend 'npu', method 'decode'");
  EXPECT_CONTAINS(text,
                  "the nodes tagged 't0' cannot be fused: what they compute leaves them and comes back: "
                  "linear -> mul -> relu");
}

TEST(ToBackendErrors, SeveralResultsWithoutTheirGetitem) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  ValueMeta::Sequence two;
  two.elements = {tensorValue({2}), tensorValue({2})};
  Node& topk = builder.call("aten.topk.default", {x, 2}, ValueMeta::of(two));
  Node& first = builder.call("operator.getitem", {topk, 0}, tensorValue({2}), "first");
  builder.userOutput(builder.call("aten.relu.default", {first}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  EXPECT_CONTAINS(errorText(program, tagging({{"topk", "t0"}})),
                  "'%topk' has several results, and partition 't0' lacks '%first', which takes one of them");
  EXPECT_CONTAINS(
      errorText(program, tagging({{"first", "t0"}})),
      "partition 't0' would be given all results of '%topk' at once: tag that one too, or untag '%first'");
}

TEST(ToBackendErrors, ADelegateCannotBeTaggedAgain) {
  const ExportedProgram lowered =
      toBackend(tinyProgram(), tagging({{"relu", "t0"}}), textBackends({"npu"}), "decode");
  EXPECT_CONTAINS(errorText(lowered, tagging({{"executorch_call_delegate", "t1"}})),
                  "tag 't1' is on a delegate, which is lowered already");
  EXPECT_CONTAINS(errorText(lowered, tagging({{"lowered_module_0", "t1"}})),
                  "tag 't1' is on a delegate, which is lowered already");
}

// %b_count and %add, which writes it.
TEST(ToBackendErrors, W3_WrittenStateThatIsReadElsewhere) {
  EXPECT_CONTAINS(
      errorText(countingProgram(), tagging({{"b_count", "t0"}, {"relu", "t0"}})),
      "'count' is tagged 't0', but '%add', which writes it, has no tag: state moves with its writer");
}

// In training programs the signature does not tell of writes.
TEST(ToBackendErrors, W3_StateWrittenInPlaceInTwoPartitions) {
  ProgramBuilder builder;
  Node& state = builder.buffer("state", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  builder.call("aten.add_.Tensor", {state, x}, tensorValue({4}), "write");
  builder.userOutput(builder.call("aten.mul.Tensor", {state, x}, tensorValue({4}), "read"));
  const ExportedProgram program = builder.finish();
  const std::string text = errorText(program, tagging({{"b_state", "t0"}, {"write", "t0"}, {"read", "t1"}}));
  EXPECT_CONTAINS(text,
                  "node '%b_state': partition 't0' would own what the program writes in place, but '%read', "
                  "which uses its memory, has tag 't1'");
  const ExportedProgram whole = toBackend(
      program, tagging({{"b_state", "t0"}, {"write", "t0"}, {"read", "t0"}}), textBackends({"npu"}));
  EXPECT_TRUE(whole.stateDict().empty());
}

TEST(ToBackendErrors, AConstantThatMustNotBeCopied) {
  FunctionPartitioner partitioner([](const ExportedProgram& program) {
    PartitionResult result = tagging({{"p_w", "t0"}, {"mul", "t0"}}).partition(program);
    result.tags.setNoCopy(*program.graph().find("p_w"));
    return result;
  });
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({4}));
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& mul = builder.call("aten.mul.Tensor", {x, w}, tensorValue({4}));
  builder.userOutput(builder.call("aten.add.Tensor", {mul, w}, tensorValue({4})));
  EXPECT_CONTAINS(
      errorText(builder.finish(), partitioner),
      "the constant tagged 't0' must not be copied, but its users are '%mul' (tag 't0'), '%add' (no tag)");
}

TEST(ToBackendErrors, W10_APartitionerThatChangesTheProgram) {
  FunctionPartitioner literal([](const ExportedProgram& program) {
    auto& graph = const_cast<Graph&>(program.graph());
    graph.find("relu")->setArgs({*graph.find("mul"), 7});
    return PartitionResult();
  });
  const std::string text = errorText(tinyProgram(), literal);
  EXPECT_CONTAINS(text, "method 'decode', node '%relu': the arguments of a node changed");
  EXPECT_CONTAINS(text, "partitioner 'test' may only tag, but it changed the program");
}

TEST(ToBackendErrors, AnInputCalledOutputIsNoError) {
  ProgramBuilder builder;
  Node& x = builder.userInput("output", tensorValue({4}));
  builder.userOutput(builder.call("aten.relu.default", {x}, tensorValue({4})));
  const ExportedProgram lowered =
      toBackend(builder.finish(), tagging({{"relu", "t0"}}), textBackends({"npu"}));
  const Graph& inner = lowered.graphModule().delegates()[0].module->program.graph();
  EXPECT_EQ(inner.front()->name(), "output");
  EXPECT_EQ(inner.back()->name(), "output_1");
}

TEST(ToBackendErrors, WhatAPartitionerThrowsNamesIt) {
  FunctionPartitioner throwing(
      [](const ExportedProgram&) -> PartitionResult { throw std::runtime_error("no luck"); });
  EXPECT_CONTAINS(errorText(tinyProgram(), throwing), "partitioner 'test' threw an exception: no luck");
}

TEST(ToBackendErrors, InputsThatThePayloadDoesNotTake) {
  class Picky final : public BackendDetails {
   public:
    std::string_view name() const override { return "npu"; }
    PreprocessResult preprocess(const ExportedProgram&, std::span<const CompileSpec>) const override {
      PreprocessResult result;
      result.inputs = std::vector<std::string>{"y"};
      return result;
    }
  };
  BackendRegistry registry;
  registry.add(std::make_unique<Picky>());
  EXPECT_CONTAINS(caught<LoweringError>([&] {
                    toBackend(tinyProgram(), tagging({{"relu", "t0"}}), registry);
                  }).what(),
                  "backend 'npu', method 'forward', node '%lowered_module_0': the payload takes the inputs "
                  "(y), but every call "
                  "passes (mul)");
}

TEST(ToBackendErrors, ReasonsOfNodesThatStayAreKept) {
  FunctionPartitioner partitioner([](const ExportedProgram& program) {
    PartitionResult result = tagging({{"relu", "t0"}}).partition(program);
    result.tags.reject(*program.graph().find("mul"), "the kernel lacks broadcasting");
    result.tags.reject(*program.graph().find("mul"), "a second reason");
    result.tags.reject(*program.graph().find("relu"), "tagged after all");
    return result;
  });
  const ExportedProgram lowered = toBackend(tinyProgram(), partitioner, textBackends({"npu"}));
  const SharedText* reason = lowered.graph().find("mul")->meta().find(kWhyNotDelegated);
  ASSERT_NE(reason, nullptr);
  EXPECT_EQ(**reason, "the kernel lacks broadcasting");
  EXPECT_EQ(lowered.graph().find("linear")->meta().find(kWhyNotDelegated), nullptr);
}

}  // namespace
}  // namespace edgefx::test

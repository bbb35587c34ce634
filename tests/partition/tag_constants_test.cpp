#include <edgefx/partition/control_flow.h>
#include <edgefx/partition/tag_constants.h>
#include <edgefx/serialization/pt2.h>

#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

using NodeTags = std::vector<std::pair<std::string, std::string>>;

void tagNodes(const ExportedProgram& program, Tags& tags,
              std::initializer_list<std::pair<std::string_view, std::string_view>> wanted) {
  for (const auto& [name, tag] : wanted) {
    const Node* node = program.graph().find(name);
    ASSERT_NE(node, nullptr) << name;
    tags.tag(*node, tag);
  }
}

// Tags of the placeholders, those without left out.
NodeTags placeholderTags(const ExportedProgram& program, const Tags& tags) {
  NodeTags found;
  for (const Node* node : program.graph().placeholders()) {
    if (tags.isTagged(*node)) found.emplace_back(node->name(), tags.tagOf(*node));
  }
  return found;
}

std::string_view reasonOf(const ExportedProgram& program, const Tags& tags, std::string_view name) {
  return tags.reasonOf(*program.graph().find(name));
}

ExportedProgram loadCase(const std::string& name) {
  return loadProgram(corpusRoots()[1] / (name + ".pt2"));
}

TEST(TagConstantData, TakesTheSmallestTagOfTheReaders) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2}));
  Node& k = builder.buffer("k", sampleTensor({2}));
  Node& c = builder.constant("c", sampleTensor({2}));
  Node& unread = builder.parameter("unread", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& add = builder.call("aten.add.Tensor", {x, w}, tensorValue({2}));
  Node& sub = builder.call("aten.sub.Tensor", {w, k}, tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {w, c}, tensorValue({2}));
  builder.userOutput(add);
  builder.userOutput(sub);
  builder.userOutput(mul);
  builder.userOutput(unread);
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(add, "t9");
  tags.tag(sub, "t10");
  tagConstantData(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"p_w", "t10"}, {"b_k", "t10"}}));
}

TEST(TagConstantData, ReadersInListsCount) {
  const ExportedProgram program = loadCase("const_in_list_arg");
  Tags tags;
  tagNodes(program, tags, {{"cat", "t0"}, {"cat_1", "t1"}});
  tagConstantData(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_k", "t0"}}));
}

TEST(TagConstantData, AsksTheSignatureAndNotTheName) {
  const ExportedProgram program = loadCase("name_vs_fqn");
  Tags tags;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall()) tags.tag(node, "t0");
  }
  tagConstantData(program, tags);
  EXPECT_EQ(
      placeholderTags(program, tags),
      (NodeTags{{"p_lin_weight", "t0"}, {"p_lin_weight_1", "t0"}, {"b_a_b_1", "t0"}, {"b_a_b_2", "t0"}}));
}

TEST(TagConstantData, NothingIsOwnedThatOnlyTheOutputReads) {
  const ExportedProgram program = loadCase("constants_only");
  Tags tags;
  tagConstantData(program, tags);
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
}

// The buffer's reader is one call, its new value another: only the signature tells that it is written.
TEST(TagMutatedBuffers, FollowTheMutationThroughSeveralCalls) {
  const ExportedProgram program = loadCase("indirect_mutation");
  Tags tags;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall()) tags.tag(node, "t0");
  }
  tagConstantData(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tagMutatedBuffers(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_cache", "t0"}}));
}

TEST(TagMutatedBuffers, NonPersistentBuffersToo) {
  const ExportedProgram program = loadCase("mutated_buffer_nonpersistent");
  Tags tags;
  tagNodes(program, tags, {{"add", "t0"}, {"add_1", "t0"}});
  tagConstantData(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tagMutatedBuffers(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_st", "t0"}}));
}

// x + k, then k = cos(k + x), and k read once more by `mul`.
struct CacheProgram {
  ExportedProgram program;
  const Node& add;
  const Node& cos;
  const Node& mul;
};

CacheProgram cacheProgram() {
  ProgramBuilder builder;
  Node& k = builder.buffer("k", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& add = builder.call("aten.add.Tensor", {k, x}, tensorValue({2}));
  Node& cos = builder.call("aten.cos.default", {add}, tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {k, x}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, cos, "k");
  builder.userOutput(mul);
  return {builder.finish(), add, cos, mul};
}

TEST(TagMutatedBuffers, AReaderWithoutTagKeepsTheBufferOutside) {
  CacheProgram cache = cacheProgram();
  Tags tags;
  tags.tag(cache.add, "t0");
  tags.tag(cache.cos, "t0");
  tagMutatedBuffers(cache.program, tags);
  EXPECT_TRUE(placeholderTags(cache.program, tags).empty());
  EXPECT_EQ(reasonOf(cache.program, tags, "b_k"),
            "buffer 'k' is written by the program: '%mul' reads it and has no tag");
}

TEST(TagMutatedBuffers, AReaderOfAnotherTagKeepsTheBufferOutside) {
  CacheProgram cache = cacheProgram();
  Tags tags;
  tags.tag(cache.add, "t0");
  tags.tag(cache.cos, "t0");
  tags.tag(cache.mul, "t1");
  tagConstantData(cache.program, tags);
  tagMutatedBuffers(cache.program, tags);
  EXPECT_TRUE(placeholderTags(cache.program, tags).empty());
  EXPECT_EQ(reasonOf(cache.program, tags, "b_k"),
            "buffer 'k' is written by the program: '%mul' reads it and has tag 't1', others have tag 't0'");
}

TEST(TagMutatedBuffers, ANewValueMadeOutsideKeepsTheBufferOutside) {
  CacheProgram cache = cacheProgram();
  Tags tags;
  tags.tag(cache.add, "t0");
  tags.tag(cache.mul, "t0");
  tagMutatedBuffers(cache.program, tags);
  EXPECT_TRUE(placeholderTags(cache.program, tags).empty());
  EXPECT_EQ(reasonOf(cache.program, tags, "b_k"),
            "buffer 'k' is written by the program: '%cos' makes its new value and has no tag");
}

TEST(TagMutatedBuffers, ABufferOutOfReachHasNoReason) {
  CacheProgram cache = cacheProgram();
  Tags tags;
  tagMutatedBuffers(cache.program, tags);
  EXPECT_EQ(reasonOf(cache.program, tags, "b_k"), "");
}

TEST(TagMutatedBuffers, AnOldValueThatIsReturnedKeepsTheBufferOutside) {
  ProgramBuilder builder;
  Node& k = builder.buffer("k", sampleTensor({2}));
  Node& add = builder.call("aten.add.Tensor", {k, k}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, add, "k");
  builder.userOutput(k);
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(add, "t0");
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  EXPECT_EQ(reasonOf(program, tags, "b_k"),
            "buffer 'k' is written by the program: '%output' reads it and has no tag");
}

TEST(TagMutatedBuffers, ABufferThatIsOnlyWrittenGoesWithItsWriter) {
  ProgramBuilder builder;
  builder.buffer("k", sampleTensor({2}));
  builder.buffer("last", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, relu, "k");
  builder.result(OutputKind::BufferMutation, x, "last");
  builder.userOutput(relu);
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(relu, "t0");
  tagUnusedConstants(program, tags, "t0");
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tagMutatedBuffers(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_k", "t0"}}));
}

TEST(TagMutatedBuffers, SeveralPlaceholdersOfOneBufferCountTogether) {
  ProgramBuilder builder;
  Node& k = builder.buffer("k", sampleTensor({2}));
  Node& again = builder.buffer("again", sampleTensor({2}));
  Node& add = builder.call("aten.add.Tensor", {k, 1}, tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {again, 1}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, add, "k");
  builder.userOutput(mul);
  builder.program().signature.inputs[1].target = "k";
  builder.program().stateDict().erase("again");
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(add, "t0");
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tags.tag(mul, "t0");
  tagMutatedBuffers(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_k", "t0"}, {"b_again", "t0"}}));
}

class WrittenParameter : public testing::TestWithParam<OutputKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, WrittenParameter,
                         testing::Values(OutputKind::ParameterMutation, OutputKind::GradientToParameter));

TEST_P(WrittenParameter, Stays) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2}));
  Node& add = builder.call("aten.add.Tensor", {w, 1}, tensorValue({2}));
  builder.result(GetParam(), add, "w");
  builder.userOutput(add);
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(add, "t0");
  tagConstantData(program, tags);
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
}

// k.select(0, 0).add_(x), then k * x: the write goes through a view.
TEST(TagMutatedBuffers, WritesInPlaceCount) {
  ProgramBuilder builder;
  Node& k = builder.buffer("k", sampleTensor({2, 2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& select = builder.call("aten.select.int", {k, 0, 0}, tensorValue({2}));
  Node& add = builder.call("aten.add_.Tensor", {select, x}, tensorValue({2}));
  Node& mul = builder.call("aten.mul.Tensor", {k, x}, tensorValue({2, 2}));
  builder.userOutput(mul);
  const ExportedProgram program = builder.finish();
  Tags tags;
  for (const Node* node : {&select, &add}) tags.tag(*node, "t0");
  tagConstantData(program, tags);
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tags.tag(mul, "t0");
  tags.untag(add);
  tagConstantData(program, tags);
  tagMutatedBuffers(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tags.tag(add, "t0");
  tagConstantData(program, tags);
  EXPECT_TRUE(placeholderTags(program, tags).empty());
  tagMutatedBuffers(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_k", "t0"}}));
}

TEST(TagConstantData, ViewsThatNobodyWritesAreFine) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2, 2}));
  Node& x = builder.userInput("x", tensorValue({2, 2}));
  Node& permute = builder.call("aten.permute.default", {w, {1, 0}}, tensorValue({2, 2}));
  builder.userOutput(builder.call("aten.mm.default", {x, permute}, tensorValue({2, 2})));
  const ExportedProgram program = builder.finish();
  Tags tags;
  tags.tag(permute, "t0");
  tagConstantData(program, tags);
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"p_w", "t0"}}));
}

TEST(TagUnusedConstants, TakesWhatNobodyReads) {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2}));
  builder.buffer("unused", sampleTensor({2}));
  builder.constant("c", sampleTensor({2}));
  builder.customObject("o", "C");
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.userInput("y", tensorValue({2}));
  builder.userOutput(builder.call("aten.add.Tensor", {x, w}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  Tags tags;
  tagUnusedConstants(program, tags, "t0");
  EXPECT_EQ(placeholderTags(program, tags), (NodeTags{{"b_unused", "t0"}, {"c_c", "t0"}}));
}

}  // namespace
}  // namespace edgefx::test

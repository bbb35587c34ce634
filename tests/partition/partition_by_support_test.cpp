#include <edgefx/ir/node_queries.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/serialization/pt2.h>

#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::test {
namespace {

// "<tag>: <nodes of the top level>" for each tag, in the order of the specs.
std::vector<std::string> partitionTexts(const ExportedProgram& program, const PartitionResult& result) {
  std::vector<std::string> texts;
  for (const auto& [tag, spec] : result.specs()) {
    std::string text = tag + ':';
    for (const Node& node : program.graph().nodes()) {
      if (result.tags.tagOf(node) == tag) text += ' ' + std::string(node.name());
    }
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

ExportedProgram caseFile(const std::string& name) {
  return loadProgram(corpusRoots()[1] / (name + ".pt2"));
}

// The whole of a user's partitioner.
class AddPartitioner final : public Partitioner {
 public:
  std::string_view name() const override { return "adds"; }
  PartitionResult partition(const ExportedProgram& program) const override {
    static const OperatorSupport support = support::operators({"aten.add.Tensor", "aten.mul.Tensor"});
    return partitionBySupport(program, support, {.spec = {"Adder", {{"level", "2"}}}});
  }
};

TEST(PartitionBySupport, TagsPartitionsAndTheirConstants) {
  const ExportedProgram program = caseFile("two_backends");
  const PartitionResult result = AddPartitioner().partition(program);
  EXPECT_EQ(partitionTexts(program, result), (Texts{"tag1: p_w p_u mul_1 add", "tag2: mul"}));
  const DelegationSpec expected{"Adder", {{"level", "2"}}};
  for (const auto& [tag, spec] : result.specs()) EXPECT_EQ(spec, expected) << tag;
}

TEST(PartitionBySupport, WhatStaysHasAReason) {
  const ExportedProgram program = caseFile("two_backends");
  const PartitionResult result = AddPartitioner().partition(program);
  const Node& sin = *program.graph().find("sin");
  EXPECT_EQ(result.tags.reasonOf(sin),
            support::operators({"aten.add.Tensor", "aten.mul.Tensor"}).whyNot(sin));
  EXPECT_NE(result.tags.reasonOf(sin), "");
  EXPECT_EQ(result.tags.reasonOf(*program.graph().find("add")), "");
}

TEST(PartitionBySupport, SingleCallsThatAreNotWantedHaveAReasonToo) {
  const ExportedProgram program = caseFile("one_tag_nonconvex");
  const PartitionResult result = partitionBySupport(program, support::operators({"aten.sin.default"}),
                                                    {.spec = {"B"}, .capability = {}});
  EXPECT_TRUE(result.specs().empty());
  EXPECT_NE(result.tags.reasonOf(*program.graph().find("sin")), "");
}

TEST(PartitionBySupport, WrittenBuffersMoveWithTheirWriter) {
  const ExportedProgram program = caseFile("indirect_mutation");
  const PartitionResult result = partitionBySupport(program, support::anyCall(), {.spec = {"B"}});
  EXPECT_EQ(partitionTexts(program, result), (Texts{"tag1: b_cache cat slice_1 sum_1 sum_2 add"}));
}

TEST(AotiPartitioner, TakesBranchesAndUnusedConstants) {
  const ExportedProgram program = caseFile("cond_with_assert");
  const PartitionResult result = AotiPartitioner({"B"}).partition(program);
  ASSERT_EQ(result.specs().size(), 1u);
  const std::string tag = result.specs()[0].first;
  EXPECT_TRUE(tag.starts_with("aoti_")) << tag;
  for (const Node& node : program.graph().nodes()) {
    const bool stays = node.isOutput() || node.name() == "x" || node.name() == "p";
    EXPECT_EQ(result.tags.tagOf(node), stays ? "" : tag) << node.name();
  }
}

TEST(AotiPartitioner, InsideOfBranchesEveryGraphHasItsOwnTags) {
  const ExportedProgram program = caseFile("nested_cond");
  const PartitionResult result = AotiPartitioner({"B"}, "inside", ControlFlow::Branches).partition(program);
  const GraphModule& top = program.graphModule();
  EXPECT_FALSE(result.tags.isTagged(*program.graph().find("cond")));
  EXPECT_EQ(result.tags.reasonOf(*program.graph().find("cond")), "only what is in its branches is taken");
  EXPECT_FALSE(result.tags.isTagged(*program.graph().find("true_graph_0")));
  std::vector<std::string> tags;
  for (const auto& [path, name] :
       std::vector<std::pair<std::string, std::string>>{{"true_graph_0", "add"},
                                                        {"true_graph_0.true_graph_0", "mul"},
                                                        {"true_graph_0.false_graph_0", "add"},
                                                        {"false_graph_0", "tan"}}) {
    tags.emplace_back(result.tags.tagOf(*top.findChild(path)->graph().find(name)));
    EXPECT_NE(tags.back(), "") << path;
  }
  std::ranges::sort(tags);
  EXPECT_EQ(std::ranges::adjacent_find(tags), tags.end());
}

TEST(AotiPartitioner, EveryOperatorWithGraphsIsTakenWhole) {
  for (const char* name : {"while_loop", "map_loop", "scan_loop", "invoke_subgraph"}) {
    SCOPED_TRACE(name);
    const ExportedProgram program = loadProgram(fixture(std::string(name) + "/program.pt2"));
    const PartitionResult result = AotiPartitioner({"B"}).partition(program);
    for (const Node& node : program.graph().nodes()) {
      if (!node.isCall()) continue;
      for (const Node& input : node.inputs()) {
        if (input.isGetAttr()) {
          EXPECT_TRUE(result.tags.sameTag(input, node)) << input.name();
        }
      }
    }
  }
}

TEST(AotiPartitioner, LeavesDelegatesAndWhatHoldsThemAlone) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& module = builder.graph().getAttr("lowered_module_0");
  Node& call = builder.call("higher_order.executorch_call_delegate", {module, x}, tensorValue({2}));
  Node& item = builder.call("operator.getitem", {call, 0}, tensorValue({2}));
  Node& relu = builder.call("aten.relu.default", {item}, tensorValue({2}));
  builder.userOutput(relu);
  const ExportedProgram program = builder.finish();
  const PartitionResult result = AotiPartitioner({"B"}).partition(program);
  EXPECT_TRUE(result.tags.isTagged(relu));
  for (const Node* node : {&module, &call, &item}) EXPECT_FALSE(result.tags.isTagged(*node)) << node->name();
}

}  // namespace
}  // namespace edgefx::test

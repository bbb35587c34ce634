#include <edgefx/backend/to_backend.h>
#include <edgefx/program/check_program.h>

#include "backend/test_delegates.h"
#include "support/program_builder.h"
#include "support/value_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

// Branches that several operators, or both arms of one, name.
namespace edgefx::test {
namespace {

ValueRef vector4() {
  return tensorValue({4});
}

std::unique_ptr<Graph> branchCalling(const char* target) {
  auto graph = std::make_unique<Graph>();
  Node& operand = graph->placeholder("operand");
  operand.setValue(vector4());
  Node& call = graph->call(target, {operand});
  call.setValue(vector4());
  graph->output(Arg::tuple({call}));
  return graph;
}

// Two conds, "first" and "second", of which the second takes the result of the first. Both name the same
// get_attr nodes; with `oneArm`, each takes one branch for both arms.
ExportedProgram twoConds(bool oneArm = false) {
  ProgramBuilder builder;
  Node& flag = builder.userInput("flag", tensorValue({}, Dtype::Bool));
  Node& x = builder.userInput("x", vector4());
  Node& onTrue = builder.branch("on_true", branchCalling("aten.relu.default"));
  Node& onFalse = oneArm ? onTrue : builder.branch("on_false", branchCalling("aten.tanh.default"));
  Node* value = &x;
  for (const char* name : {"first", "second"}) {
    ValueMeta::Sequence result;
    result.elements = {vector4()};
    Node& cond = builder.call("higher_order.cond", {flag, onTrue, onFalse, Arg::tuple({*value})},
                              ValueMeta::of(result), name);
    value = &builder.call("operator.getitem", {cond, 0}, vector4(), std::string(name) + "_result");
  }
  builder.userOutput(*value);
  return builder.finish();
}

// Tags nodes by name; in nested graphs, every call.
ExportedProgram lowerTagged(const ExportedProgram& program, const std::map<std::string, std::string>& tags,
                            const std::string& tagInBranches = "") {
  const FunctionPartitioner partitioner([&](const ExportedProgram& shown) {
    PartitionResult result;
    for (const ConstNestedModule& nested : namedModules(shown.graphModule())) {
      for (const Node& node : nested.module->graph().nodes()) {
        if (nested.path.empty()) {
          const auto found = tags.find(std::string(node.name()));
          if (found != tags.end()) result.tags.tag(node, found->second);
        } else if (node.isCall() && !tagInBranches.empty()) {
          result.tags.tag(node, tagInBranches);
        }
      }
    }
    for (const std::string& tag : result.tags.all()) result.addSpec(tag, {"npu"});
    return result;
  });
  ExportedProgram lowered = toBackend(program, partitioner, textBackends({"npu"}));
  ValueNumbers numbers;
  EXPECT_EQ(numbers.resultsOf(lowered), numbers.resultsOf(program));
  EXPECT_EQ(render(checkDelegates(lowered)), "");
  return lowered;
}

const LoweredModule& delegateOf(const GraphModule& owner, size_t index = 0) {
  return *owner.delegates().at(index).module;
}

TEST(SharedBranches, BothOperatorsInOneDelegate) {
  const ExportedProgram lowered = lowerTagged(twoConds(), {{"on_true", "t"},
                                                           {"on_false", "t"},
                                                           {"first", "t"},
                                                           {"first_result", "t"},
                                                           {"second", "t"},
                                                           {"second_result", "t"}});
  EXPECT_TRUE(lowered.graphModule().children().empty());
  EXPECT_EQ(delegateOf(lowered.graphModule()).program.graphModule().children().size(), 2u);
}

TEST(SharedBranches, OneOperatorInADelegateAndOneOutside) {
  for (const char* moved : {"first", "second"}) {
    const ExportedProgram lowered = lowerTagged(
        twoConds(),
        {{"on_true", "t"}, {"on_false", "t"}, {moved, "t"}, {std::string(moved) + "_result", "t"}});
    EXPECT_EQ(lowered.graphModule().children().size(), 2u) << moved;
    EXPECT_EQ(delegateOf(lowered.graphModule()).program.graphModule().children().size(), 2u) << moved;
  }
}

TEST(SharedBranches, OperatorsInTwoDelegates) {
  const ExportedProgram split = lowerTagged(twoConds(), {{"on_true", "a"},
                                                         {"on_false", "a"},
                                                         {"first", "a"},
                                                         {"first_result", "a"},
                                                         {"second", "b"},
                                                         {"second_result", "b"}});
  ASSERT_EQ(split.graphModule().delegates().size(), 2u);
  EXPECT_TRUE(split.graphModule().children().empty());
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(delegateOf(split.graphModule(), i).program.graphModule().children().size(), 2u);
  }
}

TEST(SharedBranches, OneBranchForBothArms) {
  const ExportedProgram lowered =
      lowerTagged(twoConds(true), {{"on_true", "t"}, {"first", "t"}, {"first_result", "t"}});
  EXPECT_EQ(lowered.graphModule().children().size(), 1u);
  EXPECT_EQ(delegateOf(lowered.graphModule()).program.graphModule().children().size(), 1u);
}

// Two get_attr nodes of one branch, both in the delegate: it takes the branch once, and none stays behind.
TEST(SharedBranches, W15_OneBranchByTwoNames) {
  ExportedProgram program = twoConds(true);
  Graph& graph = program.graph();
  Node& first = *graph.find("first");
  InsertionGuard guard(graph, before(first));
  Node& again = graph.getAttr("on_true", "on_true_again");
  first.setArg(2, again);
  const ExportedProgram lowered = lowerTagged(program, {{"on_true", "t"},
                                                        {"on_true_again", "t"},
                                                        {"first", "t"},
                                                        {"first_result", "t"},
                                                        {"second", "t"},
                                                        {"second_result", "t"}});
  EXPECT_TRUE(lowered.graphModule().children().empty());
  EXPECT_EQ(delegateOf(lowered.graphModule()).program.graphModule().children().size(), 1u);
}

TEST(SharedBranches, W7_TagsInsideAreLoweredOnce) {
  const ExportedProgram lowered = lowerTagged(twoConds(), {}, "inner");
  EXPECT_TRUE(lowered.graphModule().delegates().empty());
  for (const char* name : {"on_true", "on_false"}) {
    const GraphModule& branch = *lowered.graphModule().findChild(name);
    ASSERT_EQ(branch.delegates().size(), 1u) << name;
    EXPECT_TRUE(branch.children().empty()) << name;
  }
}

// The branch that stays is lowered inside, the copy in the delegate is as it was.
TEST(SharedBranches, TagsInsideOfABranchThatIsMovedAndKept) {
  const ExportedProgram lowered = lowerTagged(
      twoConds(), {{"on_true", "t"}, {"on_false", "t"}, {"first", "t"}, {"first_result", "t"}}, "inner");
  EXPECT_EQ(lowered.graphModule().findChild("on_true")->delegates().size(), 1u);
  const GraphModule& moved = delegateOf(lowered.graphModule()).program.graphModule();
  EXPECT_TRUE(moved.findChild("on_true")->delegates().empty());
}

}  // namespace
}  // namespace edgefx::test

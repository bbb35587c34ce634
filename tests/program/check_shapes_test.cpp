#include <edgefx/program/check_shapes.h>
#include <edgefx/serialization/pt2.h>

#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace edgefx::test {
namespace {

SymInt symbolicSize(std::string_view text) {
  return SymInt(Symbolic{SymExpr::parse(text), {}});
}

TEST(CheckShapes, NamesNodeOperatorAndBothValues) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2, 4}));
  Node& turned = builder.call("aten.permute.default", {x, {1, 0}}, tensorValue({3, 2}));
  Node& sum = builder.call("aten.add.Tensor", {x, relu}, tensorValue({2, 3}));
  builder.userOutput(turned);
  builder.userOutput(sum);
  const ExportedProgram program = builder.finish();

  const std::vector<Diagnostic> found = checkShapes(program);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].node, "relu");
  EXPECT_EQ(found[0].message,
            "the call of 'aten.relu.default' gives float32[2, 3], but its recorded value is float32[2, 4]");
  EXPECT_EQ(found[1].node, "permute");
  EXPECT_EQ(
      found[1].message,
      "the call of 'aten.permute.default' gives float32[3, 2] with strides [1, 3] on cpu, but its recorded "
      "value is float32[3, 2] with strides [2, 1] on cpu");
  EXPECT_EQ(found[2].node, "add");
  EXPECT_EQ(found[2].message,
            "call of 'aten.add.Tensor': expected shapes that broadcast, found [2, 3] and [2, 4]");
  EXPECT_NE(found[2].nodeText.find("aten.add.Tensor"), std::string::npos);
}

TEST(CheckShapes, LooksIntoNestedGraphs) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& condition = builder.userInput("condition", tensorValue({}, Dtype::Bool));
  const auto branch = [](Dtype dtype) {
    auto graph = std::make_unique<Graph>();
    Node& y = graph->placeholder("y");
    y.setValue(tensorValue({2}));
    Node& made = graph->call("aten.gt.Scalar", {y, 0});
    made.setValue(tensorValue({2}, dtype));
    graph->output(Arg::tuple({made}));
    return graph;
  };
  Node& good = builder.branch("true_graph_0", branch(Dtype::Bool));
  Node& bad = builder.branch("false_graph_0", branch(Dtype::Float32));
  Node& cond = builder.call("higher_order.cond", {condition, good, bad, Arg::tuple({x})},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2}, Dtype::Bool)}, false}));
  builder.userOutput(builder.call("operator.getitem", {cond, 0}, tensorValue({2}, Dtype::Bool)));
  const std::vector<Diagnostic> found = checkShapes(builder.finish());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].graph, "false_graph_0");
  EXPECT_EQ(found[0].node, "gt_scalar");
}

TEST(CheckShapes, GraphsUnderAutocastAreLeftOut) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  auto graph = std::make_unique<Graph>();
  Node& y = graph->placeholder("y");
  y.setValue(tensorValue({2}));
  Node& relu = graph->call("aten.relu.default", {y});
  relu.setValue(tensorValue({2}, Dtype::BFloat16));
  graph->output(Arg::tuple({relu}));
  Node& body = builder.branch("submod_1", std::move(graph));
  Node& call = builder.call("higher_order.wrap_with_autocast", {"cpu", Dtype::BFloat16, true, false, body, x},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2}, Dtype::BFloat16)}, false}));
  builder.userOutput(builder.call("operator.getitem", {call, 0}, tensorValue({2}, Dtype::BFloat16)));
  EXPECT_TRUE(checkShapes(builder.finish()).empty());
}

TEST(CheckShapes, SymbolicSizesAreComparedInsideTheirRanges) {
  const auto program = [](std::optional<int64_t> most) {
    ProgramBuilder builder;
    Node& n = builder.userInput("n", ValueMeta::of(ValueMeta::SymIntValue{symbolicSize("s0")}));
    Node& x = builder.userInput("x", tensorValue({8}));
    builder.userOutput(builder.call("aten.slice.Tensor", {x, 0, 0, n},
                                    tensorValue({symbolicSize("s0")})));  // not Min(8, s0)
    builder.program().rangeConstraints.push_back({"s0", 2, most});
    return builder.finish();
  };
  EXPECT_TRUE(checkShapes(program(8)).empty());
  ASSERT_EQ(checkShapes(program({})).size(), 1U);
  EXPECT_NE(checkShapes(program({}))[0].message.find("float32[Min(8, s0)]"), std::string::npos);
}

TEST(CheckShapes, OwnRulesTakePart) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 3}));
  builder.userOutput(builder.call("mylib.total.default", {x}, tensorValue({2})));
  const ExportedProgram program = builder.finish();
  EXPECT_TRUE(checkShapes(program).empty());
  ShapeRules rules;
  rules.add("mylib.total", [](const Node&) { return tensorValue({}); });
  EXPECT_EQ(checkShapes(program, &rules).size(), 1U);
}

// Operators of the corpus whose values cannot be told: they depend on data, or are of libraries of their own.
constexpr std::array<std::string_view, 10> kNotInferred = {
    "aten._local_scalar_dense.default",
    "aten.item.default",
    "aten.nonzero.default",
    "fxlog.log_through.default",
    "mylib.scale_shift.default",
    "mylib.split_all.default",
    "mylib.twist.default",
    "mylib.two_outputs.default",
    "torch._functorch.predispatch._add_batch_dim",
    "torch._functorch.predispatch._remove_batch_dim",
};

struct InferenceCount {
  int inferred = 0, unknown = 0;
};

void countInferred(const GraphModule& top, std::map<std::string, InferenceCount, std::less<>>& counts) {
  for (const ConstNestedModule& nested : namedModules(top)) {
    for (const Node& node : nested.module->graph().nodes()) {
      if (!node.isCall() || node.target().kind() == TargetKind::HigherOrder) continue;
      if (node.value() == nullptr || std::holds_alternative<ValueMeta::None>(node.value()->data)) continue;
      InferenceCount& count = counts[std::string(node.target().name())];
      try {
        ++(inferValue(node) ? count.inferred : count.unknown);
      } catch (const UsageError&) {
        ++count.inferred;  // checkShapes names it, unless it is under autocast
      }
    }
  }
}

TEST(CheckShapes, AgreesWithPrograms) {
  std::map<std::string, InferenceCount, std::less<>> counts;
  const auto check = [&](const std::filesystem::path& file, bool isEdge) {
    Archive archive = loadArchive(file);
    for (Archive::Model& model : archive.models) {
      if (isEdge) wrapAsEdge(model.program);
      for (const Diagnostic& found : checkShapes(model.program))
        ADD_FAILURE() << file << ": " << found.render();
      countInferred(model.program.graphModule(), counts);
    }
  };
  std::set<std::filesystem::path> files;
  for (const CorpusProgram& program : corpusPrograms()) {
    if (!files.insert(program.file).second) continue;
    check(program.file, false);
    const std::filesystem::path edge = program.file.parent_path() / "edge.pt2";
    if (std::filesystem::exists(edge) && files.insert(edge).second) check(edge, true);
  }
  int inferred = 0, unknown = 0;
  for (const auto& [name, count] : counts) {
    inferred += count.inferred;
    unknown += count.unknown;
    const bool mayBeUnknown = std::ranges::find(kNotInferred, name) != kNotInferred.end();
    EXPECT_TRUE(mayBeUnknown || count.unknown == 0) << name << ": " << count.unknown;
  }
  EXPECT_GT(inferred, 1000);
  EXPECT_LT(unknown * 100, 3 * (inferred + unknown)) << unknown << " of " << inferred + unknown;
}

TEST(CheckShapes, LooksIntoDelegates) {
  ExportedProgram inner = test::tinyProgram();
  inner.graph().find("mul")->setValue(test::tensorValue({3}));
  test::ProgramBuilder outer;
  Node& x = outer.userInput("x", test::tensorValue({1, 4}));
  Node& call =
      test::callDelegate(outer.program().graphModule(), "lowered_module_0",
                         std::make_shared<const LoweredModule>(test::sampleLowered(std::move(inner))), {x},
                         {test::tensorValue({1, 4})});
  outer.userOutput(test::getitem(call, 0));
  const std::vector<Diagnostic> found = checkShapes(outer.finish());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().node, "mul");
  EXPECT_EQ(found.front().graph, "lowered_module_0");
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/backend/delegation_report.h>
#include <edgefx/backend/to_backend.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/support/error.h>

#include "backend/test_delegates.h"
#include "serialization/saved_json.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <utility>

namespace edgefx::test {
namespace {

std::string operatorLines(const std::vector<OperatorCounts>& operators) {
  std::string out;
  for (const OperatorCounts& row : operators) {
    out += row.name + " " + std::to_string(row.nodes.delegated) + "+" +
           std::to_string(row.nodes.undelegated) + "\n";
  }
  return out;
}

std::string partitionLines(const std::vector<PartitionReport>& partitions) {
  std::string out;
  for (const PartitionReport& row : partitions) {
    out += row.delegate + " " + row.backend;
    for (size_t number : {row.nodes, row.inputs, row.outputs, row.payloadBytes})
      out += " " + std::to_string(number);
    out += "\n";
  }
  return out;
}

// tinyProgram() with its mul delegated; the others have what reports tell of them.
ExportedProgram loweredTinyProgram() {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->editMeta([](NodeMeta& meta) {
    meta.set("stack_trace", "File \"model.py\", line 12, in forward\n    return relu(y)");
  });
  const FunctionPartitioner partitioner([](const ExportedProgram& shown) {
    PartitionResult result;
    result.addSpec("tag0", {"text"});
    result.tags.tag(*shown.graph().find("mul"), "tag0");
    result.tags.reject(*shown.graph().find("linear"), "too\nlarge: é");
    return result;
  });
  return toBackend(program, partitioner, textBackends({"text"}));
}

TEST(DelegationReport, CountsEveryGraphModuleAndWhatIsInsideOfDelegates) {
  const MethodReport report = reportDelegation(branchedLoweredProgram(), "decode");
  EXPECT_EQ(report.method, "decode");
  EXPECT_EQ(report.nodes, (NodeCounts{7, 3}));
  EXPECT_EQ(operatorLines(report.operators), "aten.add.Tensor 2+2\naten.relu.default 4+0\ncond 1+1\n");
  ASSERT_EQ(report.modules.size(), 3u);

  const GraphModuleReport& top = report.modules[0];
  EXPECT_EQ(top.path, "");
  EXPECT_EQ(top.nodes, (NodeCounts{5, 1}));
  EXPECT_EQ(operatorLines(top.operators), "aten.add.Tensor 2+0\naten.relu.default 2+0\ncond 1+1\n");
  // The first is called twice, the second has a cond and a delegate in a branch of it.
  EXPECT_EQ(partitionLines(top.partitions),
            "lowered_module_0 shared 1 1 1 21\nlowered_module_1 nested 4 2 1 21\n");
  EXPECT_EQ(top.undelegated, (std::vector<UndelegatedNode>{{"cond", "cond", "", ""}}));

  for (size_t i : {size_t{1}, size_t{2}}) {
    const GraphModuleReport& branch = report.modules[i];
    EXPECT_EQ(branch.path, i == 1 ? "true_graph_0" : "false_graph_0");
    EXPECT_EQ(branch.nodes, (NodeCounts{1, 1}));
    EXPECT_EQ(partitionLines(branch.partitions),
              std::string("lowered_module_0 ") + (i == 1 ? "shared" : "branch") + " 1 1 1 21\n");
    EXPECT_EQ(branch.undelegated, (std::vector<UndelegatedNode>{{"add", "aten.add.Tensor", "", ""}}));
  }
}

TEST(DelegationReport, TellsSourceAndReasonInGraphOrder) {
  const MethodReport report = reportDelegation(loweredTinyProgram());
  EXPECT_EQ(report.method, "forward");
  ASSERT_EQ(report.modules.size(), 1u);
  EXPECT_EQ(report.modules[0].undelegated, (std::vector<UndelegatedNode>{
                                               {"linear", "aten.linear.default", "", "too\nlarge: é"},
                                               {"relu", "aten.relu.default", "model.py:12 in forward", ""},
                                           }));
}

TEST(DelegationReport, GetitemsGoWithTheirProducers) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  ValueMeta::Sequence halves;
  halves.elements = {tensorValue({2}), tensorValue({2})};
  halves.isList = true;
  Node& split = builder.call("aten.split_copy.Tensor", {x, 2}, ValueMeta::of(std::move(halves)));
  builder.userOutput(getitem(split, 1));
  const MethodReport report = reportDelegation(builder.finish());
  EXPECT_EQ(report.nodes, (NodeCounts{0, 1}));
  EXPECT_EQ(operatorLines(report.operators), "aten.split_copy.Tensor 0+1\n");
}

TEST(DelegationReport, OperatorsAreTheSameInBothDialects) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& one = builder.call("aten.tanh.default", {x}, tensorValue({4}));
  Node& two = builder.call(Target::edge("aten.relu.default"), {one}, tensorValue({4}));
  builder.userOutput(builder.call("aten.relu.default", {two}, tensorValue({4})));
  EXPECT_EQ(operatorLines(reportDelegation(builder.finish()).operators),
            "aten.relu.default 0+2\naten.tanh.default 0+1\n");
}

TEST(DelegationReport, ADelegateThatNobodyCallsIsNoPartOfTheProgram) {
  ExportedProgram program = tinyProgram();
  addLoweredModule(program.graphModule(), "lowered_module_0",
                   std::make_shared<LoweredModule>(sampleLowered(tinyProgram())));
  const MethodReport report = reportDelegation(program);
  EXPECT_EQ(report.nodes, (NodeCounts{0, 3}));
  EXPECT_TRUE(report.modules[0].partitions.empty());
}

// A delegate that calls the next one by two names, and so on: 2^40 paths.
TEST(DelegationReport, CountsDelegatesInsideOfADelegateOnce) {
  constexpr size_t kDepth = 40;
  LoweredModuleRef inner;
  ExportedProgram program;
  for (size_t i = 0; i <= kDepth; ++i) {
    ProgramBuilder builder;
    Node* value = &builder.userInput("x", tensorValue({4}));
    for (const char* name : {"lowered_module_0", "lowered_module_1"}) {
      if (inner == nullptr) continue;
      Node& call = callDelegate(builder.program().graphModule(), name, inner, {*value}, {tensorValue({4})});
      value = &getitem(call, 0);
    }
    builder.userOutput(builder.call("aten.relu.default", {*value}, tensorValue({4})));
    program = builder.finish();
    inner = std::make_shared<LoweredModule>(sampleLowered(program.clone()));
  }
  const MethodReport report = reportDelegation(program);
  EXPECT_EQ(report.nodes, (NodeCounts{2 * kDepth, 1}));
  ASSERT_EQ(report.modules[0].partitions.size(), 2u);
  EXPECT_EQ(report.modules[0].partitions[1].nodes, kDepth);
}

TEST(DelegationReport, OnlyAllIsAHundredPercent) {
  EXPECT_EQ(NodeCounts().percent(), std::nullopt);
  EXPECT_EQ((NodeCounts{0, 3}).percent(), 0.0);
  EXPECT_EQ((NodeCounts{2, 1}).percent(), 66.6);
  EXPECT_EQ((NodeCounts{99999, 1}).percent(), 99.9);
  EXPECT_EQ((NodeCounts{7, 0}).percent(), 100.0);
}

TEST(DelegationReport, SumsUpMethods) {
  DelegationReport report;
  EXPECT_EQ(report.nodes(), NodeCounts());
  report.methods.push_back(reportDelegation(branchedLoweredProgram(), "decode"));
  report.methods.push_back(reportDelegation(loweredTinyProgram(), "prefill"));
  EXPECT_EQ(report.nodes(), (NodeCounts{8, 5}));
}

TEST(DelegationReport, TextHasATableOfEachKind) {
  DelegationReport report;
  report.methods.push_back(reportDelegation(loweredTinyProgram()));
  EXPECT_EQ(text(report),
            "method forward: 1 of 3 nodes delegated (33.3 %)\n"
            "  top level: 1 of 3 nodes delegated (33.3 %)\n"
            "    operator             delegated  not      %\n"
            "    aten.linear.default          0    1    0.0\n"
            "    aten.mul.Tensor              1    0  100.0\n"
            "    aten.relu.default            0    1    0.0\n"
            "    delegate          backend  nodes  inputs  outputs  payload bytes\n"
            "    lowered_module_0  text         1       2        1            " +
                std::to_string(report.methods[0].modules[0].partitions.at(0).payloadBytes) +
                "\n"
                "    not delegated  operator             source                  reason\n"
                "    linear         aten.linear.default  -                       too large: é\n"
                "    relu           aten.relu.default    model.py:12 in forward  -\n");
}

TEST(DelegationReport, TextSumsUpGraphModulesAndMethods) {
  DelegationReport report;
  report.methods.push_back(reportDelegation(branchedLoweredProgram(), "decode"));
  ProgramBuilder empty;
  empty.userOutput(empty.userInput("x", tensorValue({4})));
  report.methods.push_back(reportDelegation(empty.finish(), "copy"));
  EXPECT_EQ(text(report),
            "method decode: 7 of 10 nodes delegated (70.0 %)\n"
            "  operator           delegated  not      %\n"
            "  aten.add.Tensor            2    2   50.0\n"
            "  aten.relu.default          4    0  100.0\n"
            "  cond                       1    1   50.0\n"
            "  top level: 5 of 6 nodes delegated (83.3 %)\n"
            "    operator           delegated  not      %\n"
            "    aten.add.Tensor            2    0  100.0\n"
            "    aten.relu.default          2    0  100.0\n"
            "    cond                       1    1   50.0\n"
            "    delegate          backend  nodes  inputs  outputs  payload bytes\n"
            "    lowered_module_0  shared       1       1        1             21\n"
            "    lowered_module_1  nested       4       2        1             21\n"
            "    not delegated  operator  source  reason\n"
            "    cond           cond      -       -\n"
            "  graph module true_graph_0: 1 of 2 nodes delegated (50.0 %)\n"
            "    operator           delegated  not      %\n"
            "    aten.add.Tensor            0    1    0.0\n"
            "    aten.relu.default          1    0  100.0\n"
            "    delegate          backend  nodes  inputs  outputs  payload bytes\n"
            "    lowered_module_0  shared       1       1        1             21\n"
            "    not delegated  operator         source  reason\n"
            "    add            aten.add.Tensor  -       -\n"
            "  graph module false_graph_0: 1 of 2 nodes delegated (50.0 %)\n"
            "    operator           delegated  not      %\n"
            "    aten.add.Tensor            0    1    0.0\n"
            "    aten.relu.default          1    0  100.0\n"
            "    delegate          backend  nodes  inputs  outputs  payload bytes\n"
            "    lowered_module_0  branch       1       1        1             21\n"
            "    not delegated  operator         source  reason\n"
            "    add            aten.add.Tensor  -       -\n"
            "method copy: 0 of 0 nodes delegated\n"
            "  top level: 0 of 0 nodes delegated\n"
            "all methods: 7 of 10 nodes delegated (70.0 %)\n");
}

TEST(DelegationReport, JsonHasEveryField) {
  DelegationReport report;
  report.methods.push_back(reportDelegation(loweredTinyProgram(), "de\"code"));
  const std::string bytes = std::to_string(report.methods[0].modules[0].partitions.at(0).payloadBytes);
  const std::string counts = R"({"delegated": 1, "undelegated": 2, "percent": 33.3})";
  const std::string none = R"({"delegated": 0, "undelegated": 1, "percent": 0.0})";
  const std::string operators =
      R"([{"name": "aten.linear.default", "nodes": )" + none +
      R"(}, {"name": "aten.mul.Tensor", "nodes": {"delegated": 1, "undelegated": 0, "percent": 100.0}}, )" +
      R"({"name": "aten.relu.default", "nodes": )" + none + "}]";
  EXPECT_EQ(
      json(report),
      R"({"nodes": )" + counts + R"(, "methods": [{"name": "de\"code", "nodes": )" + counts +
          R"(, "operators": )" + operators + R"(, "modules": [{"path": "", "nodes": )" + counts +
          R"(, "operators": )" + operators +
          R"(, "partitions": [{"delegate": "lowered_module_0", "backend": "text", "nodes": 1, "inputs": 2, )" +
          R"("outputs": 1, "payload_bytes": )" + bytes + R"(}], "undelegated": [{"name": "linear", )" +
          R"("operator": "aten.linear.default", "source": "", "reason": "too\nlarge: \u00e9"}, )" +
          R"({"name": "relu", "operator": "aten.relu.default", "source": "model.py:12 in forward", )" +
          R"("reason": ""}]}]}]})");
  EXPECT_NO_THROW(SavedJson{json(report)});
}

TEST(DelegationReport, JsonOfNothing) {
  EXPECT_EQ(json(DelegationReport()),
            R"({"nodes": {"delegated": 0, "undelegated": 0, "percent": null}, "methods": []})");
  EXPECT_EQ(text(DelegationReport()), "all methods: 0 of 0 nodes delegated\n");
}

TEST(DelegationReport, JsonRefusesTextThatIsNotUtf8) {
  DelegationReport report;
  report.methods.emplace_back().method = "\xff";
  EXPECT_THROW(json(report), UsageError);
}

}  // namespace
}  // namespace edgefx::test

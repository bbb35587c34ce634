#include <edgefx/serialization/pt2.h>
#include <edgefx/text/diagrams.h>

#include "ir/graph_testing.h"
#include "serialization/saved_json.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/program_from_text.h"
#include "support/test_data.h"
#include "support/utf8.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace edgefx::test {
namespace {

struct Diagram {
  explicit Diagram(const std::string& text) : json(text) {
    root = parser.parse(text);
    simdjson::dom::array graphs = root.at_pointer("/0/graphs").get_array();
    for (const simdjson::dom::element graph : graphs)
      byId[std::string(std::string_view(graph["id"]))] = graph;
  }

  // The node's part of that graph; an error if there is none.
  simdjson::simdjson_result<simdjson::dom::element> node(const std::string& graph,
                                                         std::string_view id) const {
    simdjson::dom::array nodes = byId.at(graph)["nodes"].get_array();
    for (simdjson::dom::element node : nodes) {
      if (std::string_view(node["id"]) == id) return simdjson::dom::element(node);
    }
    return simdjson::NO_SUCH_FIELD;
  }
  // The value of an attribute, "none" if the node has no such.
  std::string attribute(const std::string& graph, std::string_view id, std::string_view key) const {
    simdjson::dom::array attributes = node(graph, id)["attrs"].get_array();
    for (const simdjson::dom::element attribute : attributes) {
      if (std::string_view(attribute["key"]) == key) return std::string(std::string_view(attribute["value"]));
    }
    return "none";
  }
  std::string text(const std::string& graph, std::string_view id, std::string_view key) const {
    const simdjson::dom::element part = node(graph, id)[key];
    return detail::pythonJson(part);
  }

  SavedJson json;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::map<std::string, simdjson::dom::element> byId;
};

// Every edge and every sub-graph leads to something that is there.
void expectWhole(const Diagram& diagram, const std::string& what) {
  for (const auto& [id, graph] : diagram.byId) {
    std::set<std::string> ids;
    simdjson::dom::array nodes = graph["nodes"].get_array();
    for (const simdjson::dom::element node : nodes)
      EXPECT_TRUE(ids.insert(std::string(std::string_view(node["id"]))).second) << what << ": " << id;
    for (const simdjson::dom::element node : nodes) {
      for (const simdjson::dom::element edge : node["incomingEdges"].get_array())
        EXPECT_EQ(ids.count(std::string(std::string_view(edge["sourceNodeId"]))), 1) << what << ": " << id;
      simdjson::dom::array shown;
      if (node["subgraphIds"].get(shown) != simdjson::SUCCESS) continue;
      for (const simdjson::dom::element other : shown)
        EXPECT_EQ(diagram.byId.count(std::string(std::string_view(other))), 1) << what << ": " << id;
    }
  }
}

TEST(ModelExplorer, TellsOperatorsEdgesAndValues) {
  const Diagram diagram(modelExplorerJson(tinyProgram(), "tiny"));
  EXPECT_EQ(diagram.json.at("/0/label"), "\"tiny\"");
  EXPECT_EQ(diagram.json.at("/0/graphs/0/id"), "\"forward\"");
  EXPECT_EQ(diagram.json.at("/0/graphs/1"), "no such member");
  EXPECT_EQ(diagram.text("forward", "mul", "label"), "\"aten.mul.Tensor\"");
  EXPECT_EQ(diagram.text("forward", "mul", "incomingEdges"),
            R"([{"sourceNodeId": "linear", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}, )"
            R"({"sourceNodeId": "b_scale", "sourceNodeOutputId": "0", "targetNodeInputId": "1"}])");
  EXPECT_EQ(diagram.text("forward", "x", "outputsMetadata"),
            R"([{"id": "0", "attrs": [{"key": "shape", "value": "[1, 4]"}, )"
            R"({"key": "dtype", "value": "torch.float32"}, {"key": "strides", "value": "[4, 1]"}]}])");
  EXPECT_EQ(diagram.attribute("forward", "p_weight", "kind"), "PARAMETER");
  EXPECT_EQ(diagram.attribute("forward", "p_weight", "holds"), "weight");
  EXPECT_EQ(diagram.attribute("forward", "x", "holds"), "none");
}

TEST(ModelExplorer, GetitemReadsItsResultAndLiteralsAreAttributes) {
  const ExportedProgram program = programFromText(R"((
    %x : f32[2, 4]
  ):
    %split = aten.split.Tensor(%x, 1) : [f32[1, 4], f32[1, 4]]
    %second = operator.getitem(%split, 1) : f32[1, 4]
    %cat = aten.cat.default([%second, %second], dim = 1) : f32[1, 8]
    return (%cat,)
  )");
  const Diagram diagram(modelExplorerJson(program));
  EXPECT_EQ(diagram.text("forward", "second", "incomingEdges"),
            R"([{"sourceNodeId": "split", "sourceNodeOutputId": "1", "targetNodeInputId": "0"}])");
  EXPECT_EQ(diagram.text("forward", "cat", "incomingEdges"),
            R"([{"sourceNodeId": "second", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}, )"
            R"({"sourceNodeId": "second", "sourceNodeOutputId": "0", "targetNodeInputId": "1"}])");
  EXPECT_EQ(diagram.node("forward", "split")["outputsMetadata"].get_array().size(), 2);
  EXPECT_EQ(diagram.attribute("forward", "split", "arg 1"), "1");
  EXPECT_EQ(diagram.attribute("forward", "cat", "dim"), "1");
}

TEST(ModelExplorer, MetadataBecomesNamespacesAndNodeData) {
  ExportedProgram program = tinyProgram();
  program.graph().find("mul")->editMeta([](NodeMeta& meta) {
    meta.set("nn_module_stack", "L__self__,,model.Net;k1,layers.0,model.Block;k2,layers.0.a/b,model.Scale");
    meta.set("stack_trace", "File \"net.py\", line 7, in forward\n    return x");
    meta.setDebugHandle(41);
    meta.setDelegationTag(std::make_shared<const std::string>("npu_0"));
  });
  const Diagram diagram(modelExplorerJson(program));
  EXPECT_EQ(diagram.text("forward", "mul", "namespace"), "\"layers.0/a.b\"");
  EXPECT_EQ(diagram.text("forward", "relu", "namespace"), "\"\"");
  EXPECT_EQ(diagram.attribute("forward", "mul", "debug_handle"), "41");
  EXPECT_EQ(diagram.attribute("forward", "mul", "delegation_tag"), "npu_0");
  EXPECT_EQ(diagram.attribute("forward", "mul", "source"), "net.py:7 in forward");
  EXPECT_EQ(diagram.text("forward", "mul", "style"), R"({"backgroundColor": "#a6cee3"})");
  EXPECT_EQ(diagram.node("forward", "relu")["style"].error(), simdjson::NO_SUCH_FIELD);
  const simdjson::dom::element groups = diagram.byId.at("forward")["groupNodeAttributes"];
  EXPECT_EQ(detail::pythonJson(groups),
            R"({"layers.0/a.b": {"path": "layers.0.a/b", "type": "model.Scale"}})");
}

TEST(ModelExplorer, BranchesAndDelegatesAreSubGraphs) {
  const Diagram diagram(modelExplorerJson(branchedLoweredProgram()));
  expectWhole(diagram, "branched");
  size_t delegates = 0;
  for (const auto& [id, graph] : diagram.byId) {
    simdjson::dom::element backend;
    if (graph["groupNodeAttributes"].at_key("").at_key("backend_id").get(backend) == simdjson::SUCCESS)
      ++delegates;
  }
  // A shared one, one with a cond, the one inside of that, and one in a branch.
  EXPECT_EQ(delegates, 4);
  std::vector<std::string> conds;
  for (const auto& [id, graph] : diagram.byId) {
    simdjson::dom::array nodes = graph["nodes"].get_array();
    for (const simdjson::dom::element node : nodes) {
      if (std::string_view(node["label"]) != "cond") continue;
      EXPECT_EQ(simdjson::dom::array(node["subgraphIds"]).size(), 2) << id;
      conds.push_back(id);
    }
  }
  EXPECT_EQ(conds.size(), 2);
}

TEST(ModelExplorer, NamesAreEscapedAndTextIsAlwaysUtf8) {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->setName("a\"b\\c\n\x01/\xff");
  program.graph().find("mul")->setName("linear");  // taken
  const std::string text = modelExplorerJson(program, "\xfe");
  const Diagram diagram(text);
  expectWhole(diagram, "awkward");
  EXPECT_FALSE(diagram.node("forward", "a\"b\\c\n\x01/\xEF\xBF\xBD").error());
  EXPECT_EQ(diagram.byId.at("forward")["nodes"].get_array().size(), program.graph().size());
  EXPECT_EQ(std::string_view(diagram.root.at_pointer("/0/label")), "\xEF\xBF\xBD");
}

// Quotes that are closed, each node declared once, arrows between declared nodes only, brackets that close.
void expectGoodDot(const std::string& dot, size_t nodes, const std::string& what) {
  std::set<std::string> declared;
  std::vector<std::string> ends;
  std::string bare;  // without what is quoted
  bool isQuoted = false;
  for (size_t i = 0; i < dot.size(); ++i) {
    if (isQuoted && dot[i] == '\\') {
      ++i;
    } else if (dot[i] == '"') {
      isQuoted = !isQuoted;
    } else if (!isQuoted) {
      bare += dot[i];
    } else {
      ASSERT_NE(dot[i], '\n') << what;
    }
  }
  ASSERT_FALSE(isQuoted) << what;
  EXPECT_EQ(std::ranges::count(bare, '{'), std::ranges::count(bare, '}')) << what;
  EXPECT_EQ(std::ranges::count(bare, '['), std::ranges::count(bare, ']')) << what;
  std::istringstream lines(bare);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first, second, third;
    words >> first >> second >> third;
    if (second == "->") {
      ends.push_back(first);
      ends.push_back(third.substr(0, third.find(';')));
    } else if (second.starts_with("[label=")) {
      EXPECT_TRUE(declared.insert(first).second) << what << ": " << first;
    }
  }
  EXPECT_EQ(declared.size(), nodes) << what;
  for (const std::string& end : ends) EXPECT_EQ(declared.count(end), 1) << what << ": " << end;
}

TEST(DotText, ShowsNodesEdgesAndTags) {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->editMeta(
      [](NodeMeta& meta) { meta.setDelegationTag(std::make_shared<const std::string>("npu_0")); });
  const std::string dot = dotText(program);
  expectGoodDot(dot, program.graph().size(), "tiny");
  const Node& mul = *program.graph().find("mul");
  const Node& relu = *program.graph().find("relu");
  EXPECT_NE(dot.find(fmt::format("n0_{} [label=\"aten.mul.Tensor\\nmul\\nfloat32[1, 4]\"];\n", mul.id())),
            std::string::npos)
      << dot;
  EXPECT_NE(dot.find(fmt::format("n0_{} -> n0_{};\n", mul.id(), relu.id())), std::string::npos) << dot;
  EXPECT_EQ(dot.find("fillcolor=\"#a6cee3\""), dot.rfind("fillcolor=\"#a6cee3\""));
  EXPECT_NE(dot.find("fillcolor=\"#a6cee3\""), std::string::npos);
}

TEST(DotText, EscapesNames) {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->setName("a\"b\\\n\xff");
  const std::string dot = dotText(program);
  expectGoodDot(dot, program.graph().size(), "awkward");
  EXPECT_NE(dot.find("\\na\\\"b\\\\\\n\xEF\xBF\xBD\\n"), std::string::npos) << dot;
}

TEST(Diagrams, AreWellFormedForEveryProgram) {
  for (const CorpusProgram& entry : corpusPrograms()) {
    const ExportedProgram program = loadProgram(entry.file, entry.model);
    const std::string json = modelExplorerJson(program);
    const Diagram diagram(json);
    expectWhole(diagram, entry.name);
    size_t nodes = 0;
    for (const ConstNestedModule& nested : namedModules(program.graphModule()))
      nodes += nested.module->graph().size();
    size_t shown = 0;
    for (const auto& [id, graph] : diagram.byId) shown += graph["nodes"].get_array().size();
    EXPECT_EQ(shown, nodes) << entry.name;
    expectGoodDot(dotText(program), nodes, entry.name);
    EXPECT_EQ(modelExplorerJson(program), json);
  }
}

TEST(Diagrams, NodesOfTheAwkwardProgramsKeepTheirNames) {
  for (const char* name : {"awkward_names", "unicode_names"}) {
    const ExportedProgram program = loadProgram(fixture(std::string(name) + "/program.pt2"));
    const Diagram diagram(modelExplorerJson(program));
    for (const Node& node : program.graph().nodes())
      EXPECT_FALSE(diagram.node("forward", node.name()).error()) << name << ": " << node.name();
    for (const InputSpec& input : program.signature.inputs) {
      EXPECT_EQ(diagram.attribute("forward", input.arg.name, "holds"), input.target.value_or("none"));
    }
  }
}

// Anything quadratic takes minutes.
TEST(Diagrams, AreLinear) {
  ProgramBuilder builder;
  Node* at = &builder.userInput("x", tensorValue({4}));
  for (int i = 0; i < 50'000; ++i) at = &builder.call("aten.relu.default", {*at}, tensorValue({4}));
  builder.userOutput(*at);
  const ExportedProgram program = builder.finish();
  const CpuTimer timer;
  EXPECT_GT(modelExplorerJson(program).size(), dotText(program).size());
  EXPECT_LT(timer.seconds(), 20);
}

}  // namespace
}  // namespace edgefx::test

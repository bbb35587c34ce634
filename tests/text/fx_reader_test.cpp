#include <edgefx/ir/fx_text.h>
#include <edgefx/ir/lint.h>
#include <edgefx/text/fx_reader.h>

#include "support/custom_operators.h"
#include "support/program_builder.h"
#include "support/test_data.h"
#include "text/text_testing.h"

#include <map>
#include <string>

namespace edgefx::test {
namespace {

const std::string kPlaceholders =
    "graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=0] = "
    "placeholder[target=y]\n";

// A graph in which the node %a has these arguments.
std::string callText(const std::string& arguments, const std::string& target = "torch.ops.my.op.default") {
  return kPlaceholders + "    %a : [num_users=0] = call_function[target=" + target + "](" + arguments + ")\n";
}

std::unique_ptr<GraphModule> readArgs(const std::string& args) {
  return readFxText(callText("args = (%x, " + args + "), kwargs = {}"));
}

std::string refusalOfArgs(const std::string& args) {
  const std::string text = callText("args = (%x, " + args + "), kwargs = {}");
  std::string message = refusalOfText([&] { readFxText(text, "bug.txt"); });
  EXPECT_EQ(message.find("bug.txt:4:"), 0u) << message;
  return message.substr(0, message.find('\n'));
}

TEST(FxReader, ReadsTheKindsOfArguments) {
  const auto module = readArgs(
      "None, True, -5, 1.0, 1e-05, -inf, nan, (1+2j), -1.5j, tanh, [1, (2,), ()], "
      "torch.float32, "
      "torch.strided, torch.channels_last, slice(None, x, 2), range(0, 3), Ellipsis, (%x, {k: 1.5})");
  const Node& a = *module->graph().find("a");
  const std::vector<ArgumentKind> kinds = {ArgumentKind::Node,    ArgumentKind::None,  ArgumentKind::Bool,
                                           ArgumentKind::Int,     ArgumentKind::Float, ArgumentKind::Float,
                                           ArgumentKind::Float,   ArgumentKind::Float, ArgumentKind::Complex,
                                           ArgumentKind::Complex, ArgumentKind::String};
  for (size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(a.arg(i).kind(), kinds[i]) << i;
}

TEST(FxReader, ReadsStringsBesideOtherThings) {
  const auto module = readFxText(callText("args = (abcd,abce->abde, [%x], sum), kwargs = {}"));
  const Node& a = *module->graph().find("a");
  EXPECT_EQ(a.arg(0).asString(), "abcd,abce->abde");
  EXPECT_EQ(a.arg(2).asString(), "sum");
}

TEST(FxReader, KnowsDevicesAndOperatorsByTheirPlace) {
  const std::string text =
      kPlaceholders +
      "    %a : [num_users=0] = call_function[target=torch.ops.aten.full.default](args = ([2], "
      "1.0), kwargs = {device: cuda:0})\n"
      "    %b : [num_users=0] = call_function[target=torch.ops.higher_order.with_effects](args "
      "= (%x, my.log.default, aten.add.Tensor), kwargs = {})\n"
      "    return ('s', x, device(type='cuda', index=1), <OpOverload(op='aten.add', "
      "overload='Tensor')>, \"it's\\n\", 2*s0)\n";
  std::string counted = text;
  counted.replace(counted.find("num_users=1"), 11, "num_users=2");
  const auto module = readFxText(counted);
  const Graph& graph = module->graph();
  EXPECT_EQ(graph.find("a")->findKwarg("device")->asDevice(), "cuda:0");
  EXPECT_EQ(graph.find("b")->arg(1).asOperator(), Target("my.log.default"));
  const std::span<const Argument> returned = graph.outputNode().arg(0).items();
  EXPECT_EQ(returned[0].asString(), "s");
  EXPECT_EQ(&returned[1].asNode(), graph.find("x"));
  EXPECT_EQ(returned[2].asDevice(), "cuda:1");
  EXPECT_EQ(returned[3].asOperator(), Target("aten.add.Tensor"));
  EXPECT_EQ(returned[4].asString(), "it's\n");
  EXPECT_EQ(returned[5].kind(), ArgumentKind::Symbolic);
  EXPECT_EQ(fxText(*module), counted);
}

TEST(FxReader, RefusesWhatMayMeanTwoThings) {
  EXPECT_NE(refusalOfArgs("cpu").find("could be a device or a string"), std::string::npos);
  EXPECT_NE(refusalOfArgs("no.such.operator").find("could be an operator or a string"), std::string::npos);
  EXPECT_NE(refusalOfArgs("s77").find("could be an expression over symbols or a string"), std::string::npos);
  EXPECT_NE(refusalOfArgs("2*s77 + 1").find("could be an expression over symbols or a string"),
            std::string::npos);
  EXPECT_NE(refusalOfArgs("same, odd").find("two strings without quotes"), std::string::npos);
  EXPECT_NE(refusalOfArgs("f(x)").find("holds brackets"), std::string::npos);
  EXPECT_NE(refusalOfArgs("'a'").find("begins with one"), std::string::npos);
  EXPECT_NE(refusalOfArgs("").find("an empty string cannot be told from nothing"), std::string::npos);
  EXPECT_NE(refusalOfArgs("slice(z, None, None)").find("expected a node of this graph above, a constant"),
            std::string::npos);
  EXPECT_NE(refusalOfArgs("%z").find("expected a node of this graph above, found '%z'"), std::string::npos);
}

TEST(FxReader, RefusesTextThatIsNoGraph) {
  const auto refusal = [](const std::string& text) {
    const std::string message = refusalOfText([&] { readFxText(text, "f"); });
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(refusal(""), "f:1:1: expected 'graph():', found the end of the text");
  EXPECT_EQ(refusal("hello"), "f:1:1: expected 'graph():'");
  EXPECT_EQ(refusal("graph():\nhello"), "f:2:1: expected a node, 'return' or '# submodule <path>'");
  EXPECT_EQ(refusal(kPlaceholders), "f:2:5: expected 1 users of '%x', as the line says; the graph has 0");
  EXPECT_EQ(refusal("graph():\n%x : [num_users=0] = call_method[target=t](args = (), kwargs = {})"),
            "f:2:22: expected placeholder, get_attr, call_function or call_module, found 'call_method'");
  EXPECT_EQ(refusal("graph():\n# submodule a.b\ngraph():"), "f:2:13: expected graph module 'a' above");
  EXPECT_EQ(refusal("graph():\n# submodule a\ngraph():\n# submodule a\ngraph():"),
            "f:4:13: there is a child module 'a' already");
  EXPECT_EQ(refusal("graph():\n  %x : [num_users=0] = placeholder[target=x]\n  %x : [num_users=0] = "
                    "placeholder[target=x]"),
            "f:3:3: expected a new name, found '%x' again");
  EXPECT_NE(refusal(callText("args = (%x, " + std::string(100000, '[')) + ")").find("nested deeper"),
            std::string::npos);
}

TEST(FxReader, TakesWhatBugReportsLook) {
  const auto module = readFxText(
      "graph():\r\n  %x : torch.Tensor [#users=1] = placeholder[target=x]\r\n\r\n"
      "%d : [num_users=0] = placeholder[target=d](default=1.5)\n"
      "\t%relu : [num_users=1] = call_module[target=relu](args = (%x,), kwargs = {})\n    return relu");
  EXPECT_EQ(&module->graph().outputNode().arg(0).asNode(), module->graph().find("relu"));
  EXPECT_EQ(module->graph().find("d")->arg(0).asFloat(), 1.5);
  EXPECT_EQ(fxText(*readFxText("graph():")), "graph():\n");
}

// Graphs of the corpus whose text may mean two things, and what.
const std::map<std::string, std::string>& refusedFixtures() {
  static const std::map<std::string, std::string> refused = {
      {"unicode_names", "a string without quotes may hold line ends"},
      {"unicode_names_core", "a string without quotes may hold line ends"},
      {"autocast_region", "'cpu' could be a device or a string"},
  };
  return refused;
}

TEST(FxReader, ReadsTheGraphsOfTheCorpusOrTellsWhyNot) {
  registerCustomOperators();
  size_t read = 0;
  for (const CorpusProgram& program : corpusPrograms()) {
    if (program.kind == CorpusKind::Case) continue;
    SCOPED_TRACE(program.name);
    const std::string text = readFile(program.graphText);
    const auto reason = refusedFixtures().find(program.name);
    try {
      const std::unique_ptr<GraphModule> module = readFxText(text, "graph.txt");
      EXPECT_EQ(reason, refusedFixtures().end()) << "is read after all";
      EXPECT_EQ(fxText(*module), text);
      ++read;
    } catch (const ParseError& error) {
      const bool isListed = reason != refusedFixtures().end();
      EXPECT_TRUE(isListed) << error.what();
      if (!isListed) continue;
      EXPECT_NE(std::string(error.what()).find(reason->second), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(read, 100u);
}

TEST(FxReader, ReadsWhatItPrintsOfRandomPrograms) {
  for (const std::string& text :
       {fxText(tinyProgram().graphModule()), fxText(countingProgram().graphModule())}) {
    EXPECT_EQ(fxText(*readFxText(text)), text);
  }
}

}  // namespace
}  // namespace edgefx::test

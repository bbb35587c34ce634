#include <edgefx/version.h>

#include "serialization/edge_record.h"
#include "serialization/expect_error.h"
#include "serialization/saved_json.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

namespace edgefx {
namespace {

using test::errorOf;
using test::ProgramBuilder;
using test::sampleTensor;
using test::SavedJson;
using test::tensorValue;

TEST(SaveProgram, MembersComeInTheOrderOfTheSchema) {
  ExportedProgram program = test::tinyProgram();
  program.verifiers = {"TRAINING"};
  std::string text = SavedJson(program).text();
  EXPECT_TRUE(text.starts_with(R"({"graph_module": {"graph": {"inputs": [)")) << text;
  std::string tail =
      R"("metadata": {}, "treespec_namedtuple_fields": {}}, "opset_version": {"aten": 10}, "range_constraints": {}, )"
      R"("schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], "torch_version": "2.14.1", )"
      R"("guards_code": []})";
  EXPECT_TRUE(text.ends_with(tail)) << text;
  size_t graph = text.find(R"("sym_float_values": {}}, "signature": {"input_specs": [)");
  size_t calls = text.find(
      R"(]}, "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": )");
  ASSERT_NE(graph, std::string::npos) << text;
  ASSERT_NE(calls, std::string::npos) << text;
  EXPECT_LT(graph, calls);
}

TEST(SaveProgram, EveryInputSpec) {
  ProgramBuilder builder;
  builder.token("token");
  builder.parameter("w", sampleTensor({2}));
  builder.buffer("b", sampleTensor({2}));
  builder.buffer("t", sampleTensor({2}), false);
  builder.constant("c", sampleTensor({2}));
  builder.customObject("q", "__torch__.torch.classes._Queue");
  builder.userInput("x", tensorValue({2}));
  builder.userInput("n", ValueMeta::of(ValueMeta::SymIntValue{SymInt(3)}));
  builder.constantInput("k", std::string("text"));
  builder.constantInput("on", true);
  ExportedProgram program = builder.finish();
  SavedJson json(program);
  EXPECT_EQ(json.at("/graph_module/signature/input_specs"),
            R"([{"token": {"arg": {"name": "token"}}}, )"
            R"({"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}, )"
            R"({"buffer": {"arg": {"name": "b_b"}, "buffer_name": "b", "persistent": true}}, )"
            R"({"buffer": {"arg": {"name": "b_t"}, "buffer_name": "t", "persistent": false}}, )"
            R"({"tensor_constant": {"arg": {"name": "c_c"}, "tensor_constant_name": "c"}}, )"
            R"({"custom_obj": {"arg": {"name": "obj_q", "class_fqn": "__torch__.torch.classes._Queue"}, )"
            R"("custom_obj_name": "q"}}, )"
            R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}, )"
            R"({"user_input": {"arg": {"as_sym_int": {"as_name": "n"}}}}, )"
            R"({"constant_input": {"name": "k", "value": {"as_string": "text"}}}, )"
            R"({"constant_input": {"name": "on", "value": {"as_bool": true}}}])");
  EXPECT_EQ(json.graph("/custom_obj_values"),
            R"({"obj_q": {"name": "obj_q", "class_fqn": "__torch__.torch.classes._Queue"}})");
  EXPECT_EQ(json.graph("/inputs/5"),
            R"({"as_custom_obj": {"name": "obj_q", "class_fqn": "__torch__.torch.classes._Queue"}})");

  // Old files say neither whether a buffer is persistent nor what a constant input is called.
  program.signature.inputs[2].persistent.reset();
  program.signature.inputs[3].persistent.reset();
  program.signature.inputs[8].arg.name.clear();
  SavedJson old(program);
  EXPECT_EQ(old.at("/graph_module/signature/input_specs"), json.at("/graph_module/signature/input_specs"));
}

TEST(SaveProgram, EveryOutputSpec) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.result(OutputKind::Token, x);
  builder.result(OutputKind::BufferMutation, x, "b");
  builder.result(OutputKind::ParameterMutation, x, "w");
  builder.result(OutputKind::UserInputMutation, x, "x");
  builder.result(OutputKind::LossOutput, x);
  builder.result(OutputKind::GradientToParameter, x, "w");
  builder.result(OutputKind::GradientToUserInput, x, "x");
  builder.userOutput(x);
  builder.constantOutput(int64_t{3});
  builder.constantOutput({});
  ExportedProgram program = builder.finish();
  EXPECT_EQ(
      SavedJson(program).at("/graph_module/signature/output_specs"),
      R"([{"token": {"arg": {"name": "x"}}}, {"buffer_mutation": {"arg": {"name": "x"}, "buffer_name": "b"}}, )"
      R"({"parameter_mutation": {"arg": {"name": "x"}, "parameter_name": "w"}}, )"
      R"({"user_input_mutation": {"arg": {"name": "x"}, "user_input_name": "x"}}, )"
      R"({"loss_output": {"arg": {"name": "x"}}}, )"
      R"({"gradient_to_parameter": {"arg": {"name": "x"}, "parameter_name": "w"}}, )"
      R"({"gradient_to_user_input": {"arg": {"name": "x"}, "user_input_name": "x"}}, )"
      R"({"user_output": {"arg": {"as_tensor": {"name": "x"}}}}, {"user_output": {"arg": {"as_int": 3}}}, )"
      R"({"user_output": {"arg": {"as_none": true}}}])");
  program.signature.outputs[1].target.reset();
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(program); }),
                  "the BUFFER_MUTATION spec of 'x' has no target");
}

TEST(SaveProgram, TheRestOfAProgram) {
  ExportedProgram program = test::tinyProgram();
  program.rangeConstraints = {{"s77", 2, std::nullopt}, {"u0", std::nullopt, std::nullopt}, {"s1", -3, 16}};
  program.opsetVersion = {{"aten", 10}, {"my", 3}};
  program.guardsCode = {"L['x'].size()[0] <= 8"};
  program.graphModule().metadata = {{"custom", "{\"a\": 1}"}};
  program.namedTupleFields = {{"Point", {"x", "y"}}, {"Empty", {}}};
  program.moduleCallGraph[0].signature->forwardArgNames = {"x"};
  program.moduleCallGraph.push_back({"sub.layer", std::nullopt});
  ModuleCallSignature call;
  call.inputs = {{SpecArgKind::Tensor, "x", {}, {}},
                 {SpecArgKind::SymInt, "n", {}, {}},
                 {SpecArgKind::CustomObject, "q", "Queue", {}},
                 {SpecArgKind::Constant, {}, {}, 0.5}};
  call.outputs = {{SpecArgKind::SymFloat, "f", {}, {}}, {SpecArgKind::SymBool, "c", {}, {}}};
  call.inSpec = "in";
  call.outSpec = "out";
  program.moduleCallGraph.push_back({"kept", call});
  SavedJson json(program);
  EXPECT_EQ(json.at("/range_constraints"), R"({"s77": {"min_val": 2, "max_val": null}, )"
                                           R"("u0": {"min_val": null, "max_val": null}, )"
                                           R"("s1": {"min_val": -3, "max_val": 16}})");
  EXPECT_EQ(json.at("/opset_version"), R"({"aten": 10, "my": 3})");
  EXPECT_EQ(json.at("/guards_code"), R"(["L['x'].size()[0] <= 8"])");
  EXPECT_EQ(json.at("/graph_module/metadata"), R"({"custom": "{\"a\": 1}"})");
  EXPECT_EQ(json.at("/graph_module/treespec_namedtuple_fields"),
            R"({"Point": {"field_names": ["x", "y"]}, "Empty": {"field_names": []}})");
  EXPECT_EQ(json.at("/graph_module/module_call_graph/0/signature/forward_arg_names"), R"(["x"])");
  EXPECT_EQ(json.at("/graph_module/module_call_graph/1"), R"({"fqn": "sub.layer", "signature": null})");
  EXPECT_EQ(
      json.at("/graph_module/module_call_graph/2"),
      R"({"fqn": "kept", "signature": {"inputs": [{"as_tensor": {"name": "x"}}, {"as_sym_int": {"as_name": "n"}}, )"
      R"({"as_custom_obj": {"name": "q", "class_fqn": "Queue"}}, {"as_float": 0.5}], )"
      R"("outputs": [{"as_sym_float": {"as_name": "f"}}, {"as_sym_bool": {"as_name": "c"}}], )"
      R"("in_spec": "in", "out_spec": "out", "forward_arg_names": null}})");
}

TEST(SaveProgram, VersionsAreThoseOfTheWriter) {
  ExportedProgram program = test::tinyProgram();
  program.schemaVersion = {7, 3};
  program.torchVersion = "2.6.0+debian";
  EXPECT_EQ(SavedJson(program).at("/schema_version"), R"({"major": 8, "minor": 20})");
  EXPECT_EQ(SavedJson(program).at("/torch_version"), R"("2.6.0+debian")");
  program.torchVersion.clear();
  EXPECT_EQ(SavedJson(program).at("/torch_version"), "\"edgefx " + std::string(kVersion) + "\"");
}

TEST(SaveProgram, EdgeProgramsPassForAten) {
  ExportedProgram program = test::tinyProgram();
  wrapAsEdge(program);
  program.verifiers = {"EDGE"};
  SavedJson json(program);
  EXPECT_EQ(json.at("/verifiers"), R"(["ATEN"])");
  EXPECT_EQ(json.graph("/nodes/0/target"), R"("torch.ops.aten.linear.default")");
  EXPECT_EQ(json.graph("/nodes/0/inputs/1/name"), R"("weight")");
  EXPECT_EQ(detail::edgeRecord(program), R"({"dialect": "EDGE", "verifiers": ["EDGE"]})");
  program.verifiers = {"ATEN"};
  EXPECT_EQ(detail::edgeRecord(program), R"({"dialect": "EDGE"})");
}

TEST(SaveProgram, TheEdgeRecordNamesOperatorsThatAreNotEdge) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  auto inner = std::make_unique<Graph>();
  inner->placeholder("a").setValue(tensorValue({2}));
  inner->call("aten.relu.default", {inner->find("a")}, {}, "inner_relu").setValue(tensorValue({2}));
  inner->call(Target::edge("aten.relu.default"), {inner->find("a")}, {}, "edge_relu")
      .setValue(tensorValue({2}));
  inner->output(*inner->find("inner_relu"));
  Node& body = builder.branch("body", std::move(inner));
  Node& relu = builder.call("aten.relu.default", {x}, tensorValue({2}), "relu");
  builder.userOutput(builder.call("higher_order.wrap", {body, relu}, tensorValue({2}), "wrap"));
  ExportedProgram program = builder.finish();
  program.dialect = Dialect::Edge;
  EXPECT_EQ(detail::edgeRecord(program),
            R"({"dialect": "EDGE", "aten_nodes": [":relu", "body:inner_relu"], )"
            R"("orders": [{"path": "", "nodes": ["x", "body", "relu", "wrap", "output"]}]})");
}

TEST(SaveProgram, UnknownMembersGoBackToTheEndOfTheirObjects) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  auto inner = std::make_unique<Graph>();
  Node& a = inner->placeholder("a");
  a.setValue(tensorValue({2}));
  Node& relu = inner->call("aten.relu.default", {a}, {}, "relu");
  relu.setValue(tensorValue({2}));
  inner->output(relu);
  Node& body = builder.branch("body", std::move(inner));
  builder.userOutput(builder.call("higher_order.wrap", {body, x}, tensorValue({2}), "wrap"));
  ExportedProgram program = builder.finish();
  program.rangeConstraints = {{"s0", 1, 2}};
  program.unknownMembers = {
      {"", R"("p": 1, "q": [2])"},
      {"graph_module", R"("m": 1)"},
      {"graph_module.graph", R"("g": 1)"},
      {"graph_module.graph.nodes[wrap]", R"("n": 1)"},
      {"graph_module.graph.nodes[wrap].inputs[1]", R"("i": 1)"},
      {"graph_module.graph.tensor_values[x]", R"("t": 1)"},
      {"graph_module.graph/body", R"("inner": 1)"},
      {"graph_module.graph/body.nodes[relu]", R"("inner_n": 1)"},
      {"graph_module.graph/body.tensor_values[a]", R"("inner_t": 1)"},
      {"graph_module.signature", R"("s": 1)"},
      {"graph_module.signature.input_specs[0]", R"("is": 1)"},
      {"graph_module.signature.output_specs[0]", R"("os": 1)"},
      {"graph_module.module_call_graph[]", R"("e": 1)"},
      {"graph_module.module_call_graph[].signature", R"("es": 1)"},
      {"range_constraints[s0]", R"("r": 1)"},
      {"schema_version", R"("v": 1)"},
  };
  SavedJson json(program);
  const std::string& text = json.text();
  auto expectEnd = [&](std::string_view path, std::string_view end) {
    std::string object = json.at(path);
    EXPECT_TRUE(object.ends_with(end)) << path << ": " << object;
  };
  expectEnd("", R"(, "guards_code": [], "p": 1, "q": [2]})");
  expectEnd("/graph_module", R"("treespec_namedtuple_fields": {}, "m": 1})");
  expectEnd("/graph_module/graph", R"("sym_float_values": {}, "g": 1})");
  expectEnd("/graph_module/graph/nodes/0", R"("name": "wrap", "n": 1})");
  expectEnd("/graph_module/graph/nodes/0/inputs/1", R"("kind": 1, "i": 1})");
  expectEnd("/graph_module/graph/tensor_values/x", R"("layout": 7, "t": 1})");
  expectEnd("/graph_module/graph/nodes/0/inputs/0/arg/as_graph/graph",
            R"("sym_float_values": {}, "inner": 1})");
  expectEnd("/graph_module/graph/nodes/0/inputs/0/arg/as_graph/graph/nodes/0",
            R"("name": "relu", "inner_n": 1})");
  expectEnd("/graph_module/graph/nodes/0/inputs/0/arg/as_graph/graph/tensor_values/a", R"("inner_t": 1})");
  expectEnd("/graph_module/signature", R"(, "s": 1})");
  expectEnd("/graph_module/signature/input_specs/0", R"("is": 1}})");
  expectEnd("/graph_module/signature/output_specs/0", R"("os": 1}})");
  expectEnd("/graph_module/module_call_graph/0", R"("es": 1}, "e": 1})");
  expectEnd("/range_constraints/s0", R"("max_val": 2, "r": 1})");
  expectEnd("/schema_version", R"("minor": 20, "v": 1})");

  // Without them nothing else changes.
  for (const auto& [path, members] : program.unknownMembers)
    EXPECT_NE(text.find(members), std::string::npos) << path;
}

TEST(SaveProgram, TextThatIsNotUtf8IsRefused) {
  ExportedProgram program = test::tinyProgram();
  program.graph().find("relu")->editMeta(
      [](NodeMeta& meta) { meta.set("stack_trace", std::string("\xff")); });
  std::string error = errorOf<UsageError>([&] { SavedJson json(program); });
  EXPECT_MENTIONS(error, "UTF-8");
  EXPECT_MENTIONS(error, "node '%relu'");
}

}  // namespace
}  // namespace edgefx

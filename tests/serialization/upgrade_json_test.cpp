#include "serialization/upgrade_json.h"

#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "serialization/expect_error.h"
#include "serialization/json_reader.h"
#include "serialization/old_schema.h"
#include "serialization/zip_reader.h"
#include "support/json_writer.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::detail {
namespace {

using test::canonicalJson;
using test::downgradedJson;
using test::errorOf;

// A text and what was parsed from it.
struct Json {
  explicit Json(std::string_view text) : root(parser.parse(quoteBareNonFinite(text)).value()) {}
  simdjson::dom::parser parser;
  simdjson::dom::element root;
};

std::string upgraded(std::string_view text, int64_t major, const NameSet& stateDict = {}) {
  return upgradeProgramJson(Json(text).root, major, stateDict);
}

std::string canonical(std::string_view text) {
  return canonicalJson(Json(text).root);
}

std::string withAllMembers(std::string_view text) {
  return test::withAllMembers(Json(text).root);
}

class WarningLog {
 public:
  WarningLog()
      : previous_(
            setWarningHandler([this](const Warning& warning) { messages.push_back(warning.message); })) {}
  ~WarningLog() { setWarningHandler(previous_); }
  std::vector<std::string> messages;

 private:
  WarningHandler previous_;
};

// Parts of a program that a test does not set are empty.
struct Parts {
  std::string outputs = "";
  std::string symInts = "";
  std::string symBools = "";
  std::string inputSpecs = "";
  std::string outputSpecs = "";
  std::string ranges = "";
  std::string more = "";  // members of the program
};

std::string programOf(const Parts& parts) {
  return R"({"graph_module": {"graph": {"inputs": [], "outputs": [)" + parts.outputs +
         R"(], "nodes": [], "tensor_values": {}, "sym_int_values": {)" + parts.symInts +
         R"(}, "sym_bool_values": {)" + parts.symBools + R"(}}, "signature": {"input_specs": [)" +
         parts.inputSpecs + R"(], "output_specs": [)" + parts.outputSpecs +
         R"(]}, "module_call_graph": []}, "opset_version": {"aten": 10}, "range_constraints": {)" +
         parts.ranges + R"(}, "schema_version": {"major": 5, "minor": 1})" + parts.more + "}";
}

// The value at a JSON pointer of the upgraded program.
std::string upgradedPart(const Parts& parts, std::string_view pointer, int64_t major = 5,
                         const NameSet& stateDict = {}) {
  Json json(upgraded(programOf(parts), major, stateDict));
  return canonicalJson(json.root.at_pointer(pointer).value());
}

std::string output(const std::string& argument, int64_t major = 5) {
  return upgradedPart({.outputs = argument}, "/graph_module/graph/outputs/0", major);
}
std::string symInt(const std::string& value, int64_t major = 5) {
  return upgradedPart({.symInts = "\"v\": " + value}, "/graph_module/graph/sym_int_values/v", major);
}
std::string inputSpec(const std::string& spec, int64_t major = 5, const NameSet& stateDict = {}) {
  return upgradedPart({.inputSpecs = spec}, "/graph_module/signature/input_specs/0", major, stateDict);
}
std::string range(const std::string& bounds) {
  Json json(upgraded(programOf({.ranges = "\"s0\": " + bounds}), 5));
  auto constraint = json.root.at_key("range_constraints").at_key("s0");
  return pythonJson(constraint.at_key("min_val").value()) + " " +
         pythonJson(constraint.at_key("max_val").value());
}
template <typename Call>
std::string faultOf(Call&& call) {
  return errorOf<ParseError>(call);
}

TEST(UpgradeJson, TakesTheMemberThatIsNotNull) {
  EXPECT_EQ(output(R"({"as_none": null, "as_tensor": {"name": "x"}, "as_int": null})", 2),
            R"({"as_tensor": {"name": "x"}})");
  EXPECT_EQ(output(R"({"as_tensor": null, "as_bool": false, "as_int": null})", 2), R"({"as_bool": false})");
  EXPECT_EQ(output(R"({"as_int": 0, "as_bool": null})", 2), R"({"as_int": 0})");
  EXPECT_EQ(output(R"({"as_ints": [], "as_bools": null})", 2), R"({"as_ints": []})");
  EXPECT_EQ(output(R"({"as_none": [], "as_tensor": null})", 2), R"({"as_none": true})");
  EXPECT_EQ(output(R"({"as_none": []})", 5), R"({"as_none": true})");
  EXPECT_EQ(output(R"({"as_none": true})", 7), R"({"as_none": true})");
}

TEST(UpgradeJson, RefusesUnionsWithoutOneTag) {
  EXPECT_MENTIONS(
      faultOf([] { output(R"({"as_int": 1, "as_bool": false})", 2); }),
      "graph_module.graph.outputs[0]: Argument needs exactly one tag, found 'as_int' and 'as_bool'");
  EXPECT_MENTIONS(faultOf([] { output(R"({"as_int": null, "as_bool": null})", 2); }), "found none");
  EXPECT_MENTIONS(faultOf([] { output("{}", 5); }), "found none");
  EXPECT_MENTIONS(faultOf([] { output(R"({"as_int": 1, "as_int": null})", 2); }),
                  "tag 'as_int' of Argument occurs");
  // Later majors wrote the one member only.
  EXPECT_MENTIONS(faultOf([] { output(R"({"as_int": 1, "as_bool": null})", 5); }), "found 2 members");
  EXPECT_MENTIONS(faultOf([] { output("[]", 5); }), "expected an object, found an array");
  EXPECT_MENTIONS(faultOf([] { output(R"({"as_none": [1]})", 5); }),
                  "outputs[0].as_none: expected an empty array, found one with items");
}

TEST(UpgradeJson, ConvertsNestedArguments) {
  EXPECT_EQ(
      output(R"({"as_sym_ints": [{"as_name": "s", "as_int": null}, {"as_name": null, "as_int": 0}]})", 2),
      R"({"as_sym_ints": [{"as_name": "s"}, {"as_int": 0}]})");
  EXPECT_EQ(output(R"({"as_optional_tensors": [{"as_tensor": "x", "as_none": null},
                                               {"as_tensor": null, "as_none": []}]})",
                   2),
            R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": true}]})");
  EXPECT_EQ(output(R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": []}]})", 5),
            R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": true}]})");
  EXPECT_EQ(output(R"({"as_custom_obj": {"name": "obj"}})", 2),
            R"({"as_custom_obj": {"class_fqn": "", "name": "obj"}})");
  EXPECT_MENTIONS(errorOf<UnsupportedError>([] { output(R"({"as_custom_obj": {"blob": "gAJ9"}})", 1); }),
                  "outputs[0].as_custom_obj: the custom object is stored as bytes of Python");
}

TEST(UpgradeJson, ConvertsSymbolicValues) {
  std::string expected = R"({"as_expr": {"expr_str": "2*s0", "hint": {"as_int": 6}}})";
  EXPECT_EQ(symInt(R"({"as_expr": {"expr_str": "2*s0", "hint": 6}, "as_int": null})", 1), expected);
  EXPECT_EQ(
      symInt(R"({"as_expr": {"expr_str": "2*s0", "hint": {"as_int": 6, "as_float": null}}, "as_int": null})",
             2),
      expected);
  EXPECT_EQ(symInt(R"({"as_expr": {"expr_str": "u0"}})", 5), R"({"as_expr": {"expr_str": "u0"}})");
  EXPECT_EQ(symInt(R"({"as_expr": {"expr_str": "u0", "hint": null}})", 1),
            R"({"as_expr": {"expr_str": "u0"}})");
  EXPECT_EQ(upgradedPart({.symBools = R"("v": {"as_expr": "s0 > 2", "as_bool": null})"},
                         "/graph_module/graph/sym_bool_values/v", 1),
            R"({"as_expr": {"expr_str": "s0 > 2"}})");
  EXPECT_MENTIONS(faultOf([] { symInt(R"({"as_expr": {"expr_str": "s0", "hint": [1]}})"); }),
                  "sym_int_values.v.as_expr.hint: expected an integer or null, found an array");
}

TEST(UpgradeJson, ConvertsRanges) {
  EXPECT_EQ(range(R"({"min_val": 2, "max_val": 9223372036854775807})"), "2 9223372036854775807");
  EXPECT_EQ(range(R"({"min_val": -Infinity, "max_val": Infinity})"), "null null");
  EXPECT_EQ(range(R"({"min_val": 2.0})"), "2 null");
  EXPECT_EQ(range(R"({"min_val": null, "max_val": -1e3})"), "null -1000");
  auto fault = [](const std::string& bounds) { return faultOf([&] { range(bounds); }); };
  EXPECT_MENTIONS(fault(R"({"min_val": 2.5})"),
                  "range_constraints.s0.min_val: a bound must be a 64-bit integer");
  EXPECT_MENTIONS(fault(R"({"max_val": 1e19})"), "a bound must be a 64-bit integer");
  EXPECT_MENTIONS(fault(R"({"max_val": 9223372036854775808})"),
                  "expected a 64-bit integer, found an integer");
  EXPECT_MENTIONS(fault(R"({"min_val": Infinity})"), "must be an integer or '-Infinity', found 'Infinity'");
  EXPECT_MENTIONS(fault(R"({"max_val": NaN})"), "must be an integer or 'Infinity', found 'NaN'");
  EXPECT_MENTIONS(fault(R"({"max_val": 3, "max_val": 4})"),
                  "member 'max_val' of RangeConstraint occurs twice");
}

TEST(UpgradeJson, ConvertsSpecs) {
  // Persistent if the state dict has it, unless the file says.
  EXPECT_EQ(
      inputSpec(R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m"}, "parameter": null})", 2, {"m"}),
      R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m", "persistent": true}})");
  EXPECT_EQ(
      inputSpec(R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m"}, "parameter": null})", 2, {"n"}),
      R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m", "persistent": false}})");
  EXPECT_EQ(
      inputSpec(R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m", "persistent": false}})", 5, {"m"}),
      R"({"buffer": {"arg": {"name": "b_m"}, "buffer_name": "m", "persistent": false}})");
  // A constant input is one without a name.
  EXPECT_EQ(inputSpec(R"({"user_input": {"arg": {"as_int": 3, "as_none": null}}, "buffer": null})", 2),
            R"({"constant_input": {"name": "", "value": {"as_int": 3}}})");
  EXPECT_EQ(inputSpec(R"({"user_input": {"arg": {"as_none": []}}})", 5),
            R"({"constant_input": {"name": "", "value": {"as_none": true}}})");
  EXPECT_EQ(inputSpec(R"({"constant_input": {"name": "n", "value": {"as_none": []}}})", 7),
            R"({"constant_input": {"name": "n", "value": {"as_none": true}}})");
  EXPECT_EQ(inputSpec(R"({"user_input": {"arg": {"as_sym_int": {"as_name": "s", "as_int": null}}}})", 2),
            R"({"user_input": {"arg": {"as_sym_int": {"as_name": "s"}}}})");
  EXPECT_EQ(inputSpec(R"({"custom_obj": {"arg": {"name": "o"}, "custom_obj_name": "obj"}})", 5),
            R"({"custom_obj": {"arg": {"class_fqn": "", "name": "o"}, "custom_obj_name": "obj"}})");
  EXPECT_MENTIONS(faultOf([] { inputSpec(R"({"user_input": {}})"); }),
                  "input_specs[0].user_input: member 'arg' is missing");
  EXPECT_MENTIONS(faultOf([] { inputSpec(R"({"buffer": {"arg": {"name": "b"}, "buffer_name": 3}})", 2); }),
                  "buffer.buffer_name: expected a string, found an integer");
}

TEST(UpgradeJson, GivesProgramsWhatLaterSchemasAdded) {
  auto member = [](const std::string& more, std::string_view pointer) {
    return upgradedPart({.more = more}, pointer);
  };
  EXPECT_EQ(member(R"(, "dialect": "ATEN")", "/verifiers"), R"(["ATEN"])");
  EXPECT_EQ(member(R"(, "dialect": "", "verifiers": ["EDGE"])", "/verifiers"), R"(["EDGE"])");
  EXPECT_EQ(member("", "/verifiers"), "[]");
  EXPECT_EQ(member("", "/torch_version"), R"("<=2.4")");
  EXPECT_EQ(member(R"(, "torch_version": "2.5.1")", "/torch_version"), R"("2.5.1")");
  EXPECT_EQ(member("", "/guards_code"), "[]");
  EXPECT_EQ(member("", "/graph_module/metadata"), "{}");
  EXPECT_EQ(member("", "/graph_module/graph/custom_obj_values"), "{}");
  EXPECT_EQ(member("", "/graph_module/graph/is_single_tensor_return"), "false");
  EXPECT_EQ(member("", "/schema_version"), R"({"major": 5, "minor": 1})");
  EXPECT_EQ(member(R"(, "later": {"as_none": [], "b": NaN})", "/later"), R"({"as_none": [], "b": "NaN"})");
  EXPECT_MENTIONS(faultOf([&] { member(R"(, "dialect": 3)", "/verifiers"); }), "dialect: expected a string");
  EXPECT_MENTIONS(faultOf([&] { member(R"(, "dialect": "A", "dialect": "B")", "/verifiers"); }),
                  "occurs twice");
  EXPECT_MENTIONS(faultOf([] { upgraded("[]", 5); }), "expected an object, found an array");
}

TEST(UpgradeJson, ReportsEqualityConstraintsOnce) {
  WarningLog log;
  Parts parts;
  parts.more = R"(, "equality_constraints": [[["x", 0], ["y", 1]], [["x", 0], ["z", 2]]])";
  Json json(upgraded(programOf(parts), 1));
  EXPECT_NE(json.root.at_key("equality_constraints").error(), simdjson::SUCCESS);
  ASSERT_EQ(log.messages.size(), 1u);
  EXPECT_MENTIONS(log.messages[0], "x[0] = y[1], x[0] = z[2]");
  parts.more = R"(, "equality_constraints": [])";
  upgraded(programOf(parts), 1);
  EXPECT_EQ(log.messages.size(), 1u);
  parts.more = R"(, "equality_constraints": [[["x", 0]]])";
  EXPECT_MENTIONS(faultOf([&] { upgraded(programOf(parts), 1); }),
                  "equality_constraints[0]: expected two dimensions, found 1");
}

// relu(linear(x, weight)) * 3 with a buffer that counts calls, of x with a symbolic size and a constant
// input, as torch 2.1 wrote it but for the unions.
constexpr std::string_view kMajor1 = R"({
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "b_count"}},
                 {"as_tensor": {"name": "x"}}, {"as_int": 3}],
      "outputs": [{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "mul"}}],
      "nodes": [
        {"target": "torch.ops.aten.linear.default",
         "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}},
                    {"name": "weight", "arg": {"as_tensor": {"name": "p_weight"}}},
                    {"name": "bias", "arg": {"as_none": []}}],
         "outputs": [{"as_tensor": {"name": "linear"}}], "metadata": {"stack_trace": "line"}},
        {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}],
         "outputs": [{"as_tensor": {"name": "relu"}}], "metadata": {}},
        {"target": "torch.ops.aten.mul.Tensor",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "relu"}}}, {"name": "other", "arg": {"as_int": 3}}],
         "outputs": [{"as_tensor": {"name": "mul"}}], "metadata": {}},
        {"target": "torch.ops.aten.add.Tensor",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "b_count"}}},
                    {"name": "other", "arg": {"as_int": 1}}],
         "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}}],
      "tensor_values": {
        "x": {"meta": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0", "hint": 2}}, {"as_int": 4}],
              "requires_grad": false, "device": {"type": "cpu", "index": null},
              "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": 0, "layout": 7}},
        "b_count": {"meta": {"dtype": 5, "sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": null},
              "strides": [], "storage_offset": 0, "layout": 7}}},
      "sym_int_values": {},
      "sym_bool_values": {"b": {"as_expr": "s0 > 1"}}},
    "signature": {
      "inputs_to_parameters": {"p_weight": "linear.weight"}, "inputs_to_buffers": {"b_count": "count"},
      "user_inputs": ["x", "arg3"], "user_outputs": ["mul"], "buffers_to_mutate": {"add": "count"},
      "backward_signature": null},
    "call_spec": {"in_spec": "[1, null]", "out_spec": "[1, 2]"},
    "module_call_graph": [{"fqn": "linear", "signature": null}]},
  "opset_version": {"aten": 10},
  "range_constraints": {"s0": {"min_val": 2, "max_val": 9223372036854775806}},
  "equality_constraints": [],
  "schema_version": 1})";

constexpr std::string_view kMajor1Upgraded = R"({
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "b_count"}},
                 {"as_tensor": {"name": "x"}}, {"as_int": 3}],
      "outputs": [{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "mul"}}],
      "nodes": [
        {"target": "torch.ops.aten.linear.default",
         "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}},
                    {"name": "weight", "arg": {"as_tensor": {"name": "p_weight"}}},
                    {"name": "bias", "arg": {"as_none": true}}],
         "outputs": [{"as_tensor": {"name": "linear"}}], "metadata": {"stack_trace": "line"}},
        {"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "linear"}}}],
         "outputs": [{"as_tensor": {"name": "relu"}}], "metadata": {}},
        {"target": "torch.ops.aten.mul.Tensor",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "relu"}}}, {"name": "other", "arg": {"as_int": 3}}],
         "outputs": [{"as_tensor": {"name": "mul"}}], "metadata": {}},
        {"target": "torch.ops.aten.add.Tensor",
         "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "b_count"}}},
                    {"name": "other", "arg": {"as_int": 1}}],
         "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}}],
      "tensor_values": {
        "x": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": "s0", "hint": {"as_int": 2}}}, {"as_int": 4}],
              "requires_grad": false, "device": {"type": "cpu"},
              "strides": [{"as_int": 4}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7},
        "b_count": {"dtype": 5, "sizes": [], "requires_grad": false, "device": {"type": "cpu"},
              "strides": [], "storage_offset": {"as_int": 0}, "layout": 7}},
      "sym_int_values": {},
      "sym_bool_values": {"b": {"as_expr": {"expr_str": "s0 > 1"}}},
      "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}},
    "signature": {
      "input_specs": [
        {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "linear.weight"}},
        {"buffer": {"arg": {"name": "b_count"}, "buffer_name": "count", "persistent": true}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        {"constant_input": {"name": "", "value": {"as_int": 3}}}],
      "output_specs": [
        {"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "count"}},
        {"user_output": {"arg": {"as_tensor": {"name": "mul"}}}}]},
    "module_call_graph": [
      {"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": "[1, null]", "out_spec": "[1, 2]"}},
      {"fqn": "linear"}],
    "metadata": {}, "treespec_namedtuple_fields": {}},
  "opset_version": {"aten": 10},
  "range_constraints": {"s0": {"min_val": 2, "max_val": 9223372036854775806}},
  "schema_version": {"major": 1, "minor": 1},
  "torch_version": "<=2.4", "guards_code": [], "verifiers": []})";

TEST(UpgradeJson, UpgradesAProgramOfMajor1) {
  EXPECT_EQ(canonical(upgraded(withAllMembers(kMajor1), 1, {"linear.weight", "count"})),
            canonical(kMajor1Upgraded));
}

std::string changed(std::string_view text, std::string_view part, std::string_view into) {
  std::string out(text);
  size_t at = out.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return out.replace(at, part.size(), into);
}

TEST(UpgradeJson, RefusesASignatureThatDoesNotFitTheGraph) {
  auto fault = [](std::string_view part, std::string_view into) {
    std::string text = withAllMembers(changed(kMajor1, part, into));
    return faultOf([&] { upgraded(text, 1); });
  };
  EXPECT_MENTIONS(fault(R"({"p_weight": "linear.weight"})", "{}"),
                  "'p_weight' is no parameter, buffer or user input of the signature");
  EXPECT_MENTIONS(
      fault(R"({"p_weight": "linear.weight"})", R"({"p_weight": "linear.weight", "p_bias": "b"})"),
      "5 inputs are named, 3 of them are inputs of the graph");
  EXPECT_MENTIONS(fault(R"({"p_weight": "linear.weight"})", R"({"p_weight": "a", "p_weight": "b"})"),
                  "inputs_to_parameters.p_weight: the name occurs twice");
  EXPECT_MENTIONS(fault(R"(["mul"])", R"(["mul", "relu"])"), "3 outputs are named, the graph has 2");
  EXPECT_MENTIONS(fault(R"(["mul"])", R"(["relu"])"), "output 1 must be 'relu', found 'mul'");
  EXPECT_MENTIONS(fault(R"({"add": "count"})", R"({"mul": "count"})"),
                  "output 0 must be one of the 1 mutated buffers");
  EXPECT_MENTIONS(fault(R"(["mul"])", R"([3])"),
                  "signature.user_outputs[0]: expected a string, found an integer");
  EXPECT_MENTIONS(fault(R"("in_spec": "[1, null]", )", ""), "member 'in_spec' is missing");
}

TEST(UpgradeJson, UpgradesABackwardSignature) {
  std::string text = changed(kMajor1, R"("backward_signature": null)",
                             R"("backward_signature": {"gradients_to_parameters": {"relu": "linear.weight"},
                                 "gradients_to_user_inputs": {"linear": "x"}, "loss_output": "mul"})");
  text = changed(text, R"("outputs": [{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "mul"}}])",
                 R"("outputs": [{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "mul"}},
                                {"as_tensor": {"name": "relu"}}, {"as_tensor": {"name": "linear"}}])");
  Json json(upgraded(withAllMembers(text), 1));
  EXPECT_EQ(canonicalJson(json.root.at_pointer("/graph_module/signature/output_specs").value()),
            canonical(R"([
      {"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "count"}},
      {"loss_output": {"arg": {"name": "mul"}}},
      {"gradient_to_parameter": {"arg": {"name": "relu"}, "parameter_name": "linear.weight"}},
      {"gradient_to_user_input": {"arg": {"name": "linear"}, "user_input_name": "x"}}])"));
}

// One whose own entry of the call graph has no signature, or has one already.
TEST(UpgradeJson, PutsTheCallSpecIntoTheCallGraph) {
  auto calls = [](std::string_view entries) {
    Json json(
        upgraded(withAllMembers(changed(kMajor1, R"([{"fqn": "linear", "signature": null}])", entries)), 1));
    return canonicalJson(json.root.at_pointer("/graph_module/module_call_graph").value());
  };
  std::string own =
      R"({"fqn": "", "signature": {"in_spec": "[1, null]", "inputs": [], "out_spec": "[1, 2]", )"
      R"("outputs": []}})";
  EXPECT_EQ(calls("[]"), "[" + own + "]");
  EXPECT_EQ(calls(R"([{"fqn": "", "signature": null}, {"fqn": "a"}])"), "[" + own + R"(, {"fqn": "a"}])");
  std::string other =
      R"({"fqn": "", "signature": {"in_spec": "a", "inputs": [], "out_spec": "b", "outputs": []}})";
  EXPECT_EQ(calls("[" + other + "]"), "[" + other + "]");
  std::string without = changed(kMajor1, R"(,
    "module_call_graph": [{"fqn": "linear", "signature": null}])",
                                "");
  Json json(upgraded(withAllMembers(without), 1));
  EXPECT_EQ(canonicalJson(json.root.at_pointer("/graph_module/module_call_graph").value()), "[" + own + "]");
}

// Branches are converted like the graph around them.
TEST(UpgradeJson, UpgradesNestedGraphs) {
  std::string_view branch = R"({"as_graph": {"name": "true_graph_0", "graph": {
      "inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "sum_1"}}],
      "nodes": [{"target": "torch.ops.aten.sum.dim_IntList", "metadata": {},
                 "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}},
                            {"name": "dim", "arg": {"as_none": []}}],
                 "outputs": [{"as_tensor": {"name": "sum_1"}}]}],
      "tensor_values": {"x": {"dtype": 7, "sizes": [], "strides": [], "storage_offset": 4, "layout": 7,
                              "requires_grad": false, "device": {"type": "cpu"}}},
      "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": true}}})";
  for (int64_t major : {2, 5, 7}) {
    std::string text = major == 2 ? withAllMembers(branch) : std::string(branch);
    EXPECT_EQ(output(text, major), canonical(R"({"as_graph": {"name": "true_graph_0", "graph": {
      "inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "sum_1"}}],
      "nodes": [{"target": "torch.ops.aten.sum.dim_IntList", "metadata": {},
                 "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}},
                            {"name": "dim", "arg": {"as_none": true}}],
                 "outputs": [{"as_tensor": {"name": "sum_1"}}]}],
      "tensor_values": {"x": {"dtype": 7, "sizes": [], "strides": [], "storage_offset": {"as_int": 4}, "layout": 7,
                              "requires_grad": false, "device": {"type": "cpu"}}},
      "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": true, "custom_obj_values": {},
      "sym_float_values": {}}}})"))
        << "major " << major;
  }
  std::string broken = changed(branch, R"({"as_none": []})", R"({"as_none": [], "as_int": 1})");
  EXPECT_MENTIONS(faultOf([&] { output(broken, 5); }),
                  "outputs[0].as_graph.graph.nodes[0].inputs[1].arg: Argument needs exactly one tag");
}

// A file of nested graphs as deep as the parser lets through.
TEST(UpgradeJson, DeepNestingIsNoDanger) {
  std::string text = R"({"as_int": 1})";
  for (int i = 0; i < 240; ++i) {
    text = R"({"as_graph": {"name": "g", "graph": {"outputs": [)" + text + "]}}}";
  }
  std::string expected = R"({"as_int": 1})";
  EXPECT_MENTIONS(upgraded(programOf({.outputs = text}), 5), expected);
}

// The programs of real files, put into the old form, come back as they were.
TEST(UpgradeJson, RestoresDowngradedPrograms) {
  WarningLog log;
  size_t programs = 0;
  for (const test::CorpusProgram& entry : test::corpusPrograms()) {
    std::string bytes = test::readFile(entry.file);
    ZipReader zip(test::asBytes(bytes), entry.name);
    std::string model = "/models/" + (entry.model.empty() ? "model" : entry.model) + ".json";
    for (const ZipRecord& record : zip.records()) {
      if (record.name != "serialized_exported_program.json" && !record.name.ends_with(model)) continue;
      Json original(zip.read(record).text());
      NameSet persistent;
      for (auto spec : original.root.at_pointer("/graph_module/signature/input_specs").get_array()) {
        simdjson::dom::element buffer;
        if (spec.at_key("buffer").get(buffer) != simdjson::SUCCESS) continue;
        if (!buffer.at_key("persistent").get_bool().value()) continue;
        persistent.insert(std::string(buffer.at_key("buffer_name").get_string().value()));
      }
      for (int64_t major : {5, 2}) {
        Json restored(upgraded(downgradedJson(original.root, major), major, persistent));
        // Old files do not say which versions wrote them, and what is empty may be absent.
        EXPECT_EQ(
            canonicalJson(restored.root, {"schema_version", "treespec_namedtuple_fields", "guards_code"}),
            canonicalJson(original.root, {"schema_version", "treespec_namedtuple_fields", "guards_code"}))
            << entry.name << ", major " << major;
      }
      ++programs;
    }
  }
  EXPECT_GE(programs, 20u);
  EXPECT_TRUE(log.messages.empty());
}

}  // namespace
}  // namespace edgefx::detail

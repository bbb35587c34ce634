#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>

#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace edgefx {
namespace {

using test::countingProgram;
using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

std::vector<std::string> signatureMessages(const ExportedProgram& program) {
  std::vector<std::string> out;
  for (const Diagnostic& diagnostic : checkSignature(program)) out.push_back(diagnostic.message);
  return out;
}

using Messages = std::vector<std::string>;

// Every kind of input and output, all as they should be.
ExportedProgram everyKind() {
  ProgramBuilder builder;
  Node& token = builder.token("token");
  Node& weight = builder.parameter("fc.weight", sampleTensor({2}));
  Node& keys = builder.buffer("keys", sampleTensor({2}));
  Node& scratch = builder.buffer("scratch", sampleTensor({2}), false);
  Node& lifted = builder.constant("lifted", sampleTensor({2}));
  builder.customObject("queue", "__torch__.Queue");
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.constantInput("n", int64_t{3});
  Node& effect =
      builder.call("higher_order.with_effects", {token, x}, ValueMeta::of(ValueMeta::Token{}), "effect");
  Node& a = builder.call("aten.add.Tensor", {keys, scratch}, tensorValue({2}), "a");
  Node& b = builder.call("aten.mul.Tensor", {weight, lifted}, tensorValue({2}), "b");
  builder.result(OutputKind::Token, effect);
  builder.result(OutputKind::BufferMutation, a, "keys");
  builder.result(OutputKind::ParameterMutation, a, "fc.weight");
  builder.result(OutputKind::UserInputMutation, a, "x");
  builder.result(OutputKind::BufferMutation, x, "scratch");
  builder.result(OutputKind::LossOutput, b);
  builder.result(OutputKind::GradientToParameter, b, "fc.weight");
  builder.result(OutputKind::GradientToUserInput, b, "x");
  builder.userOutput(a);
  for (ConstantScalar value : {ConstantScalar(), ConstantScalar(true), ConstantScalar(int64_t{5}),
                               ConstantScalar(std::numeric_limits<double>::quiet_NaN()), ConstantScalar(-0.0),
                               ConstantScalar(std::string("mode"))}) {
    builder.constantOutput(value);
  }
  return builder.finish();
}

TEST(CheckSignature, AcceptsGoodPrograms) {
  EXPECT_EQ(signatureMessages(tinyProgram()), Messages());
  EXPECT_EQ(signatureMessages(countingProgram()), Messages());
  EXPECT_EQ(signatureMessages(everyKind()), Messages());
}

TEST(CheckSignature, AcceptsAListOfResults) {
  ExportedProgram program = tinyProgram();
  program.graph().outputNode().setArgs({Arg::list({*program.graph().find("relu")})});
  EXPECT_EQ(signatureMessages(program), Messages());
}

TEST(CheckSignature, AcceptsExtraEntriesOfTheStateDict) {
  ExportedProgram program = tinyProgram();
  program.stateDict().set("unused", sampleTensor({1}));
  EXPECT_EQ(signatureMessages(program), Messages());
}

TEST(CheckSignature, PlaceholderWithoutSpec) {
  ExportedProgram program = tinyProgram();
  InsertionGuard guard(program.graph(), before(*program.graph().find("linear")));
  program.graph().placeholder("rogue");
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"expected as many input specs as placeholders, found 3 specs for 4 placeholders; placeholders "
               "without spec: '%rogue'; specs without placeholder: none"});
}

TEST(CheckSignature, SpecWithoutPlaceholder) {
  ExportedProgram program = tinyProgram();
  for (int i = 0; i < 10; ++i) {
    program.signature.inputs.emplace_back().arg.name = "ghost_" + std::to_string(i);
  }
  EXPECT_EQ(
      signatureMessages(program),
      Messages{
          "expected as many input specs as placeholders, found 13 specs for 3 placeholders; placeholders "
          "without spec: none; specs without placeholder: '%ghost_0', '%ghost_1', '%ghost_2', '%ghost_3', "
          "'%ghost_4', '%ghost_5', '%ghost_6', '%ghost_7' and 2 more"});
}

TEST(CheckSignature, TwoSpecsNameOnePlaceholder) {
  ExportedProgram program = tinyProgram();
  program.signature.inputs[1].arg.name = "p_weight";
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{
          "input spec 1 (buffer \"scale\") names '%p_weight', as input spec 0 does",
          "input spec 1 (buffer \"scale\") names '%p_weight', which stands elsewhere; the placeholder at "
          "its position is '%b_scale'"}));
}

TEST(CheckSignature, SpecNamesNoPlaceholder) {
  ExportedProgram program = tinyProgram();
  program.signature.inputs[0].arg.name = "relu";
  std::vector<Diagnostic> found = checkSignature(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, "p_weight");
  EXPECT_EQ(found[0].message,
            "input spec 0 (parameter \"weight\") names '%relu', which is no placeholder of the graph; the "
            "placeholder "
            "at its position is '%p_weight'");
}

// Renaming by the node alone leaves the signature behind, also if nobody uses the placeholder.
TEST(CheckSignature, PlaceholderRenamedBehindTheSignature) {
  ExportedProgram program = everyKind();
  for (const char* name : {"token", "obj_queue", "n"}) program.graph().find(name)->rename("other");
  Messages found = signatureMessages(program);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].substr(0, 36), "input spec 0 (token) names '%token',");
  EXPECT_EQ(found[1].substr(0, 54), "input spec 5 (custom object \"queue\") names '%obj_queue");
  EXPECT_EQ(found[2].substr(0, 37), "input spec 7 (user input) names '%n',");
}

TEST(CheckSignature, SwappedSpecs) {
  ExportedProgram program = tinyProgram();
  std::swap(program.signature.inputs[0], program.signature.inputs[1]);
  EXPECT_EQ(signatureMessages(program).size(), 2u);
}

TEST(CheckSignature, UnknownKinds) {
  ExportedProgram program = tinyProgram();
  program.signature.inputs[0].kind = static_cast<InputKind>(9);
  program.signature.outputs[0].kind = static_cast<OutputKind>(0);
  EXPECT_EQ(signatureMessages(program),
            (Messages{"input spec 0 has the unknown kind 9", "output spec 0 has the unknown kind 0"}));
}

TEST(CheckSignature, ArgumentsOfTheWrongKind) {
  ExportedProgram program = everyKind();
  for (size_t i : {0, 1, 2, 4, 5}) program.signature.inputs[i].arg.kind = SpecArgKind::SymInt;
  program.signature.outputs[0].arg.kind = SpecArgKind::Tensor;
  program.signature.outputs[1].arg.kind = SpecArgKind::SymFloat;
  program.signature.outputs[6].arg.kind = SpecArgKind::CustomObject;
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{
          "input spec 0 (token) must be a token, found a symbolic int",
          "input spec 1 (parameter \"fc.weight\") must be a tensor, found a symbolic int",
          "input spec 2 (buffer \"keys\") must be a tensor, found a symbolic int",
          "input spec 4 (constant tensor \"lifted\") must be a tensor, found a symbolic int",
          "input spec 5 (custom object \"queue\") must be a custom object, found a symbolic int",
          "output spec 0 (token) must be a token, found a tensor",
          "output spec 1 (mutation of buffer \"keys\") must be a tensor, found a symbolic float",
          "output spec 6 (gradient to parameter \"fc.weight\") must be a tensor, found a custom object"}));
}

TEST(CheckSignature, MissingTargets) {
  ExportedProgram program = everyKind();
  for (size_t i : {1, 2, 4, 5}) program.signature.inputs[i].target.reset();
  for (size_t i : {1, 2, 3, 6, 7}) program.signature.outputs[i].target.reset();
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{"input spec 1 (parameter) has no target, expected the name of a parameter",
                "input spec 2 (buffer) has no target, expected the name of a buffer",
                "input spec 4 (constant tensor) has no target, expected the name of a constant tensor",
                "input spec 5 (custom object) has no target, expected the name of a custom object",
                "output spec 1 (mutation of buffer) has no target, expected the name of a buffer",
                "output spec 2 (mutation of parameter) has no target, expected the name of a parameter",
                "output spec 3 (mutation of user input) has no target, expected the name of a user input",
                "output spec 6 (gradient to parameter) has no target, expected the name of a parameter",
                "output spec 7 (gradient to user input) has no target, expected the name of a user input"}));
}

TEST(CheckSignature, ParameterNotStored) {
  ExportedProgram program = tinyProgram();
  program.stateDict().erase("weight");
  std::vector<Diagnostic> found = checkSignature(program);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].node, "p_weight");
  EXPECT_EQ(found[0].message, "input spec 0 (parameter \"weight\") is not in the state dict");
  program.constants().set("weight", sampleTensor({4, 4}));
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"input spec 0 (parameter \"weight\") is not in the state dict, but among the constants"});
}

TEST(CheckSignature, ParameterStoredAsBuffer) {
  ExportedProgram program = tinyProgram();
  program.stateDict().find("weight")->isParameter = false;
  EXPECT_EQ(signatureMessages(program),
            Messages{"input spec 0 (parameter \"weight\") is in the state dict, but not as a parameter"});
}

TEST(CheckSignature, BufferWithoutPersistence) {
  ExportedProgram program = tinyProgram();
  program.signature.inputs[1].persistent.reset();
  EXPECT_EQ(signatureMessages(program),
            Messages{"input spec 1 (buffer \"scale\") does not say whether it is persistent"});
}

TEST(CheckSignature, PersistentBufferNotStored) {
  ExportedProgram program = tinyProgram();
  program.stateDict().erase("scale");
  EXPECT_EQ(signatureMessages(program),
            Messages{"input spec 1 (buffer \"scale\") is persistent, but not in the state dict"});
  program.constants().set("scale", sampleTensor({4}));
  EXPECT_EQ(signatureMessages(program), Messages());
}

TEST(CheckSignature, NonPersistentBufferInTheWrongPlace) {
  ExportedProgram program = tinyProgram();
  program.signature.inputs[1].persistent = false;
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{
          "input spec 1 (buffer \"scale\") is not persistent, but in the state dict",
          "input spec 1 (buffer \"scale\") is not persistent and must be among the constants, but is not"}));
}

TEST(CheckSignature, ConstantsNotStored) {
  ExportedProgram program = everyKind();
  program.constants().erase("lifted");
  program.constants().erase("queue");
  program.stateDict().set("lifted", sampleTensor({2}));
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{"input spec 4 (constant tensor \"lifted\") is not among the constants, but in the state dict",
                "input spec 5 (custom object \"queue\") is not among the constants"}));
}

TEST(CheckSignature, NoOutputNode) {
  ExportedProgram program = tinyProgram();
  program.graph().erase(program.graph().outputNode());
  EXPECT_EQ(signatureMessages(program), Messages{"expected the output as last node, found call_function"});
  EXPECT_EQ(signatureMessages(ExportedProgram()),
            Messages{"expected the output as last node, found no node"});
}

TEST(CheckSignature, BareResult) {
  ExportedProgram program = tinyProgram();
  Node& output = program.graph().outputNode();
  output.setArgs({*program.graph().find("relu")});
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"expected a tuple or list of results as the only argument of the output, found '%relu'"});
  output.setArgs({});
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"expected a tuple or list of results as the only argument of the output, found 0 arguments"});
}

TEST(CheckSignature, ResultCount) {
  ExportedProgram program = countingProgram();
  program.graph().outputNode().setArgs({Arg::tuple({*program.graph().find("mul")})});
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"expected as many output specs as results, found 2 specs for 1 results; results without spec: "
               "'%mul'; specs without result: '%add', '%relu'"});
}

TEST(CheckSignature, ResultIsAnotherNode) {
  ExportedProgram program = tinyProgram();
  program.graph().outputNode().setArgs({Arg::tuple({*program.graph().find("mul")})});
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"output spec 0 (user output) names '%relu', but the graph returns '%mul' at its position"});
  program.graph().outputNode().setArgs({Arg::tuple({nullptr})});
  EXPECT_EQ(
      signatureMessages(program),
      Messages{"output spec 0 (user output) names '%relu', but the graph returns None at its position"});
  program.graph().outputNode().setArgs({Arg::tuple({Arg::list({*program.graph().find("relu")})})});
  EXPECT_EQ(signatureMessages(program),
            Messages{"output spec 0 (user output) names '%relu', but the graph returns a list of 1 "
                     "items at its position"});
}

TEST(CheckSignature, ConstantResultsAreComparedByValue) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  for (ConstantScalar value :
       {ConstantScalar(int64_t{1}), ConstantScalar(true), ConstantScalar(0.0),
        ConstantScalar(std::string("sum")), ConstantScalar(), ConstantScalar(int64_t{1})}) {
    builder.constantOutput(value);
  }
  ExportedProgram program = builder.finish();
  EXPECT_EQ(signatureMessages(program), Messages());
  program.graph().outputNode().setArgs({Arg::tuple({2, 1, -0.0, "mean", 0, x})});
  EXPECT_EQ(signatureMessages(program),
            (Messages{"output spec 0 (user output) is the constant 1, but the graph returns 2",
                      "output spec 1 (user output) is the constant True, but the graph returns 1",
                      "output spec 2 (user output) is the constant 0.0, but the graph returns -0.0",
                      "output spec 3 (user output) is the constant 'sum', but the graph returns 'mean'",
                      "output spec 4 (user output) is the constant None, but the graph returns 0",
                      "output spec 5 (user output) is the constant 1, but the graph returns '%x'"}));
}

TEST(CheckSignature, TargetsThatNoInputHolds) {
  ExportedProgram program = everyKind();
  program.signature.outputs[1].target = "fc.weight";  // a parameter, no buffer
  program.signature.outputs[2].target = "keys";
  program.signature.outputs[3].target = "p_fc_weight";
  program.signature.outputs[6].target = "gone";
  program.signature.outputs[7].target = "gone";
  EXPECT_EQ(
      signatureMessages(program),
      (Messages{
          "output spec 1 (mutation of buffer \"fc.weight\") names a buffer that no input spec holds",
          "output spec 2 (mutation of parameter \"keys\") names a parameter that no input spec holds",
          "output spec 3 (mutation of user input \"p_fc_weight\") names a user input that no input spec "
          "holds",
          "output spec 6 (gradient to parameter \"gone\") names a parameter that no input spec holds",
          "output spec 7 (gradient to user input \"gone\") names a user input that no input spec holds"}));
}

TEST(CheckSignature, OneNodeMayBeTwoMutations) {
  ProgramBuilder builder;
  Node& a = builder.buffer("a", sampleTensor({2}));
  builder.buffer("b", sampleTensor({2}));
  Node& add = builder.call("aten.add.Tensor", {a, 1}, tensorValue({2}));
  builder.result(OutputKind::BufferMutation, add, "a");
  builder.result(OutputKind::BufferMutation, add, "b");
  builder.userOutput(add);
  EXPECT_EQ(signatureMessages(builder.finish()), Messages());
}

TEST(CheckSignature, APlaceholderMayBeAMutation) {
  ProgramBuilder builder;
  builder.buffer("k", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.result(OutputKind::BufferMutation, x, "k");
  EXPECT_EQ(signatureMessages(builder.finish()), Messages());
}

TEST(CheckSignature, MutationAfterAUserOutput) {
  ProgramBuilder builder;
  Node& k = builder.buffer("k", sampleTensor({2}));
  Node& add = builder.call("aten.add.Tensor", {k, 1}, tensorValue({2}));
  builder.userOutput(add);
  builder.result(OutputKind::BufferMutation, add, "k");
  EXPECT_EQ(
      signatureMessages(builder.finish()),
      Messages{"output spec 1 (mutation of buffer \"k\") stands after output spec 0 (user output), expected "
               "tokens first, then mutations, then all others"});
}

TEST(CheckSignature, TokenAfterAMutation) {
  ProgramBuilder builder;
  Node& token = builder.token("token");
  Node& k = builder.buffer("k", sampleTensor({2}));
  builder.result(OutputKind::BufferMutation, k, "k");
  builder.result(OutputKind::Token, token);
  EXPECT_EQ(signatureMessages(builder.finish()).size(), 1u);
}

TEST(CheckSignature, TokensMustComeBack) {
  ProgramBuilder builder;
  builder.token("token");
  builder.userOutput(builder.userInput("x", tensorValue({2})));
  EXPECT_EQ(signatureMessages(builder.finish()),
            Messages{"expected as many token outputs as token inputs, found 0 for 1"});
}

TEST(CheckSignature, ReportsEveryViolation) {
  ExportedProgram program = tinyProgram();
  program.stateDict() = TensorTable();
  program.signature.inputs[1].persistent.reset();
  program.signature.inputs[2].arg.name = "y";
  program.signature.outputs[0].arg.name = "z";
  EXPECT_EQ(signatureMessages(program).size(), 4u);
}

}  // namespace
}  // namespace edgefx

#include <edgefx/program/signature.h>

#include <gtest/gtest.h>

#include <limits>

namespace edgefx {
namespace {

InputSpec input(InputKind kind, std::string name, std::optional<std::string> target = {},
                std::optional<bool> persistent = {}) {
  InputSpec spec;
  spec.kind = kind;
  spec.arg.name = std::move(name);
  spec.target = std::move(target);
  spec.persistent = persistent;
  return spec;
}

OutputSpec output(OutputKind kind, std::string name, std::optional<std::string> target = {}) {
  OutputSpec spec;
  spec.kind = kind;
  spec.arg.name = std::move(name);
  spec.target = std::move(target);
  return spec;
}

SpecArg constant(std::string name, ConstantScalar value) {
  SpecArg arg;
  arg.kind = SpecArgKind::Constant;
  arg.name = std::move(name);
  arg.value = std::move(value);
  return arg;
}

InputSpec userConstant(std::string name, ConstantScalar value) {
  InputSpec spec;
  spec.arg = constant(std::move(name), std::move(value));
  return spec;
}

OutputSpec constantResult(ConstantScalar value) {
  OutputSpec spec;
  spec.arg = constant("", std::move(value));
  return spec;
}

GraphSignature signatureOfEveryKind() {
  GraphSignature signature;
  signature.inputs = {input(InputKind::Token, "token"),
                      input(InputKind::Parameter, "p_w", "fc.w"),
                      input(InputKind::Buffer, "b_k", "k", true),
                      input(InputKind::Buffer, "b_n", "n", false),
                      input(InputKind::ConstantTensor, "c_0", "lifted_0"),
                      input(InputKind::CustomObject, "obj", "queue"),
                      input(InputKind::UserInput, "x")};
  signature.outputs = {output(OutputKind::Token, "getitem"),
                       output(OutputKind::BufferMutation, "add", "k"),
                       output(OutputKind::ParameterMutation, "sub", "fc.w"),
                       output(OutputKind::UserInputMutation, "mul", "x"),
                       output(OutputKind::LossOutput, "loss"),
                       output(OutputKind::UserOutput, "relu"),
                       constantResult(int64_t{5}),
                       output(OutputKind::GradientToParameter, "g1", "fc.w"),
                       output(OutputKind::GradientToUserInput, "g2", "x")};
  return signature;
}

TEST(SignatureText, SectionsListOneSpecALine) {
  EXPECT_EQ(text(signatureOfEveryKind()),
            "\n# inputs\n"
            "token: TOKEN\n"
            "p_w: PARAMETER target='fc.w'\n"
            "b_k: BUFFER target='k' persistent=True\n"
            "b_n: BUFFER target='n' persistent=False\n"
            "c_0: CONSTANT_TENSOR target='lifted_0'\n"
            "obj: CUSTOM_OBJ target='queue'\n"
            "x: USER_INPUT\n"
            "\n# outputs\n"
            "getitem: TOKEN\n"
            "add: BUFFER_MUTATION target='k'\n"
            "sub: PARAMETER_MUTATION target='fc.w'\n"
            "mul: USER_INPUT_MUTATION target='x'\n"
            "loss: LOSS_OUTPUT\n"
            "relu: USER_OUTPUT\n"
            ": USER_OUTPUT\n"
            "g1: GRADIENT_TO_PARAMETER target='fc.w'\n"
            "g2: GRADIENT_TO_USER_INPUT target='x'\n");
}

TEST(SignatureText, SectionsOfAnEmptySignatureKeepTheirHeads) {
  EXPECT_EQ(text(GraphSignature()), "\n# inputs\n\n\n# outputs\n\n");
}

TEST(SignatureText, SectionsDoNotEscapeTargets) {
  GraphSignature signature;
  signature.inputs = {input(InputKind::Buffer, "b_it_s", "it's", true)};
  EXPECT_EQ(text(signature), "\n# inputs\nb_it_s: BUFFER target='it's' persistent=True\n\n# outputs\n\n");
}

TEST(SignatureText, DataClassesPrintFieldsAsRepr) {
  GraphSignature signature;
  signature.inputs = {input(InputKind::Parameter, "p_w", "fc.w"),
                      input(InputKind::Buffer, "b_it_s", "it's", false), input(InputKind::UserInput, "x")};
  signature.outputs = {output(OutputKind::BufferMutation, "add", "größe"),
                       output(OutputKind::UserOutput, "relu")};
  EXPECT_EQ(
      text(signature, SignatureStyle::DataClass),
      "ExportGraphSignature(input_specs=["
      "InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='fc.w', "
      "persistent=None), "
      "InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_it_s'), target=\"it's\", "
      "persistent=False), "
      "InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='x'), target=None, "
      "persistent=None)], "
      "output_specs=["
      "OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='add'), target='größe'), "
      "OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='relu'), target=None)])");
  EXPECT_EQ(text(GraphSignature(), SignatureStyle::DataClass),
            "ExportGraphSignature(input_specs=[], output_specs=[])");
}

std::string dataClassArg(const SpecArg& arg) {
  GraphSignature signature;
  signature.inputs.emplace_back();
  signature.inputs[0].arg = arg;
  std::string all = text(signature, SignatureStyle::DataClass);
  size_t start = all.find("arg=") + 4;
  return all.substr(start, all.find(", target=") - start);
}

TEST(SignatureText, DataClassesNameTheKindOfEveryArgument) {
  SpecArg arg;
  arg.name = "n";
  arg.kind = SpecArgKind::SymInt;
  EXPECT_EQ(dataClassArg(arg), "SymIntArgument(name='n')");
  arg.kind = SpecArgKind::SymFloat;
  EXPECT_EQ(dataClassArg(arg), "SymFloatArgument(name='n')");
  arg.kind = SpecArgKind::SymBool;
  EXPECT_EQ(dataClassArg(arg), "SymBoolArgument(name='n')");
  arg.kind = SpecArgKind::Token;
  EXPECT_EQ(dataClassArg(arg), "TokenArgument(name='n')");
  arg.kind = SpecArgKind::CustomObject;
  arg.className = "__torch__.Queue";
  EXPECT_EQ(dataClassArg(arg), "CustomObjArgument(name='n', class_fqn='__torch__.Queue', fake_val=None)");
}

TEST(SignatureText, DataClassesPrintConstantsAsPythonDoes) {
  EXPECT_EQ(dataClassArg(constant("n", int64_t{-7})), "ConstantArgument(name='n', value=-7)");
  EXPECT_EQ(dataClassArg(constant("n", true)), "ConstantArgument(name='n', value=True)");
  EXPECT_EQ(dataClassArg(constant("n", false)), "ConstantArgument(name='n', value=False)");
  EXPECT_EQ(dataClassArg(constant("n", 1e-5)), "ConstantArgument(name='n', value=1e-05)");
  EXPECT_EQ(dataClassArg(constant("n", 2.0)), "ConstantArgument(name='n', value=2.0)");
  EXPECT_EQ(dataClassArg(constant("n", -std::numeric_limits<double>::infinity())),
            "ConstantArgument(name='n', value=-inf)");
  EXPECT_EQ(dataClassArg(constant("", {})), "ConstantArgument(name='', value=None)");
  EXPECT_EQ(dataClassArg(constant("n", std::string("a\n'b'"))),
            "ConstantArgument(name='n', value=\"a\\n'b'\")");
}

// torch 2.6 had no parameter mutations: the kinds after them were numbered one lower.
TEST(SignatureText, DataClassesUseTheNumbersOfTheirReleases) {
  GraphSignature signature;
  signature.outputs = {output(OutputKind::GradientToParameter, "a"),
                       output(OutputKind::UserInputMutation, "b"), output(OutputKind::Token, "c")};
  std::string all = text(signature, SignatureStyle::DataClass);
  EXPECT_NE(all.find("<OutputKind.GRADIENT_TO_PARAMETER: 4>"), std::string::npos) << all;
  EXPECT_NE(all.find("<OutputKind.USER_INPUT_MUTATION: 6>"), std::string::npos) << all;
  EXPECT_NE(all.find("<OutputKind.TOKEN: 7>"), std::string::npos) << all;
}

TEST(Signature, MutationsAreKnown) {
  EXPECT_TRUE(isMutation(OutputKind::BufferMutation));
  EXPECT_TRUE(isMutation(OutputKind::ParameterMutation));
  EXPECT_TRUE(isMutation(OutputKind::UserInputMutation));
  EXPECT_FALSE(isMutation(OutputKind::GradientToParameter));
  EXPECT_FALSE(isMutation(OutputKind::Token));
}

TEST(Signature, FindInputGoesByNodeName) {
  GraphSignature signature = signatureOfEveryKind();
  ASSERT_NE(signature.findInput("b_n"), nullptr);
  EXPECT_EQ(signature.findInput("b_n")->target, "n");
  EXPECT_EQ(signature.findInput("n"), nullptr);
}

TEST(Signature, RenameReachesInputsOutputsAndTargetsThatNameInputs) {
  GraphSignature signature = signatureOfEveryKind();
  signature.outputs.push_back(output(OutputKind::UserOutput, "x"));
  signature.renameNode("x", "y");
  EXPECT_EQ(signature.inputs[6].arg.name, "y");
  EXPECT_EQ(signature.outputs[3].target, "y");
  EXPECT_EQ(signature.outputs[8].target, "y");
  EXPECT_EQ(signature.outputs[9].arg.name, "y");
}

TEST(Signature, RenameLeavesTargetsThatNameTensors) {
  GraphSignature signature = signatureOfEveryKind();
  signature.renameNode("k", "other");
  EXPECT_EQ(signature, signatureOfEveryKind());
}

TEST(Signature, RenameTakesANameOutOfTheSignatureItself) {
  GraphSignature signature = signatureOfEveryKind();
  signature.renameNode(signature.inputs[6].arg.name, "a_name_too_long_for_the_small_buffer");
  EXPECT_EQ(signature.outputs[3].target, "a_name_too_long_for_the_small_buffer");
}

TEST(Signature, RenameOutputLeavesInputs) {
  GraphSignature signature;
  signature.inputs = {input(InputKind::UserInput, "x")};
  signature.outputs = {output(OutputKind::UserOutput, "x"), output(OutputKind::UserOutput, "relu")};
  signature.renameOutput("x", "clone");
  EXPECT_EQ(signature.inputs[0].arg.name, "x");
  EXPECT_EQ(signature.outputs[0].arg.name, "clone");
  EXPECT_EQ(signature.outputs[1].arg.name, "relu");
}

TEST(Signature, RenameLeavesConstantResults) {
  GraphSignature signature;
  signature.outputs = {constantResult(int64_t{1})};
  signature.renameOutput("", "x");
  EXPECT_EQ(signature.outputs[0].arg.name, "");
}

TEST(Signature, EqualityLooksAtConstantValues) {
  EXPECT_EQ(userConstant("n", int64_t{1}), userConstant("n", int64_t{1}));
  EXPECT_FALSE(userConstant("n", int64_t{1}) == userConstant("n", 1.0));
}

TEST(SignatureIndex, FindsByNameAndByTargetOfAKind) {
  GraphSignature signature = signatureOfEveryKind();
  signature.inputs.push_back(input(InputKind::ConstantTensor, "c_k", "k"));
  SignatureIndex index(signature);
  EXPECT_EQ(index.findInput("p_w"), &signature.inputs[1]);
  EXPECT_EQ(index.findInput("fc.w"), nullptr);
  EXPECT_EQ(index.findTarget(InputKind::Buffer, "k"), &signature.inputs[2]);
  EXPECT_EQ(index.findTarget(InputKind::ConstantTensor, "k"), &signature.inputs[7]);
  EXPECT_EQ(index.findTarget(InputKind::Parameter, "k"), nullptr);
  EXPECT_EQ(index.findTarget(static_cast<InputKind>(9), "k"), nullptr);
}

TEST(SignatureIndex, TiedWeightsFindTheirFirstInput) {
  GraphSignature signature;
  signature.inputs = {input(InputKind::Parameter, "p_a", "w"), input(InputKind::Parameter, "p_b", "w")};
  EXPECT_EQ(SignatureIndex(signature).findTarget(InputKind::Parameter, "w"), &signature.inputs[0]);
}

}  // namespace
}  // namespace edgefx

#include <edgefx/backend/op_backend.h>
#include <edgefx/ir/fx_text.h>
#include <edgefx/manager/edge_program_manager.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/rewrite/rules.h>
#include <edgefx/run/verify_lowering.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace edgefx {
namespace {

using patterns::any;
using patterns::equals;
using patterns::op;
using patterns::optional;
using patterns::rest;
using test::ProgramBuilder;
using test::sampleTensor;
using test::tensorValue;
using test::tinyProgram;

at::Tensor packRows(const at::Tensor& weight) {
  return weight.t().contiguous();
}

// The sketch of a backend for a new kernel library.
class Npu8 final : public OpBackend {
 public:
  std::string_view name() const override { return "npu8"; }

  ExportedProgram lower(ExportedProgram program, std::string_view /*method*/) const override {
    ProgramRewriter rw(program);  // graph, signature, state dict and constants, edited as one
    RuleSet rules;

    // 1. Retarget: same arguments, another operator.
    rw.retarget("aten.relu.default", "npu8.relu.default");

    // 2. dequantize -> linear -> quantize becomes one kernel that reads a packed constant.
    const Pattern dq = op("quantized_decomposed.dequantize_per_tensor.default", any("x"), rest("xq"));
    const Pattern fc = op("aten.linear.default", dq.singleUse(), patterns::constant("w"), optional("bias"));
    const Pattern q = op("quantized_decomposed.quantize_per_tensor.default", fc.singleUse(), rest("yq"));
    rules.add("fuse-linear", q.as("out"), [](const Match& m, ProgramRewriter& rw) {
      Node& weight = m["w"];
      if (rw.tensor(weight).scalar_type() != at::kFloat) return m.decline("the weight is not float32");
      Node& packed = rw.addConstant("w_packed", packRows(rw.tensor(weight)));
      Node& fused = rw.call("npu8.linear.default",
                            {m["x"], packed, m.argOr("bias", nullptr), m.arg("xq", 0), m.arg("yq", 0)});
      return rw.replace(m["out"], fused);  // users, graph outputs, signature, metadata
    });

    // 3. Layout: a permute before and after each convolution.
    rules.add("conv-nhwc", op("npu8.conv.default", any("x"), rest("more")).as("conv"),
              [](const Match& m, ProgramRewriter& rw) {
                Node& nhwc = rw.call("aten.permute_copy.default", {m["x"], {0, 2, 3, 1}});
                rw.setArg(m["conv"], 0, nhwc);
                rw.retarget(m["conv"], "npu8.conv_nhwc.default");
                return rw.replace(m["conv"], rw.call("aten.permute_copy.default", {m["conv"], {0, 3, 1, 2}}));
              });
    rules.run(rw);  // topological order, to a fixed point, bounded; names the rule that does not settle

    // 4. What nobody reads now: placeholders with their specs and tensors.
    rw.eraseDeadInputs({InputKind::Parameter, InputKind::Buffer, InputKind::ConstantTensor});
    return program;
  }
};

ExportedProgram quantizedProgram() {
  ProgramBuilder builder;
  Node& w = builder.parameter("fc.weight", sampleTensor({3, 4}));
  Node& bias = builder.parameter("fc.bias", sampleTensor({3}));
  Node& conv = builder.parameter("conv.weight", sampleTensor({2, 2, 1, 1}));
  Node& x = builder.userInput("x", tensorValue({2, 4}, Dtype::Int8));
  Node& image = builder.userInput("image", tensorValue({1, 2, 5, 5}));
  Node& dq = builder.call("quantized_decomposed.dequantize_per_tensor.default",
                          {x, 0.1, 0, -128, 127, Dtype::Int8}, tensorValue({2, 4}), "dq");
  Node& fc = builder.call("aten.linear.default", {dq, w, bias}, tensorValue({2, 3}), "linear");
  builder.userOutput(builder.call("quantized_decomposed.quantize_per_tensor.default",
                                  {fc, 0.2, 0, -128, 127, Dtype::Int8}, tensorValue({2, 3}, Dtype::Int8),
                                  "q"));
  Node& y = builder.call("npu8.conv.default", {image, conv}, tensorValue({1, 2, 5, 5}), "conv");
  builder.userOutput(builder.call("aten.relu.default", {y}, tensorValue({1, 2, 5, 5})));
  return builder.finish();
}

TEST(Rules, ABackendForANewKernelLibrary) {
  const EdgeProgramManager lowered = EdgeProgramManager(quantizedProgram()).toOpBackend(Npu8());
  const ExportedProgram& program = lowered.exportedProgram();
  std::vector<std::string> lines;
  for (const Node& node : program.graph().nodes()) {
    if (node.isCall())
      lines.push_back(node.text().substr(0, node.text().find(" : ")) + " " +
                      std::string(node.target().name()));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "%linear_default npu8.linear.default",
                       "%permute_copy_default aten.permute_copy.default", "%conv npu8.conv_nhwc.default",
                       "%permute_copy_default_1 aten.permute_copy.default", "%relu npu8.relu.default"}));
  std::vector<std::string> inputs;
  for (const InputSpec& spec : program.signature.inputs) inputs.push_back(spec.arg.name);
  EXPECT_EQ(inputs, (std::vector<std::string>{"p_fc_bias", "p_conv_weight", "w_packed", "x", "image"}));
  EXPECT_EQ(program.constants().find("w_packed")->tensor().size(0), 4);
  EXPECT_FALSE(program.stateDict().contains("fc.weight"));
  const Node& fused = *program.graph().find("linear_default");
  EXPECT_EQ(fused.args().size(), 5u);
  EXPECT_EQ(fused.value()->text(), "int8[2, 3]");
}

// x, then `length` times neg.
ExportedProgram negations(int length) {
  ProgramBuilder builder;
  Node* value = &builder.userInput("x", tensorValue({2}));
  for (int i = 0; i < length; ++i) value = &builder.call("aten.neg.default", {*value}, tensorValue({2}));
  builder.userOutput(builder.call("aten.abs.default", {*value}, tensorValue({2})));
  return builder.finish();
}

RuleSet doubleNegation() {
  RuleSet rules;
  rules.add("double-neg", op("aten.neg.default", op("aten.neg.default", any("x"))),
            [](const Match& m, ProgramRewriter& rw) { return rw.replace(m.root(), m["x"]); });
  return rules;
}

TEST(Rules, RunToAFixedPointAndCount) {
  for (const int length : {0, 1, 2, 7, 1000}) {
    const ExportedProgram before = negations(length);
    ExportedProgram program = before.clone();
    RuleSet rules = doubleNegation();
    ProgramRewriter rewriter(program);
    EXPECT_EQ(rules.run(rewriter), static_cast<size_t>(length / 2));
    EXPECT_EQ(program.graph().size(), 3u + static_cast<size_t>(length % 2));
    EXPECT_EQ(rules.rules()[0].changed, static_cast<size_t>(length / 2));
    EXPECT_EQ(rules.run(rewriter), 0u);
    EXPECT_TRUE(verifyLowering(before, program).agrees());
    EXPECT_TRUE(checkProgram(program).empty());
  }
}

TEST(Rules, CanBeSwitchedOffAndAreListed) {
  ExportedProgram program = negations(4);
  RuleSet rules = doubleNegation();
  rules.setEnabled("double-neg", false);
  ProgramRewriter rewriter(program);
  EXPECT_EQ(rules.run(rewriter), 0u);
  EXPECT_FALSE(rules.rules()[0].isEnabled);
  EXPECT_THROW(rules.setEnabled("other", true), UsageError);
  EXPECT_THROW(rules.add("double-neg", op("aten.neg.default", any("x")),
                         [](const Match& m, ProgramRewriter&) { return m.decline("no"); }),
               UsageError);
  EXPECT_THROW(rules.add("no-op", any("x"), [](const Match& m, ProgramRewriter&) { return m.decline("no"); }),
               UsageError);
}

TEST(Rules, ARuleThatDoesNotSettleIsNamed) {
  ExportedProgram program = negations(1);
  RuleSet rules;
  rules.add("for-ever", op("aten.neg.default", any("x")), [](const Match& m, ProgramRewriter& rw) {
    return rw.replace(m.root(), rw.call("aten.neg.default", {m["x"]}));
  });
  ProgramRewriter rewriter(program);
  try {
    rules.run(rewriter);
    FAIL() << "it went on for ever";
  } catch (const LoweringError& error) {
    EXPECT_EQ(error.diagnostics()[0].rule, "for-ever");
    EXPECT_NE(std::string(error.what()).find("does not settle"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(checkProgram(program).empty());
}

TEST(Rules, FaultsNameRuleAndNode) {
  ExportedProgram program = negations(1);
  RuleSet rules;
  rules.add("bad-data", op("aten.neg.default", any("x")), [](const Match&, ProgramRewriter& rw) {
    rw.addConstant("packed", at::Tensor());
    return RuleResult::changed();
  });
  ProgramRewriter rewriter(program);
  try {
    rules.run(rewriter);
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rule 'bad-data', node '%neg'"), std::string::npos) << text;
    EXPECT_NE(text.find("'packed' is an undefined tensor"), std::string::npos) << text;
  }
}

// add(mul(x, 2), y), twice
ExportedProgram sums() {
  ProgramBuilder builder;
  Node& w = builder.parameter("w", sampleTensor({2}));
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& y = builder.userInput("y", tensorValue({2}));
  Node& twice = builder.call("aten.mul.Tensor", {x, 2}, tensorValue({2}), "twice");
  Node& left = builder.call("aten.add.Tensor", {twice, y}, tensorValue({2}), "left");
  Node& right = builder.call("aten.add.Tensor", {y, twice}, tensorValue({2}), "right");
  builder.userOutput(left);
  builder.userOutput(right);
  builder.userOutput(builder.call("aten.add.Tensor", {x, w}, tensorValue({2}), "weighted"));
  return builder.finish();
}

std::string explained(const Pattern& pattern, const char* node, const ExportedProgram& program) {
  RuleSet rules;
  rules.add("r", pattern, [](const Match& m, ProgramRewriter&) { return m.decline("only asked"); });
  return rules.explain("r", *program.graph().find(node), program);
}

void expectWhy(const Pattern& pattern, const char* node, std::string_view why) {
  const ExportedProgram program = sums();
  const std::string text = explained(pattern, node, program);
  EXPECT_NE(text.find(why), std::string::npos) << text;
}

TEST(Rules, SayWhyTheyDoNotMatch) {
  const Pattern twice = op("aten.mul.Tensor", any("x"), equals(2));
  expectWhy(op("aten.add.Tensor", twice, any("y")), "left", "matches '%left'");
  expectWhy(op("aten.add.Tensor", twice, any("y")), "right",
            "'%y' calls nothing, not aten.mul.Tensor (operand 0");
  expectWhy(op("aten.add.Tensor", twice, any("y")).commutative(), "right", "matches '%right'");
  expectWhy(op("aten.sub.Tensor", any("a"), any("b")), "left",
            "'%left' calls aten.add.Tensor, not aten.sub.Tensor");
  expectWhy(op("aten.add.Tensor", twice.singleUse(), any("y")), "left", "'%twice' has 2 users, not one");
  expectWhy(op("aten.mul.Tensor", any("x"), equals(3)), "twice", "expected another literal");
  expectWhy(op("aten.mul.Tensor", any("x"), any("y")), "twice", "expected a node");
  expectWhy(op("aten.mul.Tensor", any("x")), "twice", "'%twice' has 2 operands, not 1");
  expectWhy(op("aten.mul.Tensor", any("x"), equals(2), any("z")), "twice", "there is no such operand");
  expectWhy(op("aten.mul.Tensor", any("x"), equals(2), optional("z")), "twice", "matches '%twice'");
  expectWhy(op("aten.mul", any("x"), rest("more")), "twice", "matches '%twice'");
  expectWhy(op("aten.mul", any("x").dtype(Dtype::Int8), rest("more")), "twice",
            "no tensor of dtype torch.int8");
  expectWhy(op("aten.mul", any("x").rank(1), rest("more")), "twice", "matches");
  expectWhy(op("aten.mul", any("x").rank(2), rest("more")), "twice", "no tensor of 2 dimensions");
  expectWhy(op("aten.add.Tensor", any("x"), patterns::constant("w")), "weighted", "matches");
  expectWhy(op("aten.add.Tensor", any("x"), patterns::constant("w")), "left",
            "'%y' is no constant of the program");
  expectWhy(op("aten.add.Tensor", any("same"), any("same")), "left",
            "'same' would be both '%twice' and '%y'");
  expectWhy(op({"aten.sub.Tensor", "aten.add.Tensor"}, {any("a"), any("b")}), "left", "matches");
}

// q, k and v of one x, among nodes that keep them apart.
ExportedProgram projections(bool dependent) {
  ProgramBuilder builder;
  std::vector<Node*> weights;
  for (const char* name : {"wq", "wk", "wv"})
    weights.push_back(&builder.parameter(name, sampleTensor({4, 4})));
  Node& x = builder.userInput("x", tensorValue({2, 4}));
  Node& other = builder.call("aten.neg.default", {x}, tensorValue({2, 4}), "other");
  Node& q = builder.call("aten.linear.default", {x, *weights[0]}, tensorValue({2, 4}), "q");
  Node& scaled = builder.call("aten.mul.Tensor", {q, other}, tensorValue({2, 4}), "scaled");
  Node& k =
      builder.call("aten.linear.default", {dependent ? scaled : x, *weights[1]}, tensorValue({2, 4}), "k");
  Node& v = builder.call("aten.linear.default", {x, *weights[2]}, tensorValue({2, 4}), "v");
  Node& sum = builder.call("aten.add.Tensor", {scaled, k}, tensorValue({2, 4}), "sum");
  builder.userOutput(builder.call("aten.add.Tensor", {sum, v}, tensorValue({2, 4}), "all"));
  return builder.finish();
}

Pattern projection(const char* input, const char* weight) {
  return op("aten.linear.default", any(input), patterns::constant(weight));
}

// One matrix product and three slices of it.
RuleSet fuseProjections() {
  RuleSet rules;
  rules.add("fuse-qkv", projection("x", "wq").beside(projection("x", "wk")).beside(projection("x", "wv")),
            [](const Match& m, ProgramRewriter& rw) {
              Node& weight = rw.addConstant(
                  "wqkv", at::cat({rw.tensor(m["wq"]), rw.tensor(m["wk"]), rw.tensor(m["wv"])}));
              Node& all = rw.call("aten.linear.default", {m["x"], weight});
              std::vector<Node*> parts;
              for (int i = 0; i < 3; ++i)
                parts.push_back(&rw.call("aten.slice.Tensor", {all, 1, 4 * i, 4 * i + 4}));
              RuleResult result = RuleResult::changed();
              for (size_t i = 0; i < 3; ++i) result = rw.replace(*m.roots()[i], *parts[i]);
              return result;
            });
  return rules;
}

TEST(Rules, OnePatternMayHaveSeveralRoots) {
  const ExportedProgram before = projections(false);
  ExportedProgram program = before.clone();
  RuleSet rules = fuseProjections();
  ProgramRewriter rewriter(program);
  EXPECT_EQ(rules.run(rewriter), 1u);
  rewriter.eraseDeadInputs();
  size_t linears = 0;
  for (const Node& node : program.graph().nodes())
    linears += node.callsOperator("aten.linear.default") ? 1 : 0;
  EXPECT_EQ(linears, 1u) << fxText(program.graph());
  for (const Diagnostic& violation : checkProgram(program)) ADD_FAILURE() << violation.render();
  const VerifyReport report = verifyLowering(before, program);
  EXPECT_TRUE(report.agrees()) << report.text();
}

TEST(Rules, RootsThatDependOnEachOtherAreNotTakenTogether) {
  ExportedProgram program = projections(true);
  RuleSet rules = fuseProjections();
  const std::string why = rules.explain("fuse-qkv", *program.graph().find("q"), program);
  EXPECT_NE(why.find("no call of aten.linear.default beside '%q' matches"), std::string::npos) << why;
}

TEST(Rules, AnInputBehindTheFirstRootKeepsRootsApart) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& sum = builder.call("aten.add.Tensor", {x, 1}, tensorValue({2}), "front");
  Node& late = builder.call("aten.mul.Tensor", {sum, 2}, tensorValue({2}), "late");
  Node& product = builder.call("aten.sub.Tensor", {x, late}, tensorValue({2}), "product");
  builder.userOutput(product);
  const ExportedProgram program = builder.finish();
  const std::string why =
      explained(op("aten.add.Tensor", any("x"), equals(1)).beside(op("aten.sub.Tensor", any("x"), any("y"))),
                "front", program);
  EXPECT_NE(why.find("'%late', which '%product' reads, stands behind '%front'"), std::string::npos) << why;
}

TEST(Rules, RootsKeepTheirPlacesWhereSomethingIsWritten) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.call("aten.neg.default", {x}, tensorValue({2}), "front");
  builder.call("aten.add_.Tensor", {x, 1}, tensorValue({2}), "write");
  builder.userOutput(builder.call("aten.abs.default", {x}, tensorValue({2}), "back"));
  const ExportedProgram program = builder.finish();
  const std::string why =
      explained(op("aten.neg.default", any("a")).beside(op("aten.abs.default", any("a"))), "front", program);
  EXPECT_NE(why.find("writes in place"), std::string::npos) << why;
}

TEST(Rules, PatternsOfSeveralRootsAreLookedForBesideASharedNode) {
  EXPECT_THROW(op("aten.add.Tensor", any("a"), any("b")).beside(op("aten.neg.default", any("c"))),
               UsageError);
  EXPECT_THROW(op("aten.add.Tensor", any("a"), any("b")).beside(any("a")), UsageError);
  const Pattern two = op("aten.neg.default", any("a")).beside(op("aten.abs.default", any("a")));
  EXPECT_THROW(op("aten.add.Tensor", two, any("b")), UsageError);
  EXPECT_THROW(patterns::optional(two), UsageError);
  // x has many users, and two of them fit.
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  for (int i = 0; i < 1000; ++i) builder.call("aten.neg.default", {x}, tensorValue({2}));
  builder.userOutput(builder.call("aten.abs.default", {x}, tensorValue({2}), "far"));
  const ExportedProgram program = builder.finish();
  EXPECT_NE(explained(two, "neg", program).find("no call of aten.abs.default beside"), std::string::npos);
  EXPECT_NE(
      explained(op("aten.abs.default", any("a")).beside(op("aten.neg.default", any("a"))), "far", program)
          .find("matches '%far'"),
      std::string::npos);
}

TEST(Rules, DeclinedMatchesAreCountedAndChangeNothing) {
  ExportedProgram program = negations(2);
  RuleSet rules;
  rules.add("shy", op("aten.neg.default", any("x")),
            [](const Match& m, ProgramRewriter&) { return m.decline("not today"); });
  ProgramRewriter rewriter(program);
  EXPECT_EQ(rules.run(rewriter), 0u);
  EXPECT_EQ(rules.rules()[0].matched, 2u);
  EXPECT_EQ(rules.rules()[0].changed, 0u);
}

TEST(Rules, WorkInsideBranchesWithConstantsPassedIn) {
  auto body = std::make_unique<Graph>();
  Node& in = body->placeholder("x");
  in.setValue(tensorValue({2}));
  Node& out = body->call("aten.neg.default", {in});
  out.setValue(tensorValue({2}));
  body->output(Arg::tuple({out}));
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& graph = builder.branch("body", std::move(body));
  Node& call = builder.call("higher_order.invoke_subgraph", {graph, "id", x},
                            ValueMeta::of(ValueMeta::Sequence{{tensorValue({2})}}), "call");
  builder.userOutput(builder.call("operator.getitem", {call, 0}, tensorValue({2}), "getitem"));
  const ExportedProgram before = builder.finish();
  ExportedProgram program = before.clone();
  RuleSet rules;
  rules.add("neg-to-mul", op("aten.neg.default", any("x")), [](const Match& m, ProgramRewriter& rw) {
    Node& minus = rw.addConstant("minus", at::full({1}, -1.0));
    return rw.replace(m.root(), rw.call("aten.mul.Tensor", {m["x"], minus}));
  });
  ProgramRewriter rewriter(program);
  EXPECT_EQ(rules.run(rewriter), 1u);
  EXPECT_TRUE(program.constants().contains("minus"));
  EXPECT_EQ(program.graphModule().findChild("body")->graph().placeholders().size(), 2u);
  for (const Diagnostic& violation : checkProgram(program)) ADD_FAILURE() << violation.render();
  EXPECT_TRUE(verifyLowering(before, program).agrees());
}

TEST(Rules, ARewriterIsBackAtTheTopAfterAFault) {
  auto body = std::make_unique<Graph>();
  Node& in = body->placeholder("x");
  body->output(Arg::tuple({body->call("aten.neg.default", {in})}));
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& graph = builder.branch("body", std::move(body));
  builder.userOutput(builder.call("higher_order.invoke_subgraph", {graph, "id", x}, nullptr, "call"));
  ExportedProgram program = builder.finish();
  RuleSet rules;
  rules.add("bad", op("aten.neg.default", any("x")), [](const Match& m, ProgramRewriter&) {
    static_cast<void>(m["absent"]);
    return RuleResult::changed();
  });
  ProgramRewriter rewriter(program);
  EXPECT_THROW(rules.run(rewriter), UsageError);
  EXPECT_EQ(&rewriter.graph(), &program.graph());
}

}  // namespace
}  // namespace edgefx

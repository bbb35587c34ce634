#include <edgefx/backend/to_backend.h>
#include <edgefx/partition/aoti_partitioner.h>
#include <edgefx/program/check_program.h>
#include <edgefx/program/lowered_module.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/warning.h>

#include "backend/test_delegates.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/program_from_text.h"
#include "support/random_program.h"
#include "support/random_runnable.h"
#include "support/random_tags.h"
#include "support/test_data.h"
#include "text/text_testing.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>

#include <bit>
#include <cstdio>

namespace edgefx::test {
namespace {

TEST(ProgramText, IsReadable) {
  const std::string text = expectTextRoundTrip(tinyProgram());
  EXPECT_EQ(text.substr(0, text.find("settings {")), R"(edgefx text 1

method "forward"(
  %p_weight : f32[4, 4]<grad> parameter "weight",
  %b_scale : f32[4] buffer "scale",
  %x : f32[1, 4]
):
  %linear = aten.linear.default(%x, %p_weight) : f32[1, 4]
  %mul = aten.mul.Tensor(%linear, %b_scale) : f32[1, 4]
  %relu = aten.relu.default(%mul) : f32[1, 4]
  return (%relu,)
state_dict {
  "weight" = parameter f32[4, 4]<grad> [-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75]
  "scale" = f32[4] [-1.0, -0.75, -0.5, -0.25]
}
)");
}

TEST(ProgramText, CanBeWrittenByHand) {
  const ExportedProgram program = programFromText(R"(
    (%w : f32[2] buffer "w", %x : f32[s0, 2]):  # a comment
      %y = aten.add.Tensor(%x, %w, alpha = 2.0) : f32[s0, 2]
      %n = edge.aten.sym_size.int(%y, 0) : SymInt(s0)
      return (%y, %n)
    state_dict { "w" = f32[2] [0.5, -1] }
    ranges { s0 in [2, None] })");
  EXPECT_EQ(program.stateDict().find("w")->tensor()[1].item<float>(), -1);
  EXPECT_EQ(program.signature.outputs[1].arg.kind, SpecArgKind::SymInt);
  EXPECT_EQ(program.graph().find("n")->target(), Target::edge("aten.sym_size.int"));
  EXPECT_EQ(program.graph().find("y")->value()->tensor()->sizes[0].symbolic()->expression.text(),
            "Symbol('s0', positive=True, integer=True)");
  expectTextRoundTrip(program);
}

TEST(ProgramText, KeepsEveryKindOfArgument) {
  ExportedProgram program;
  Graph& graph = program.graph();
  Node& x = graph.placeholder("x");
  Node& odd = graph.placeholder("odd");
  odd.setName("a b\"%\n");
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<Arg> leaves = {
      Arg(),
      true,
      false,
      0,
      std::numeric_limits<int64_t>::min(),
      std::numeric_limits<int64_t>::max(),
      1.0,
      0.1,
      -0.0,
      1e-320,
      1e300,
      inf,
      -inf,
      nan,
      -nan,
      std::bit_cast<double>(uint64_t{0x7ff800000000beef}),
      Arg::complex(-0.0, nan),
      "",
      "a \"b\" \\ \n\t\r \x01 \xff \xc3\xa9 %x #",
      std::string("nul\0nul", 7),
      x,
      odd,
      Arg::list({}),
      Arg::tuple({}),
      Arg::tuple({1}),
      Arg::list({x, Arg(), Arg::list({1, 2})}),
      Arg::dict({{"a b", x}, {"c", Arg::dict({})}}),
      Arg::slice(Arg(), x, 2),
      Arg::range(0, x, 1),
      Arg::ellipsis(),
      SymExpr::parse("2*s0 + 1"),
      SymExpr::symbol("s0"),
      SymExpr::symbol("s0", "integer=True"),
      SymExpr::parse("Max(3, s77)"),
      SymExpr::parse("Integer(5)"),
      Dtype::BFloat16,
      Dtype::Float8E8M0FNU,
      Dtype::Unknown,
      static_cast<Dtype>(99),
      Layout::SparseBsc,
      Layout::Unknown,
      MemoryFormat::ChannelsLast3d,
      MemoryFormat::Contiguous,
      static_cast<MemoryFormat>(7),
      Arg::device("cuda:1"),
      Target("aten.add.Tensor"),
      Target::edge("aten.add.Tensor"),
      Target("aten.add"),
      Target("higher_order.cond"),
      Target("operator.getitem"),
      Target("torch.sym_max"),
      Target("torch.float32"),
      Target("edge.aten.add.Tensor"),
      Target("edge.f"),
      Target("edge.f.g"),
      Target("lonely"),
      Target("a.b-c.d"),
      Target("None"),
  };
  for (const Arg& leaf : leaves)
    graph.call("my.op.default", {leaf, Arg::list({leaf})}, {{"key", leaf}, {"k v", 1}});
  for (const char* target :
       {"aten.add", "higher_order.cond", "operator.getitem", "torch.sym_max", "builtins.round",
        "executorch.exir.memory.alloc", "lonely", "torch.float32", "a.b.c.d.e", "get_attr", "placeholder",
        "edge.aten.add.Tensor", "a.\"b\".c", "#weird"}) {
    graph.call(target, {x});
  }
  graph.call(Target::edge("aten.add.Tensor"), {x, x}, {}, "edge_add");
  graph.output(Arg::list({x, Arg::tuple({odd})}));
  const std::string text = expectTextRoundTrip(program);
  EXPECT_NE(text.find("-0.0"), std::string::npos);
  EXPECT_NE(text.find("nan(\"fff8000000000000\")"), std::string::npos);
}

TEST(ProgramText, KeepsHintsOfListsThatMatter) {
  const ExportedProgram program = parseProgram(R"(edgefx text 1
method m(%x : f32[2]):
  %a = my.op.default(ints[], [], sym_ints[1], tensors[%x], optional_tensors[%x], [1, 2], floats(), ints[1.5])
  return (%x))");
  const Node& node = *program.graph().find("a");
  EXPECT_EQ(node.arg(0).listHint(), ListHint::Ints);
  EXPECT_EQ(node.arg(1).listHint(), ListHint::Any);
  EXPECT_EQ(node.arg(6).kind(), ArgumentKind::Tuple);
  const std::string text = expectTextRoundTrip(program);
  EXPECT_NE(text.find("(ints[], [], sym_ints[1], [%x], optional_tensors[%x], [1, 2], floats(), [1.5])"),
            std::string::npos)
      << text;
}

TEST(ProgramText, KeepsEveryKindOfNode) {
  ExportedProgram program;
  Graph& graph = program.graph();
  Node& x = graph.placeholder("x", "other_name");
  graph.placeholderWithDefault("d", Arg::list({1.5, x}));
  graph.getAttr("a.b");
  graph.callModule("sub.mod", {x}, {{"k", x}});
  graph.call("aten.relu.default", {x}, {}, "output");
  graph.placeholder("late");
  graph.output({x});
  expectTextRoundTrip(program);

  ExportedProgram open;
  open.graph().placeholder("x");
  expectTextRoundTrip(open);
  ExportedProgram strange;
  Node& y = strange.graph().placeholder("y");
  Node& output = strange.graph().output(y);
  output.setArgs({y, y});
  output.setKwargs({{"k", y}});
  expectTextRoundTrip(strange);
  output.setArgs({});
  output.setKwargs({});
  expectTextRoundTrip(strange);
  expectTextRoundTrip(ExportedProgram());
}

TEST(ProgramText, KeepsEveryKindOfValue) {
  const auto symbolic = [](const char* expression, SymHint hint) {
    return Symbolic{SymExpr::parse(expression), hint};
  };
  const auto size = [&](const char* expression, SymHint hint) { return SymInt(symbolic(expression, hint)); };
  const char* const s0 = "Symbol('s0', positive=True, integer=True)";
  std::vector<ValueRef> values = {
      tensorValue({}),
      tensorValue({0, 3}),
      tensorValue({size(s0, int64_t{4}), 3, size(s0, int64_t{4})}),
      tensorValue({size(s0, int64_t{5})}),  // another hint
      tensorValue({size("Symbol('s0', integer=True)", {})}),
      tensorValue({size("s0", {})}),
      tensorValue({size("s1", {})}),
      tensorValue({size("Integer(3)", {})}),
      tensorValue({size("2*s0", int64_t{8}), size("Max(3, s7)", {})}),
      ValueMeta::of(ValueMeta::SymIntValue{SymInt(7)}),
      ValueMeta::of(ValueMeta::SymIntValue{size("s0 // 2", int64_t{2})}),
      ValueMeta::of(ValueMeta::SymFloatValue{2.5}),
      ValueMeta::of(ValueMeta::SymFloatValue{-std::numeric_limits<double>::quiet_NaN()}),
      ValueMeta::of(ValueMeta::SymFloatValue{symbolic("ToFloat(Symbol('s0'))", 2.0)}),
      ValueMeta::of(ValueMeta::SymFloatValue{symbolic("Float('2.5', precision=53)", {})}),
      ValueMeta::of(ValueMeta::SymBoolValue{true}),
      ValueMeta::of(ValueMeta::SymBoolValue{false}),
      ValueMeta::of(ValueMeta::SymBoolValue{symbolic("s0 > 3", true)}),
      ValueMeta::of(ValueMeta::SymBoolValue{symbolic("true", {})}),
      ValueMeta::of(ValueMeta::Token()),
      ValueMeta::of(ValueMeta::CustomObject{"__torch__.Queue \"q\""}),
      ValueMeta::of(ValueMeta::Constant{}),
      ValueMeta::of(ValueMeta::Constant{true}),
      ValueMeta::of(ValueMeta::Constant{int64_t{5}}),
      ValueMeta::of(ValueMeta::Constant{-0.0}),
      ValueMeta::of(ValueMeta::Constant{std::string("text")}),
      ValueMeta::of(ValueMeta::None()),
  };
  TensorMeta tensor = contiguousTensor(Dtype::Float8E5M2FNUZ, {2, 3});
  tensor.strides = {1, 2};
  tensor.storageOffset = size("s0", int64_t{4});
  tensor.device = {"cuda", 1};
  tensor.layout = Layout::SparseCsr;
  tensor.requiresGrad = true;
  values.push_back(ValueMeta::of(tensor));
  tensor = TensorMeta();
  tensor.sizes = {std::numeric_limits<int64_t>::max(), 5, 5};
  values.push_back(ValueMeta::of(tensor));
  ValueMeta::Sequence sequence{{values[1], nullptr, ValueMeta::of(ValueMeta::Sequence{{values[0]}, false})},
                               true};
  values.push_back(ValueMeta::of(sequence));
  values.push_back(ValueMeta::of(ValueMeta::Sequence{}));

  ExportedProgram program;
  Node& x = program.graph().placeholder("x");
  for (const ValueRef& value : values) program.graph().call("aten.relu.default", {x}).setValue(value);
  program.graph().output({x}).setValue(values[2]);
  const std::string text = expectTextRoundTrip(program);
  EXPECT_NE(text.find("symbols {\n  s0 : \"Symbol('s0', positive=True, integer=True)\" hint 4\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" : f32[s0, 3, s0]\n"), std::string::npos) << text;
}

TEST(ProgramText, KeepsMetadata) {
  ExportedProgram program = tinyProgram();
  const std::string trace =
      "File \"m.py\", line 3, in forward\n    return self.relu(x) # a long line of a program\n";
  for (Node& node : program.graph().nodes()) {
    node.editMeta([&](NodeMeta& meta) {
      meta.set("stack_trace", trace);
      meta.set("nn_module_stack", "L__self__,,M;L__self__relu,relu," + std::string(node.name()));
    });
  }
  Node& relu = *program.graph().find("relu");
  relu.editMeta([](NodeMeta& meta) {
    meta.setDebugHandle(3);
    meta.setDelegationTag(std::make_shared<const std::string>("tag \"0\""));
  });
  Node& mul = *program.graph().find("mul");
  mul.setMeta(nullptr);
  mul.editMeta([](NodeMeta& meta) {
    meta.setDebugHandle(-12);
    meta.set("tag", "007");
    meta.set("a key", "");
  });
  program.graphModule().metadata = {{"custom", "text\n"}, {"a b", ""}};
  const std::string text = expectTextRoundTrip(program);
  EXPECT_NE(text.find(" {debug_handle = -12, \"tag\" = \"007\", \"a key\" = \"\"}\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find(" !4 {tag = \"tag \\\"0\\\"\"}\n"), std::string::npos) << text;
  const size_t first = text.find("a long line of a program");
  EXPECT_EQ(text.find("a long line of a program", first + 1), std::string::npos) << "written twice";
}

TEST(ProgramText, KeepsSignaturesOfEveryKind) {
  ProgramBuilder builder;
  Node& token = builder.token("token");
  Node& weight = builder.parameter("w", sampleTensor({4}));
  Node& buffer = builder.buffer("b", sampleTensor({4}));
  Node& temporary = builder.buffer("t", sampleTensor({4}), false);
  builder.constant("c", sampleTensor({4}));
  builder.customObject("queue", "__torch__.Queue");
  Node& x = builder.userInput("x", tensorValue({4}));
  builder.constantInput("k", int64_t{5});
  builder.constantInput("n", std::monostate());
  builder.result(OutputKind::Token, token);
  builder.result(OutputKind::BufferMutation, buffer, "b");
  builder.result(OutputKind::ParameterMutation, weight, "w");
  builder.result(OutputKind::UserInputMutation, x, "x");
  builder.userOutput(temporary);
  builder.result(OutputKind::LossOutput, x);
  builder.result(OutputKind::GradientToParameter, x, "w");
  builder.result(OutputKind::GradientToUserInput, x, "x");
  builder.constantOutput(2.5);
  builder.constantOutput(std::monostate());
  ExportedProgram program = builder.finish();
  const std::string text = expectTextRoundTrip(program);
  EXPECT_EQ(text.find("signature {"), std::string::npos) << text;
  EXPECT_EQ(text.find(" as "), std::string::npos) << text;

  // What does not fit to the graph is written all the same.
  program.signature.inputs[1].persistent = true;
  program.signature.inputs[2].persistent = std::nullopt;
  program.signature.outputs[0].arg.name = "elsewhere";
  program.signature.outputs[1].arg = {SpecArgKind::Constant, "c", "class", std::string("text")};
  EXPECT_EQ(expectTextRoundTrip(program).find("signature {"), std::string::npos);
  program.signature.inputs.pop_back();
  program.signature.outputs.back().arg.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(expectTextRoundTrip(program).find("signature {"), std::string::npos);
}

TEST(ProgramText, KeepsTables) {
  ExportedProgram program = tinyProgram();
  TensorTable& table = program.constants();
  const at::Tensor base = sampleTensor({4, 6});
  table.set("base", base);
  table.set("row", base[1], true);
  table.set("transposed", base.t());
  table.set("again", base);
  table.set("scalar", at::scalar_tensor(2.5, at::kDouble));
  table.set("empty", at::empty({0, 3}));
  table.set("bools", at::ones({3}, at::kBool));
  table.set("long", at::full({2}, std::numeric_limits<int64_t>::min(), at::kLong));
  table.set("half", at::ones({3}, at::kHalf));
  table.set("complex", at::ones({2}, at::kComplexFloat));
  table.set("nans", at::full({2}, std::numeric_limits<double>::quiet_NaN()));
  table.set("large", at::arange(1000));
  table.set("gap", at::arange(10).slice(0, 0, 10, 2));
  StoredTensor onDevice(at::ones({2}).set_requires_grad(true), true);
  onDevice.setDevice({"cuda", 0});
  table.set("device", onDevice);
  table.set("raw", StoredTensor::raw(SharedBytes::copyOf(std::string("\1\0\2\0", 4)),
                                     contiguousTensor(Dtype::UInt16, {2}), false));
  table.set("object",
            StoredTensor::opaque(SharedBytes::copyOf("\x80\x02"), "custom_obj_", std::nullopt, false));
  table.set("pickled", StoredTensor::opaque(SharedBytes::copyOf(""), "weight_",
                                            contiguousTensor(Dtype::Float32, {2}), true));
  program.stateDict().set("shared", base);
  const std::string text = expectTextRoundTrip(program);
  EXPECT_NE(text.find("\"scalar\" = f64[] [2.5]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"row\" = parameter f32[6]<offset 6> @0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"raw\" = u16[2] [1, 2]\n"), std::string::npos) << text;
  const ExportedProgram again = parseProgram(text);
  EXPECT_EQ(again.constants().find("base")->tensor().data_ptr(),
            again.stateDict().find("shared")->tensor().data_ptr());
}

TEST(ProgramText, ElidesLongBytesAndReadsThemAsZerosIfAllowed) {
  ExportedProgram program = tinyProgram();
  program.exampleInputs = SharedBytes::copyOf(std::string(100, 'x'));
  const std::string text = programText(program, {.mostBytes = 63});
  EXPECT_NE(text.find("\"weight\" = parameter f32[4, 4]<grad> elided 64\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\"scale\" = f32[4] [-1.0,"), std::string::npos) << text;
  EXPECT_NE(text.find("example_inputs elided 100\n"), std::string::npos) << text;
  const std::string message = refusalOfText([&] { parseProgram(text, "small.txt"); });
  EXPECT_NE(message.find("64 bytes were left out"), std::string::npos) << message;
  const ExportedProgram zeros = parseProgram(text, "small.txt", {.elidedAreZeros = true});
  EXPECT_EQ(zeros.stateDict().find("weight")->tensor().abs().sum().item<float>(), 0);
  EXPECT_TRUE(zeros.exampleInputs.empty());
  EXPECT_NE(refusalOfText([&] {
              parseProgram(text, "t", {.elidedAreZeros = true, .mostZeros = 63});
            }).find("at most 63 bytes"),
            std::string::npos);
}

TEST(ProgramText, KeepsWhatElseAProgramHas) {
  ExportedProgram program = tinyProgram();
  program.rangeConstraints = {{"s0", 2, std::nullopt}, {"2*u0", std::nullopt, -5}};
  program.moduleCallGraph.push_back({"sub \"mod\"", std::nullopt});
  program.moduleCallGraph[0].signature->forwardArgNames = {"x", "y z"};
  program.namedTupleFields = {{"Point", {"x", "y"}}, {"Empty", {}}};
  program.opsetVersion = {{"aten", 9}, {"my ops", 1}};
  program.schemaVersion = {7, 3};
  program.torchVersion = "2.14.1+cpu";
  program.verifiers = {};
  program.guardsCode = {"a > 0", ""};
  program.dialect = Dialect::Training;
  program.exampleInputs = SharedBytes::copyOf("PK\x03\x04");
  program.unknownMembers = {{"", "\"a\": 1"}, {"graph_module", "\"b\": {}"}};
  program.argumentNames = {{"my.op.default", {"self", "other"}}};
  expectTextRoundTrip(program);
}

TEST(ProgramText, KeepsNestedModulesAndDelegates) {
  for (const ExportedProgram& program : {loweredProgram(), branchedLoweredProgram()}) {
    const std::string text = expectTextRoundTrip(program);
    EXPECT_NE(text.find("\nlowered 0 backend "), std::string::npos) << text;
  }
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    expectTextRoundTrip(randomLoweredProgram(seed));
    if (testing::Test::HasFailure()) break;
  }
}

TEST(ProgramText, KeepsSeveralMethods) {
  std::vector<NamedProgram> methods;
  methods.push_back({"forward", tinyProgram()});
  methods.push_back({"count \"up\"", countingProgram()});
  methods.push_back({"lowered", loweredProgram()});
  methods[1].program.stateDict().set("weight", methods[0].program.stateDict().find("weight")->tensor(), true);
  std::vector<NamedProgramRef> refs;
  for (const NamedProgram& method : methods) refs.push_back({method.name, &method.program});
  const std::string text = programText(refs);
  const std::vector<NamedProgram> again = parsePrograms(text);
  ASSERT_EQ(again.size(), methods.size());
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].name, methods[i].name);
    const auto difference = findContentDifference(methods[i].program, again[i].program);
    EXPECT_FALSE(difference.has_value()) << difference->render();
  }
  EXPECT_EQ(again[0].program.stateDict().find("weight")->tensor().data_ptr(),
            again[1].program.stateDict().find("weight")->tensor().data_ptr());
  EXPECT_NE(refusalOfText([&] { parseProgram(text, "t"); }).find("expected the text of one method, found 3"),
            std::string::npos);
}

TEST(ProgramText, RefusesGraphsThatCannotBeRead) {
  ExportedProgram program = tinyProgram();
  program.graph().find("relu")->setName("mul");
  EXPECT_THROW(programText(program), VerificationError);
  ExportedProgram swapped = tinyProgram();
  swapped.graph().find("relu")->moveBefore(*swapped.graph().find("linear"));
  EXPECT_THROW(programText(swapped), VerificationError);
}

class CorpusText : public testing::Test {
 protected:
  CorpusText() : before_(setWarningHandler({})) {}
  ~CorpusText() override { setWarningHandler(before_); }

 private:
  WarningHandler before_;
};

TEST_F(CorpusText, NothingIsLost) {
  size_t count = 0;
  for (const std::filesystem::path& file : corpusFiles()) {
    SCOPED_TRACE(file.string());
    for (Archive::Model& model : loadArchive(file).models) {
      expectTextRoundTrip(model.program);
      wrapAsEdge(model.program);
      expectTextRoundTrip(model.program);
      ++count;
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(count, 100u);
}

TEST_F(CorpusText, NothingIsLostOfLoweredPrograms) {
  const BackendRegistry registry = textBackends({"even", "odd"});
  size_t count = 0;
  for (const CorpusProgram& entry : corpusPrograms()) {
    SCOPED_TRACE(entry.name);
    ExportedProgram program = loadProgram(entry.file, entry.model);
    wrapAsEdge(program);
    const FunctionPartitioner partitioner(
        [&](const ExportedProgram& shown) { return randomTags(shown, 2 * count); });
    try {
      expectTextRoundTrip(toBackend(program, partitioner, registry));
      ++count;
    } catch (const LoweringError&) {
      // Tags that do not fit together.
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(count, 40u);
}

TEST(ProgramTextRandom, NothingIsLost) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    const ExportedProgram program = randomProgram(dice);
    expectTextRoundTrip(program);
    if (seed % 10 == 0) expectTextRoundTrip(randomRunnable(dice));
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace edgefx::test

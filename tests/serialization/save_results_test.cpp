#include "serialization/expect_error.h"
#include "serialization/saved_json.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

// How results of nodes with several of them, of higher-order calls and of nested graphs are written.
namespace edgefx {
namespace {

using test::errorOf;
using test::ProgramBuilder;
using test::SavedJson;
using test::tensorValue;

ValueRef tupleOf(std::vector<ValueRef> elements) {
  return ValueMeta::of(ValueMeta::Sequence{std::move(elements), false});
}
ValueRef listOf(std::vector<ValueRef> elements) {
  return ValueMeta::of(ValueMeta::Sequence{std::move(elements), true});
}

Node& getitem(ProgramBuilder& builder, Node& from, int64_t index, ValueRef value) {
  return builder.call("operator.getitem", {from, index}, std::move(value));
}

// The keys of an object's text, in order.
std::string keysOf(const SavedJson& json, std::string_view pointer) {
  simdjson::dom::parser parser;
  std::string keys;
  for (auto field : simdjson::dom::object(parser.parse(json.graph(pointer)))) {
    if (!keys.empty()) keys += ' ';
    keys += field.key;
  }
  return keys;
}

TEST(SaveResults, NothingAndNoneDiffer) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.call("mylib.check.default", {x}, nullptr);
  builder.call("mylib.check.default", {x}, ValueMeta::of(ValueMeta::None()));
  builder.graph().output(Arg::tuple({}));
  SavedJson json(builder.program());
  EXPECT_EQ(json.graph("/nodes/0/outputs"), "[]");
  EXPECT_EQ(json.graph("/nodes/1/outputs"), R"([{"as_none": true}])");
}

TEST(SaveResults, ATupleNamesItsResultsAfterGetitems) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({4}));
  Node& topk = builder.call("aten.topk.default", {x, 2},
                            tupleOf({tensorValue({2}), tensorValue({2}, Dtype::Int64), nullptr}));
  Node& second = getitem(builder, topk, 1, tensorValue({2}, Dtype::Int64));
  builder.userOutput(second);
  SavedJson json(builder.finish());
  EXPECT_EQ(
      json.graph("/nodes/0/outputs"),
      R"([{"as_tensor": {"name": "topk_unused_0"}}, {"as_tensor": {"name": "getitem"}}, {"as_none": true}])");
  EXPECT_EQ(json.graph("/nodes/1"), "no such member");
  EXPECT_EQ(keysOf(json, "/tensor_values"), "x topk_unused_0 getitem");
  EXPECT_EQ(json.graph("/tensor_values/getitem/dtype"), "5");
}

TEST(SaveResults, AListIsOneOutput) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 2}));
  Node& split = builder.call("aten.split.Tensor", {x, 1}, listOf({tensorValue({1, 2}), tensorValue({1, 2})}));
  builder.userOutput(getitem(builder, split, -1, tensorValue({1, 2})));
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/nodes/0/outputs"),
            R"([{"as_tensors": [{"name": "split_unused_0"}, {"name": "getitem"}]}])");
}

TEST(SaveResults, AListInsideATupleIsNamedByGetitemsOfItsGetitem) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  ValueRef list = listOf({tensorValue({1}), tensorValue({1})});
  Node& op = builder.call("mylib.multi.default", {x}, tupleOf({tensorValue({2}), list, list}), "op");
  Node& inner = getitem(builder, op, 1, list);
  builder.userOutput(getitem(builder, inner, 1, tensorValue({1})));
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/nodes/0/outputs"),
            R"([{"as_tensor": {"name": "op_unused_0"}}, )"
            R"({"as_tensors": [{"name": "op_unused_1_0"}, {"name": "getitem_1"}]}, )"
            R"({"as_tensors": [{"name": "op_unused_2_0"}, {"name": "op_unused_2_1"}]}])");
  EXPECT_EQ(json.graph("/outputs"), R"([{"as_tensor": {"name": "getitem_1"}}])");
}

TEST(SaveResults, ANameForAnUnusedResultIsThatOfNoNode) {
  ProgramBuilder builder;
  Node& x = builder.userInput("topk_unused_1", tensorValue({4}));
  Node& topk = builder.call("aten.topk.default", {x, 2}, tupleOf({tensorValue({2}), tensorValue({2})}));
  builder.userOutput(getitem(builder, topk, 0, tensorValue({2})));
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/nodes/0/outputs/1"), R"({"as_tensor": {"name": "topk_unused_1_"}})");
  EXPECT_EQ(keysOf(json, "/tensor_values"), "topk_unused_1 getitem topk_unused_1_");
}

// Two getitem nodes for one index: both uses become the first's name, in specs too.
TEST(SaveResults, DuplicateGetitemsMerge) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2, 2}));
  Node& split = builder.call("aten.split.Tensor", {x, 1}, listOf({tensorValue({1, 2}), tensorValue({1, 2})}));
  Node& first = getitem(builder, split, 0, tensorValue({1, 2}));
  Node& again = builder.call("operator.getitem", {split, 0}, tensorValue({1, 2}), "getitem_2");
  Node& second = builder.call("operator.getitem", {split, 1}, tensorValue({1, 2}), "getitem_1");
  Node& add = builder.call("aten.add.Tensor", {again, second}, tensorValue({1, 2}));
  builder.userOutput(add);
  builder.userOutput(again);
  ExportedProgram program = builder.finish();
  ModuleCallSignature call;
  call.outputs.push_back({SpecArgKind::Tensor, "getitem_2", {}, {}});
  program.moduleCallGraph.push_back({"sub", call});

  SavedJson json(program);
  EXPECT_EQ(json.graph("/nodes/0/outputs"),
            R"([{"as_tensors": [{"name": "getitem"}, {"name": "getitem_1"}]}])");
  EXPECT_EQ(json.arg(1, 0), R"({"as_tensor": {"name": "getitem"}})");
  EXPECT_EQ(json.graph("/outputs"),
            R"([{"as_tensor": {"name": "add"}}, {"as_tensor": {"name": "getitem"}}])");
  EXPECT_EQ(json.at("/graph_module/signature/output_specs/1"),
            R"({"user_output": {"arg": {"as_tensor": {"name": "getitem"}}}})");
  EXPECT_EQ(json.at("/graph_module/module_call_graph/1/signature/outputs"),
            R"([{"as_tensor": {"name": "getitem"}}])");
  EXPECT_EQ(json.text().find("getitem_2"), std::string::npos);
  EXPECT_EQ(again.name(), "getitem_2") << "the program itself stays as it is; " << first.name();
}

TEST(SaveResults, DuplicateGetitemsOfAListMergeWithTheirReaders) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  ValueRef list = listOf({tensorValue({1}), tensorValue({1})});
  Node& op = builder.call("mylib.multi.default", {x}, tupleOf({list, tensorValue({2})}), "op");
  Node& a = getitem(builder, op, 0, list);
  Node& b = getitem(builder, op, 0, list);
  Node& a0 = getitem(builder, a, 0, tensorValue({1}));
  Node& b1 = getitem(builder, b, 1, tensorValue({1}));
  Node& b0 = getitem(builder, b, 0, tensorValue({1}));
  builder.graph().output(Arg::tuple({a0, b0, b1}));
  SavedJson json(builder.program());
  EXPECT_EQ(json.graph("/nodes/0/outputs/0"),
            R"({"as_tensors": [{"name": "getitem_2"}, {"name": "getitem_3"}]})");
  EXPECT_EQ(json.graph("/outputs"),
            R"([{"as_tensor": {"name": "getitem_2"}}, {"as_tensor": {"name": "getitem_2"}}, )"
            R"({"as_tensor": {"name": "getitem_3"}}])");
}

TEST(SaveResults, GetitemsOfNothingKnownAreRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& topk = builder.call("aten.topk.default", {x, 2}, tupleOf({tensorValue({2}), tensorValue({2})}));
  Node& item = getitem(builder, topk, 2, tensorValue({2}));
  builder.graph().output(Arg::tuple({item}));
  auto error = [&] { return errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); }); };
  EXPECT_MENTIONS(error(), "result 2 of '%topk' is read, which has 2");
  EXPECT_MENTIONS(error(), "node '%getitem'");
  item.setArgs({topk, -3});
  EXPECT_MENTIONS(error(), "result -3 of '%topk'");
  item.setArgs({x, 0});
  EXPECT_MENTIONS(error(), "expected a value with several results in '%x'");
  item.setArgs({Arg::list({x}), 0});
  EXPECT_MENTIONS(error(), "getitem of a node and a number");
  item.setArgs({topk, 0});
  builder.graph().outputNode().setArgs({Arg::tuple({topk})});
  EXPECT_MENTIONS(error(), "'%topk' has several results");
}

TEST(SaveResults, HigherOrderCallsFlagABareTensor) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& bare = builder.call("higher_order.wrap", {x}, tensorValue({2}), "bare");
  Node& one = builder.call("higher_order.wrap", {x}, tupleOf({tensorValue({2})}), "one");
  Node& two = builder.graph().call("higher_order.wrap", {x}, {{"n", 2}}, "two");
  two.setValue(tupleOf({tensorValue({2}), nullptr}));
  builder.call("higher_order.wrap", {x}, nullptr, "none");
  builder.graph().output(Arg::tuple({bare, getitem(builder, one, 0, tensorValue({2}))}));
  SavedJson json(builder.program());
  EXPECT_EQ(json.graph("/nodes/0/outputs"), R"([{"as_tensor": {"name": "bare"}}])");
  EXPECT_EQ(json.graph("/nodes/0/is_hop_single_tensor_return"), "true");
  EXPECT_EQ(json.graph("/nodes/1/outputs"), R"([{"as_tensor": {"name": "getitem"}}])");
  EXPECT_EQ(json.graph("/nodes/1/is_hop_single_tensor_return"), "false");
  EXPECT_EQ(json.graph("/nodes/2/outputs"),
            R"([{"as_tensor": {"name": "two_unused_0"}}, {"as_none": true}])");
  EXPECT_EQ(json.graph("/nodes/2/is_hop_single_tensor_return"), "false");
  EXPECT_EQ(json.graph("/nodes/2/inputs"),
            R"([{"name": "", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
            R"({"name": "n", "arg": {"as_int": 2}, "kind": 2}])");
  EXPECT_EQ(json.graph("/nodes/3/is_hop_single_tensor_return"), "false");
}

// Such a tuple would come back as the value itself.
TEST(SaveResults, ATupleOfOneFromAnOperatorIsRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  builder.call("mylib.one.default", {x}, tupleOf({tensorValue({2})}));
  builder.graph().output(Arg::tuple({}));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); }),
                  "tuple of a single result");
}

TEST(SaveResults, TokensAreEmptyTensors) {
  ProgramBuilder builder;
  Node& token = builder.token("token");
  Node& effects = builder.call("higher_order.with_effects", {token, Target("mylib.log.default"), "text"},
                               tupleOf({ValueMeta::of(ValueMeta::Token()), nullptr}));
  builder.result(OutputKind::Token, getitem(builder, effects, 0, ValueMeta::of(ValueMeta::Token())));
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/inputs"), R"([{"as_tensor": {"name": "token"}}])");
  EXPECT_EQ(json.arg(0, 1), R"({"as_operator": "torch.ops.mylib.log.default"})");
  EXPECT_EQ(json.graph("/nodes/0/outputs"), R"([{"as_tensor": {"name": "getitem"}}, {"as_none": true}])");
  EXPECT_EQ(
      json.graph("/tensor_values/getitem"),
      R"({"dtype": 7, "sizes": [{"as_int": 0}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
      R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})");
  EXPECT_EQ(json.at("/graph_module/signature"),
            R"({"input_specs": [{"token": {"arg": {"name": "token"}}}], )"
            R"("output_specs": [{"token": {"arg": {"name": "getitem"}}}]})");
}

std::unique_ptr<Graph> branchGraph(Target op) {
  auto graph = std::make_unique<Graph>();
  Node& a = graph->placeholder("a");
  a.setValue(tensorValue({2}));
  Node& result = graph->call(op, {a}, {}, "result");
  result.setValue(tensorValue({2}));
  graph->output(Arg::tuple({result}));
  return graph;
}

TEST(SaveResults, NestedGraphsAreWrittenInPlace) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& p = builder.userInput("p", tensorValue({}, Dtype::Bool));
  Node& yes = builder.branch("true_graph_0", branchGraph("aten.relu.default"));
  Node& no = builder.branch("false_graph_0", branchGraph("aten.neg.default"));
  Node& cond = builder.call("higher_order.cond", {p, yes, no, Arg::list({x})}, tupleOf({tensorValue({2})}));
  builder.userOutput(getitem(builder, cond, 0, tensorValue({2})));
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/nodes/0/target"), R"("torch.ops.higher_order.cond")");
  EXPECT_EQ(json.graph("/nodes/0/inputs/1/arg/as_graph/name"), R"("true_graph_0")");
  EXPECT_EQ(json.graph("/nodes/0/inputs/1/arg/as_graph/graph/nodes/0/target"),
            R"("torch.ops.aten.relu.default")");
  EXPECT_EQ(json.graph("/nodes/0/inputs/2/arg/as_graph/graph/outputs"),
            R"([{"as_tensor": {"name": "result"}}])");
  EXPECT_EQ(json.arg(0, 3), R"({"as_tensors": [{"name": "x"}]})");
  EXPECT_EQ(json.graph("/nodes/1"), "no such member");
  EXPECT_EQ(keysOf(json, "/tensor_values"), "x p getitem");
}

TEST(SaveResults, AGraphNamedTwiceIsWrittenTwice) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& body = builder.branch("body", branchGraph("aten.relu.default"));
  Node& again = builder.graph().getAttr("body");
  builder.call("higher_order.wrap", {body, again, x}, tensorValue({2}));
  builder.graph().output(Arg::tuple({}));
  SavedJson json(builder.program());
  EXPECT_EQ(json.arg(0, 0), json.arg(0, 1));
  EXPECT_EQ(json.graph("/nodes/0/inputs/1/arg/as_graph/name"), R"("body")");
}

TEST(SaveResults, AFaultInANestedGraphNamesThatGraph) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  auto graph = branchGraph("aten.relu.default");
  graph->find("result")->setArgs({Arg::slice(0, 1, nullptr)});
  Node& body = builder.branch("body", std::move(graph));
  builder.call("higher_order.wrap", {body, x}, tensorValue({2}));
  builder.graph().output(Arg::tuple({}));
  try {
    SavedJson json(builder.program());
    FAIL() << "no exception";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.diagnostics().front().graph, "body");
    EXPECT_EQ(error.diagnostics().front().node, "result");
    EXPECT_EQ(error.diagnostics().front().notes, std::vector<std::string>{"in argument 0 ('self')"});
  }
}

TEST(SaveResults, GetAttrsOfAnythingElseAreRefused) {
  ProgramBuilder builder;
  Node& weight = builder.graph().getAttr("weight");
  weight.setValue(tensorValue({2}));
  builder.call("aten.relu.default", {weight}, tensorValue({2}));
  builder.graph().output(Arg::tuple({}));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); }),
                  "'%weight' gets 'weight', which is not a graph module");
}

TEST(SaveResults, GraphsNestTo128LevelsAndNoFurther) {
  auto nested = [](int depth) {
    auto module = std::make_unique<GraphModule>(branchGraph("aten.relu.default"));
    for (int i = 0; i < depth; ++i) {
      auto outer = std::make_unique<Graph>();
      Node& a = outer->placeholder("a");
      a.setValue(tensorValue({2}));
      Node& body = outer->getAttr("body");
      Node& wrap = outer->call("higher_order.wrap", {body, a});
      wrap.setValue(tensorValue({2}));
      outer->output(wrap);
      auto outerModule = std::make_unique<GraphModule>(std::move(outer));
      outerModule->addChild("body", std::move(module));
      module = std::move(outerModule);
    }
    ExportedProgram program;
    program.graphModule() = std::move(*module);
    return program;
  };
  ExportedProgram deepest = nested(128);
  detail::JsonWriter json;
  detail::writeProgram(json, deepest);
  EXPECT_GT(json.size(), 128u * 100);
  ExportedProgram tooDeep = nested(129);
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(tooDeep); }), "deeper than 128 levels");
}

}  // namespace
}  // namespace edgefx

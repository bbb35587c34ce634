#include <edgefx/program/exported_program.h>

#include "ir/graph_builder.h"
#include "serialization/expect_error.h"
#include "serialization/saved_json.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace edgefx {
namespace {

using test::errorOf;
using test::ProgramBuilder;
using test::SavedJson;
using test::tensorValue;

ValueRef symInt(std::string_view expression, SymHint hint = {}) {
  return ValueMeta::of(ValueMeta::SymIntValue{SymInt(Symbolic{SymExpr::parse(expression), hint})});
}

constexpr const char* kMeta2 =
    R"({"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
    R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";

TEST(SaveGraph, WritesAWholeGraphAsTorchDoes) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& add = builder.call("aten.add.Tensor", {x, 1.0}, tensorValue({2}));
  add.editMeta([](NodeMeta& meta) {
    meta.set("stack_trace", std::string("File \"a.py\", line 1"));
    meta.set("torch_fn", std::string("add_1;method_descriptor.add"));
    meta.setDelegationTag(std::make_shared<const std::string>("t0"));
  });
  builder.userOutput(add);
  SavedJson json(builder.finish());
  std::string meta = kMeta2;
  EXPECT_EQ(
      json.graph(""),
      R"({"inputs": [{"as_tensor": {"name": "x"}}], "outputs": [{"as_tensor": {"name": "add"}}], "nodes": [)"
      R"({"target": "torch.ops.aten.add.Tensor", "inputs": [)"
      R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
      R"({"name": "other", "arg": {"as_float": 1.0}, "kind": 1}], "outputs": [{"as_tensor": {"name": "add"}}], )"
      R"("metadata": {"stack_trace": "File \"a.py\", line 1", "torch_fn": "add_1;method_descriptor.add"}, )"
      R"("is_hop_single_tensor_return": null, "name": "add"}], "tensor_values": {"x": )" +
          meta + R"(, "add": )" + meta +
          R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false, )"
          R"("custom_obj_values": {}, "sym_float_values": {}})");
}

TEST(SaveGraph, KeywordArgumentsComeInSchemaOrder) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& copy = builder.graph().call("aten._to_copy.default", {x},
                                    {{"memory_format", MemoryFormat::ChannelsLast},
                                     {"device", Arg::device("cuda:1")},
                                     {"dtype", Dtype::BFloat16},
                                     {"layout", Layout::Strided}});
  copy.setValue(tensorValue({2}));
  builder.userOutput(copy);
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/nodes/0/inputs"),
            R"([{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
            R"({"name": "dtype", "arg": {"as_scalar_type": 13}, "kind": 2}, )"
            R"({"name": "layout", "arg": {"as_layout": 7}, "kind": 2}, )"
            R"({"name": "device", "arg": {"as_device": {"type": "cuda", "index": 1}}, "kind": 2}, )"
            R"({"name": "memory_format", "arg": {"as_memory_format": 2}, "kind": 2}])");
}

TEST(SaveGraph, RefusesArgumentsTheOperatorLacks) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& relu = builder.graph().call("aten.relu.default", {x}, {{"beta", 1}});
  relu.setValue(tensorValue({2}));
  builder.userOutput(relu);
  ExportedProgram program = builder.finish();
  std::string error = errorOf<UnsupportedError>([&] { SavedJson json(program); });
  EXPECT_MENTIONS(error, "operator 'aten.relu.default' has no argument 'beta'");
  EXPECT_MENTIONS(error, "%relu");
  relu.setKwargs({});
  relu.setArgs({x, 1, 2});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(program); }), "takes 1 arguments, found 3");
  relu.setArgs({x});
  relu.setKwargs({{"self", x}});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(program); }), "by position and by name");
}

TEST(SaveGraph, UnknownOperatorsKeepTheNamesOfTheirFile) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& op = builder.graph().call("mylib.scale_by.default", {x, 2}, {{"mode", "up"}});
  op.setValue(tensorValue({2}));
  builder.userOutput(op);
  ExportedProgram program = builder.finish();
  EXPECT_EQ(SavedJson(program).graph("/nodes/0/inputs"),
            R"([{"name": "arg0", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
            R"({"name": "arg1", "arg": {"as_int": 2}, "kind": 1}, )"
            R"({"name": "mode", "arg": {"as_string": "up"}, "kind": 2}])");
  program.argumentNames["mylib.scale_by.default"] = {"image"};
  EXPECT_EQ(SavedJson(program.clone()).graph("/nodes/0/inputs/0/name"), R"("image")");
  EXPECT_EQ(SavedJson(program.clone()).graph("/nodes/0/inputs/1/name"), R"("arg1")");
}

TEST(SaveGraph, SymbolicNumbersHaveTablesOfTheirOwn) {
  ProgramBuilder builder;
  Node& n = builder.userInput("n", symInt("Symbol('s77', positive=True, integer=True)", int64_t{4}));
  Node& m = builder.call("operator.mul", {n, 2}, symInt("Mul(Integer(2), Symbol('s77', integer=True))"));
  Node& isSmall = builder.call("operator.lt", {m, 9},
                               ValueMeta::of(ValueMeta::SymBoolValue{Symbolic{
                                   SymExpr::parse("StrictLessThan(Symbol('u0'), Integer(9))"), {}}}));
  Node& half =
      builder.call("torch.sym_ite", {isSmall, 0.5, 1.5}, ValueMeta::of(ValueMeta::SymFloatValue{0.5}));
  builder.userOutput(m);
  builder.userOutput(isSmall);
  builder.userOutput(half);
  SavedJson json(builder.finish());
  EXPECT_EQ(json.graph("/inputs"), R"([{"as_sym_int": {"as_name": "n"}}])");
  EXPECT_EQ(json.graph("/outputs"),
            R"([{"as_sym_int": {"as_name": "mul"}}, {"as_sym_bool": {"as_name": "lt"}}, )"
            R"({"as_sym_float": {"as_name": "sym_ite"}}])");
  EXPECT_EQ(json.graph("/nodes/0/target"), R"("_operator.mul")");
  EXPECT_EQ(json.graph("/nodes/0/inputs"),
            R"([{"name": "a", "arg": {"as_sym_int": {"as_name": "n"}}, "kind": 1}, )"
            R"({"name": "b", "arg": {"as_int": 2}, "kind": 1}])");
  EXPECT_EQ(json.graph("/nodes/2/inputs/0"),
            R"({"name": "b", "arg": {"as_sym_bool": {"as_name": "lt"}}, "kind": 1})");
  EXPECT_EQ(
      json.graph("/sym_int_values"),
      R"+({"n": {"as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)", "hint": {"as_int": 4}}}, )+"
      R"+("mul": {"as_expr": {"expr_str": "Mul(Integer(2), Symbol('s77', integer=True))", "hint": null}}})+");
  EXPECT_EQ(
      json.graph("/sym_bool_values"),
      R"+({"lt": {"as_expr": {"expr_str": "StrictLessThan(Symbol('u0'), Integer(9))", "hint": null}}})+");
  EXPECT_EQ(json.graph("/sym_float_values"), R"({"sym_ite": {"as_float": 0.5}})");
}

// The only argument of a call is the value under test.
class SaveArgument : public testing::Test {
 protected:
  SaveArgument() { builder_.graph().output(Arg::tuple({})); }

  std::string written(const Arg& value) {
    take_.setArgs({value});
    return SavedJson(builder_.program()).arg(0, 0);
  }
  std::string refused(const Arg& value) {
    return errorOf<UnsupportedError>([&] { written(value); });
  }

  ProgramBuilder builder_;
  Node& x_ = builder_.userInput("x", tensorValue({2}));
  Node& n_ = builder_.userInput("n", symInt("Symbol('s0', integer=True)"));
  Node& take_ = builder_.call("mylib.take.default", {}, nullptr, "take");
};

TEST_F(SaveArgument, EveryKindHasItsTag) {
  EXPECT_EQ(written(nullptr), R"({"as_none": true})");
  EXPECT_EQ(written(true), R"({"as_bool": true})");
  EXPECT_EQ(written(int64_t{-9223372036854775807} - 1), R"({"as_int": -9223372036854775808})");
  EXPECT_EQ(written(1e16), R"({"as_float": 1e+16})");
  EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), R"({"as_float": "-Infinity"})");
  EXPECT_EQ(written(Arg::complex(1, -0.5)), R"({"as_complex": {"real": 1.0, "imag": -0.5}})");
  EXPECT_EQ(written("gr\xc3\xb6\xc3\x9f\x65"), R"({"as_string": "gr\u00f6\u00dfe"})");
  EXPECT_EQ(written(Dtype::Float8E4M3FN), R"({"as_scalar_type": 29})");
  EXPECT_EQ(written(Layout::SparseCsr), R"({"as_layout": 2})");
  EXPECT_EQ(written(MemoryFormat::Preserve), R"({"as_memory_format": 4})");
  EXPECT_EQ(written(Arg::device("cpu")), R"({"as_device": {"type": "cpu", "index": null}})");
  EXPECT_EQ(written(Target("mylib.log.default")), R"({"as_operator": "torch.ops.mylib.log.default"})");
  EXPECT_EQ(written(Arg::dict({{"k", 1}, {"x", x_}})),
            R"({"as_string_to_argument": {"k": {"as_int": 1}, "x": {"as_tensor": {"name": "x"}}}})");
  EXPECT_EQ(written(x_), R"({"as_tensor": {"name": "x"}})");
  EXPECT_EQ(written(n_), R"({"as_sym_int": {"as_name": "n"}})");
}

TEST_F(SaveArgument, WhatTheSchemaLacksIsRefused) {
  std::string error = refused(Arg::slice(0, 1, nullptr));
  EXPECT_MENTIONS(error, "cannot hold an argument of kind 'slice'");
  EXPECT_MENTIONS(error, "node '%take'");
  EXPECT_MENTIONS(error, "in argument 0 ('arg0')");
  EXPECT_MENTIONS(refused(Arg::range(0, 3, 1)), "cannot hold an argument of kind 'range'");
  EXPECT_MENTIONS(refused(Arg::ellipsis()), "cannot hold an argument of kind 'Ellipsis'");
  EXPECT_MENTIONS(refused(SymExpr::parse("Symbol('s0')")),
                  "cannot hold an argument of kind 'symbolic number'");
  EXPECT_MENTIONS(refused(Arg::device("cuda:x")), "cuda:x");
}

TEST_F(SaveArgument, TagOfAListFollowsFromItsItems) {
  EXPECT_EQ(written({true, false}), R"({"as_bools": [true, false]})");
  EXPECT_EQ(written({1, -2}), R"({"as_ints": [1, -2]})");
  EXPECT_EQ(written({0.5, 1e20}), R"({"as_floats": [0.5, 1e+20]})");
  EXPECT_EQ(written({"a", "b"}), R"({"as_strings": ["a", "b"]})");
  EXPECT_EQ(written({n_, 3}), R"({"as_sym_ints": [{"as_name": "n"}, {"as_int": 3}]})");
  EXPECT_EQ(written({x_, x_}), R"({"as_tensors": [{"name": "x"}, {"name": "x"}]})");
  EXPECT_EQ(written({x_, nullptr}),
            R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": true}]})");
  EXPECT_EQ(written(Arg::tuple({1, 2})), R"({"as_ints": [1, 2]})");
}

TEST_F(SaveArgument, ListsOfLists) {
  EXPECT_EQ(written(Arg::list({Arg::list({x_}), Arg::list({x_, x_})})),
            R"({"as_nested_tensors": [[{"name": "x"}], [{"name": "x"}, {"name": "x"}]]})");
  EXPECT_EQ(written(Arg::list({Arg::tuple({1, 2}), Arg::tuple({})})), R"({"as_int_lists": [[1, 2], []]})");
  EXPECT_EQ(written(Arg::list({Arg::list({0.5})})), R"({"as_float_lists": [[0.5]]})");
  EXPECT_MENTIONS(refused(Arg::list({Arg::list({Arg::list({})})})), "list of such items");
}

TEST_F(SaveArgument, MixedListsAreRefused) {
  EXPECT_MENTIONS(refused({1, "a"}), "list of such items");
  EXPECT_MENTIONS(refused({1, 0.5}), "list of such items");
  EXPECT_MENTIONS(refused({true, 1}), "list of such items");
  EXPECT_MENTIONS(refused({x_, 1}), "list of such items");
}

TEST_F(SaveArgument, AnEmptyListIsOfTensorsInAHigherOrderCallOnly) {
  EXPECT_EQ(written(Arg::list({})), R"({"as_ints": []})");
  take_.setTarget("higher_order.cond");
  EXPECT_EQ(written(Arg::list({})), R"({"as_tensors": []})");
}

// Lists from files say which tag they had.
TEST(SaveGraph, AListKeepsTheTagOfItsFileWhileItFits) {
  ProgramBuilder program;
  Node& x = program.userInput("x", tensorValue({2}));
  detail::GraphBuilder builder(program.graph());
  ArgumentWriter& writer = builder.arguments();
  auto call = [&](ListHint hint, std::vector<Argument> items) {
    Node& node = builder.append(Target("mylib.take.default"), "take");
    Argument* arguments = writer.allocate(1 + items.size());
    std::copy(items.begin(), items.end(), arguments + 1);
    arguments[0] = ArgumentWriter::makeItems(ArgumentKind::List, arguments + 1, items.size(), hint);
    builder.finish(node, arguments, 1, 0);
  };
  call(ListHint::SymInts, {ArgumentWriter::makeInt(1)});
  call(ListHint::Tensors, {});
  call(ListHint::OptionalTensors, {ArgumentWriter::makeNode(x)});
  call(ListHint::Ints, {ArgumentWriter::makeNode(x)});
  program.graph().output(Arg::tuple({}));
  SavedJson json(program.program());
  EXPECT_EQ(json.arg(0, 0), R"({"as_sym_ints": [{"as_int": 1}]})");
  EXPECT_EQ(json.arg(1, 0), R"({"as_tensors": []})");
  EXPECT_EQ(json.arg(2, 0), R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}]})");
  EXPECT_EQ(json.arg(3, 0), R"({"as_tensors": [{"name": "x"}]})");
}

TEST(SaveGraph, MetadataEntriesKeepTheirOrderAndText) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  auto shared = std::make_shared<const std::string>("line 1\nline \"2\"");
  for (int i = 0; i < 2; ++i) {
    builder.call("aten.relu.default", {x}, tensorValue({2})).editMeta([&](NodeMeta& meta) {
      meta.set("zzz", std::string("\xf0\x9f\x98\x80"));
      meta.set("stack_trace", shared);
    });
  }
  builder.graph().output(Arg::tuple({}));
  SavedJson json(builder.program());
  const char* expected = R"({"zzz": "\ud83d\ude00", "stack_trace": "line 1\nline \"2\""})";
  EXPECT_EQ(json.graph("/nodes/0/metadata"), expected);
  EXPECT_EQ(json.graph("/nodes/1/metadata"), expected);
}

TEST(SaveGraph, UsesOfConstantInputsAreWrittenAsTheConstant) {
  ProgramBuilder builder;
  Node& k = builder.constantInput("k", int64_t{3});
  builder.constantInput("none", {});
  builder.call("mylib.take.default", {k}, nullptr);
  builder.graph().output(Arg::tuple({}));
  SavedJson json(builder.program());
  EXPECT_EQ(json.graph("/inputs"), R"([{"as_int": 3}, {"as_none": true}])");
  EXPECT_EQ(json.arg(0, 0), R"({"as_int": 3})");
}

TEST(SaveGraph, ABareResultIsFlagged) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& output = builder.graph().output(x);
  SavedJson bare(builder.program());
  EXPECT_EQ(bare.graph("/outputs"), R"([{"as_tensor": {"name": "x"}}])");
  EXPECT_EQ(bare.graph("/is_single_tensor_return"), "true");
  output.setArgs({Arg::tuple({x, nullptr, 3, 0.5, true, "s"})});
  SavedJson tuple(builder.program());
  EXPECT_EQ(tuple.graph("/outputs"), R"([{"as_tensor": {"name": "x"}}, {"as_none": true}, {"as_int": 3}, )"
                                     R"({"as_float": 0.5}, {"as_bool": true}, {"as_string": "s"}])");
  EXPECT_EQ(tuple.graph("/is_single_tensor_return"), "false");
  output.setArgs({Arg::tuple({Arg::list({x})})});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); }),
                  "as results, found list");
  output.setArgs({nullptr});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); }),
                  "as result, found None");
}

TEST(SaveGraph, ValuesOfWhichNothingIsKnownAreRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& relu = builder.call("aten.relu.default", {x}, nullptr);
  builder.call("aten.relu.default", {relu}, tensorValue({2}));
  builder.graph().output(Arg::tuple({}));
  std::string error = errorOf<UnsupportedError>([&] { SavedJson json(builder.program()); });
  EXPECT_MENTIONS(error, "nothing is known of the value of '%relu'");
  EXPECT_MENTIONS(error, "node '%relu_1'");
  EXPECT_MENTIONS(error, "argument 0 ('self')");
}

}  // namespace
}  // namespace edgefx

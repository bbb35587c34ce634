#include <edgefx/run/pytree.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/serialization/torch_save.h>
#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "support/ivalue_trees.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace edgefx {
namespace {

using test::errorOf;
using test::valueDict;
using test::valueList;
using test::valueTuple;
using Leaves = std::vector<c10::IValue>;

const std::string kLeafSpec = R"({"type": null, "context": null, "children_spec": []})";

std::string treeSpec(std::string_view type, std::string_view context,
                     const std::vector<std::string>& children) {
  std::string text = R"({"type": ")" + std::string(type) + R"(", "context": )" + std::string(context) +
                     R"(, "children_spec": [)";
  for (size_t i = 0; i < children.size(); ++i) text += (i > 0 ? ", " : "") + children[i];
  return text + "]}";
}
std::string wholeSpec(const std::string& node) {
  return "[1, " + node + "]";
}
std::string tupleSpec(const std::vector<std::string>& children) {
  return treeSpec("builtins.tuple", R"("null")", children);
}
std::string dictSpec(std::string_view context, const std::vector<std::string>& children) {
  return treeSpec("builtins.dict", context, children);
}

// "(1, [2], {'a': 3})"; None as "None".
std::string treeText(const c10::IValue& value) {
  std::string text;
  if (value.isTuple()) {
    for (const c10::IValue& item : value.toTupleRef().elements()) text += treeText(item) + ",";
    return "(" + text + ")";
  }
  if (value.isList()) {
    for (const c10::IValue& item : value.toListRef()) text += treeText(item) + ",";
    return "[" + text + "]";
  }
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict())
      text += treeText(entry.key()) + ":" + treeText(entry.value()) + ",";
    return "{" + text + "}";
  }
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isString()) return value.toStringRef();
  return value.isNone() ? "None" : value.tagKind();
}

std::string treeFault(const c10::IValue& tree, const std::string& text) {
  return errorOf<UsageError>([&] { flatten(tree, text); });
}

TEST(Pytree, FlattensAndBuildsAgain) {
  const std::string nested =
      wholeSpec(tupleSpec({kLeafSpec, treeSpec("builtins.list", R"("null")", {kLeafSpec, tupleSpec({})}),
                           dictSpec(R"("[\"b\", 1, \"a\"]")", {kLeafSpec, kLeafSpec, kLeafSpec})}));
  const c10::IValue tree =
      valueTuple({7, valueList({c10::IValue(), valueTuple({})}), valueDict({{"a", 3}, {"b", "x"}, {1, 2}})});
  const Leaves leaves = flatten(tree, nested);
  EXPECT_EQ(treeText(valueList(leaves)), "[7,None,x,2,3,]");
  EXPECT_EQ(treeText(unflatten(leaves, nested)), "(7,[None,(),],{b:x,1:2,a:3,},)");
  EXPECT_EQ(treeText(unflatten({5}, wholeSpec(kLeafSpec))), "5");
  EXPECT_EQ(treeText(valueList(flatten(5, wholeSpec(kLeafSpec)))), "[5,]");
}

TEST(Pytree, TypedListsAndOtherContainers) {
  const std::string three =
      wholeSpec(treeSpec("builtins.list", R"("null")", {kLeafSpec, kLeafSpec, kLeafSpec}));
  EXPECT_EQ(flatten(c10::IValue(std::vector<int64_t>{4, 5, 6}), three).at(2).toInt(), 6);
  const std::string point =
      wholeSpec(treeSpec("collections.namedtuple", R"("__main__.Point")", {kLeafSpec, kLeafSpec}));
  EXPECT_EQ(treeText(unflatten(flatten(valueTuple({1, 2}), point), point)), "(1,2,)");
  const std::string own = wholeSpec(treeSpec("mylib.Pair", R"({"any": 1})", {kLeafSpec, kLeafSpec}));
  EXPECT_EQ(treeText(unflatten(flatten(valueList({1, 2}), own), own)), "(1,2,)");
  const std::string deque = wholeSpec(treeSpec("collections.deque", R"("3")", {kLeafSpec}));
  EXPECT_EQ(treeText(unflatten(flatten(valueList({1}), deque), deque)), "[1,]");
  const std::string ordered = wholeSpec(treeSpec("collections.OrderedDict", R"("[\"k\"]")", {kLeafSpec}));
  EXPECT_EQ(treeText(unflatten(flatten(valueDict({{"k", 1}}), ordered), ordered)), "{k:1,}");
}

TEST(Pytree, DifferencesNameTheirPlace) {
  const std::string pair =
      wholeSpec(tupleSpec({kLeafSpec, dictSpec(R"("[\"x\"]")", {tupleSpec({kLeafSpec})})}));
  EXPECT_MENTIONS(treeFault(valueTuple({1, valueDict({{"x", valueTuple({1, 2})}})}), pair),
                  "tree[1]['x']: expected builtins.tuple of 1, found 2 items");
  EXPECT_MENTIONS(treeFault(valueTuple({1, valueDict({{"x", valueList({1})}})}), pair),
                  "tree[1]['x']: expected builtins.tuple of 1, found a list");
  EXPECT_MENTIONS(treeFault(valueTuple({1, valueDict({{"y", valueTuple({1})}})}), pair),
                  "tree[1]: key 'x' is missing");
  EXPECT_MENTIONS(treeFault(valueTuple({1, valueDict({{"x", valueTuple({1})}, {"y", 2}})}), pair),
                  "tree[1]: unexpected key 'y'");
  EXPECT_MENTIONS(treeFault(valueTuple({valueList({}), valueDict({})}), pair),
                  "tree[0]: expected a single value, found a list");
  EXPECT_MENTIONS(treeFault(valueTuple({1, 2}), pair), "tree[1]: expected builtins.dict, found Int");
  EXPECT_MENTIONS(treeFault(3, pair), "tree: expected builtins.tuple of 2, found Int");
  EXPECT_MENTIONS(errorOf<UsageError>([&] { unflatten({1}, pair); }),
                  "expected 2 values for the tree spec, found 1");
  EXPECT_MENTIONS(errorOf<ParseError>([&] { flatten(1, "[1]"); }), "tree spec");
  EXPECT_MENTIONS(
      errorOf<UnsupportedError>([&] { unflatten({1}, wholeSpec(dictSpec(R"("[null]")", {kLeafSpec}))); }),
      "the key None");
}

ExportedProgram programTaking(const std::string& inSpec) {
  ExportedProgram program = test::tinyProgram();
  program.moduleCallGraph.front().signature->inSpec = inSpec;
  return program;
}

TEST(Pytree, ArgumentsOfAProgram) {
  const ExportedProgram program =
      programTaking(wholeSpec(tupleSpec({tupleSpec({kLeafSpec, tupleSpec({kLeafSpec})}),
                                         dictSpec(R"("[\"scale\", \"mode\"]")", {kLeafSpec, kLeafSpec})})));
  const Leaves args = {1, valueTuple({2})};
  EXPECT_EQ(treeText(valueList(flattenInputs(program, args, {{"mode", "m"}, {"scale", 3}}))), "[1,2,3,m,]");
  auto fault = [&](const Leaves& positional, const std::vector<NamedValue>& keywords) {
    return errorOf<UsageError>([&] { flattenInputs(program, positional, keywords); });
  };
  EXPECT_MENTIONS(fault({1}, {}), "expected 2 positional arguments, found 1");
  EXPECT_MENTIONS(fault(args, {{"scale", 3}}), "keyword argument 'mode' is missing");
  EXPECT_MENTIONS(fault(args, {{"scale", 3}, {"mode", 1}, {"more", 1}}),
                  "unexpected keyword argument 'more'");
  EXPECT_MENTIONS(fault(args, {{"scale", 3}, {"scale", 3}}), "'scale' is given twice");
  EXPECT_MENTIONS(fault(args, {{"scale", valueList({})}, {"mode", 1}}),
                  "scale: expected a single value, found a list");
  EXPECT_MENTIONS(fault({1, 2}, {}), "args[1]: expected builtins.tuple of 1, found Int");
}

TEST(Pytree, ProgramsWithoutConventionTakeFlatArguments) {
  ExportedProgram program = test::tinyProgram();
  program.moduleCallGraph.clear();
  EXPECT_EQ(treeText(valueList(flattenInputs(program, {1, 2}))), "[1,2,]");
  EXPECT_MENTIONS(errorOf<UsageError>([&] {
                    flattenInputs(program, {}, {{"x", 1}});
                  }),
                  "no calling convention");
}

// The example inputs that PyTorch saved fit the tree spec that it saved, and are as many as the user inputs.
TEST(Pytree, ExampleInputsOfEveryProgramFit) {
  std::map<std::filesystem::path, Archive> archives;
  size_t count = 0;
  for (const test::CorpusProgram& entry : test::corpusPrograms()) {
    SCOPED_TRACE(entry.name);
    auto [at, isNew] = archives.try_emplace(entry.file);
    if (isNew) at->second = loadArchive(entry.file);
    for (const Archive::Model& model : at->second.models) {
      if (!isNew || model.program.exampleInputs.empty()) continue;
      const c10::IValue inputs = parseTorchSave(model.program.exampleInputs, "inputs");
      ASSERT_TRUE(inputs.isTuple());
      const auto& parts = inputs.toTupleRef().elements();
      ASSERT_EQ(parts.size(), 2u);
      const auto args = parts[0].toTupleRef().elements();
      std::vector<NamedValue> kwargs;
      for (const auto& item : parts[1].toGenericDict())
        kwargs.emplace_back(item.key().toStringRef(), item.value());
      const Leaves leaves = flattenInputs(model.program, Leaves(args.begin(), args.end()), kwargs);
      size_t userInputs = 0;
      for (const InputSpec& input : model.program.signature.inputs)
        userInputs += input.kind == InputKind::UserInput ? 1 : 0;
      EXPECT_EQ(leaves.size(), userInputs);
      ++count;
    }
  }
  EXPECT_GT(count, 50u);
}

}  // namespace
}  // namespace edgefx

#include "serialization/tree_spec.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace edgefx::detail {
namespace {

using test::errorOf;

constexpr std::string_view kLeaf = R"({"type": null, "context": null, "children_spec": []})";

// A container of `leaves` leaves; `context` as it stands in the file.
std::string container(std::string_view type, std::string_view context, size_t leaves) {
  std::string text = R"({"type": ")" + std::string(type) + R"(", "context": )" + std::string(context) +
                     R"(, "children_spec": [)";
  for (size_t i = 0; i < leaves; ++i) {
    if (i > 0) text += ", ";
    text += kLeaf;
  }
  return text + "]}";
}

std::string spec(std::string_view node) {
  return "[1, " + std::string(node) + "]";
}

std::string faultOf(std::string_view text) {
  return errorOf<ParseError>([&] { checkTreeSpec(text); });
}

TEST(TreeSpec, CountsLeaves) {
  EXPECT_EQ(checkTreeSpec(spec(kLeaf)), 1u);
  EXPECT_EQ(checkTreeSpec(spec(container("builtins.tuple", R"("null")", 0))), 0u);
  std::string nested = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" +
                       container("builtins.list", R"("null")", 2) + ", " +
                       container("builtins.dict", R"("[\"b\", 1, \"1\"]")", 3) + "]}";
  EXPECT_EQ(checkTreeSpec(spec(nested)), 5u);
}

TEST(TreeSpec, GivesTheTree) {
  std::string nested = R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" +
                       container("mylib.Pair", "7", 2) + ", " +
                       container("builtins.dict", R"("[\"b\", 1, 2.5, true, null]")", 5) + "]}";
  const TreeSpec tree = parseTreeSpec(spec(nested));
  EXPECT_EQ(tree.kind, TreeKind::Tuple);
  EXPECT_EQ(tree.type, "builtins.tuple");
  EXPECT_EQ(tree.leaves, 7u);
  ASSERT_EQ(tree.children.size(), 2u);
  EXPECT_EQ(tree.children[0].kind, TreeKind::Other);
  EXPECT_EQ(tree.children[0].type, "mylib.Pair");
  EXPECT_EQ(tree.children[0].leaves, 2u);
  EXPECT_EQ(tree.children[1].kind, TreeKind::Dict);
  EXPECT_EQ(tree.children[1].keys,
            (std::vector<TreeKey>{std::string("b"), int64_t{1}, 2.5, true, std::monostate()}));
  EXPECT_EQ(tree.children[1].children[4].kind, TreeKind::Leaf);
  EXPECT_EQ(parseTreeSpec(spec(container("collections.OrderedDict", R"("[\"a\"]")", 1))).kind,
            TreeKind::Dict);
  EXPECT_EQ(parseTreeSpec(spec(container("collections.deque", R"("null")", 1))).kind, TreeKind::Deque);
  EXPECT_MENTIONS(errorOf<ParseError>([&] { parseTreeSpec("[1]"); }), "found an array of 1");
}

TEST(TreeSpec, AcceptsEveryContainerOfPython) {
  EXPECT_EQ(checkTreeSpec(spec(container("collections.OrderedDict", R"("[\"b\", \"a\"]")", 2))), 2u);
  EXPECT_EQ(checkTreeSpec(spec(container("collections.namedtuple", R"("__main__.Point")", 2))), 2u);
  EXPECT_EQ(
      checkTreeSpec(spec(container("collections.defaultdict",
                                   R"({"default_factory_module": "builtins", "default_factory_name": "list",
                                             "dict_context": ["a"]})",
                                   1))),
      1u);
  EXPECT_EQ(checkTreeSpec(spec(container("collections.deque", R"("3")", 2))), 2u);
  EXPECT_EQ(checkTreeSpec(spec(container("collections.deque", R"("null")", 2))), 2u);
  EXPECT_EQ(checkTreeSpec(spec(container("mylib.Pair", R"({"any": ["thing"]})", 2))), 2u);
}

TEST(TreeSpec, RefusesOtherTexts) {
  EXPECT_MENTIONS(faultOf(""), "not JSON: unexpected end at byte 0");
  EXPECT_MENTIONS(faultOf("[1, "), "not JSON: unexpected end at byte 4");
  EXPECT_MENTIONS(faultOf("null"), "expected [1, spec], found null");
  EXPECT_MENTIONS(faultOf("[1]"), "found an array of 1");
  EXPECT_MENTIONS(faultOf("[1, " + std::string(kLeaf) + ", 2]"), "found an array of 3");
  EXPECT_MENTIONS(faultOf("[9, " + std::string(kLeaf) + "]"), "unknown protocol 9");
  EXPECT_MENTIONS(faultOf("[\"1\", " + std::string(kLeaf) + "]"),
                  "the protocol must be an integer, found a string");
  EXPECT_MENTIONS(faultOf("[1, []]"), "expected an object, found an array");
}

TEST(TreeSpec, RefusesMalformedNodes) {
  EXPECT_MENTIONS(faultOf(spec(R"({"context": null, "children_spec": []})")), "member 'type' is missing");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": null, "children_spec": []})")), "member 'context' is missing");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": null, "context": null})")), "member 'children_spec' is missing");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": null, "type": null, "context": null, "children_spec": []})")),
                  "member 'type' occurs twice");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": 3, "context": null, "children_spec": []})")), "found an integer");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": null, "context": "x", "children_spec": []})")),
                  "a leaf has a context");
  EXPECT_MENTIONS(
      faultOf(spec(R"({"type": null, "context": null, "children_spec": [)" + std::string(kLeaf) + "]}")),
      "a leaf has 1 children");
  EXPECT_MENTIONS(faultOf(spec(R"({"type": null, "context": null, "children_spec": {}})")),
                  "'children_spec' must be an array");
  EXPECT_MENTIONS(
      faultOf(spec(R"({"type": "builtins.tuple", "context": "null", "children_spec": [)" +
                   std::string(kLeaf) +
                   R"(, {"type": "builtins.list", "context": "3", "children_spec": []}]})")),
      "tree spec.children_spec[1]: the context of 'builtins.list' must be null, found an integer");
}

TEST(TreeSpec, RefusesContextsOfTheWrongKind) {
  EXPECT_MENTIONS(faultOf(spec(container("builtins.tuple", "null", 1))), "must be a string, found null");
  EXPECT_MENTIONS(faultOf(spec(container("builtins.tuple", R"("")", 1))), "not JSON: unexpected end");
  EXPECT_MENTIONS(faultOf(spec(container("builtins.dict", R"("[\"a\"]")", 2))), "1 keys, but 2 children");
  EXPECT_MENTIONS(faultOf(spec(container("builtins.dict", R"("{}")", 0))),
                  "must be an array, found an object");
  EXPECT_MENTIONS(faultOf(spec(container("builtins.dict", R"("[\"a\", \"a\"]")", 2))),
                  "key \"a\" of a dict occurs");
  EXPECT_MENTIONS(faultOf(spec(container("builtins.dict", R"("[[1]]")", 1))), "an array cannot be the key");
  EXPECT_MENTIONS(faultOf(spec(container("collections.namedtuple", R"("")", 1))), "is empty");
  EXPECT_MENTIONS(faultOf(spec(container("collections.deque", R"("1")", 2))), "at most 1 has 2 children");
  EXPECT_MENTIONS(faultOf(spec(container("collections.deque", R"("-1")", 0))), "its maximal length or null");
  EXPECT_MENTIONS(faultOf(spec(container("collections.defaultdict", R"("[]")", 0))), "must be an object");
  EXPECT_MENTIONS(faultOf(spec(container("collections.defaultdict", R"({"dict_context": []})", 0))),
                  "needs a string 'default_factory_module'");
}

std::string nested(size_t levels) {
  std::string text = "[1, ";
  for (size_t i = 1; i < levels; ++i)
    text += R"({"type": "builtins.list", "context": "null", "children_spec": [)";
  text += kLeaf;
  for (size_t i = 1; i < levels; ++i) text += "]}";
  return text + "]";
}

TEST(TreeSpec, LimitsNesting) {
  EXPECT_EQ(checkTreeSpec(nested(256)), 1u);
  EXPECT_MENTIONS(faultOf(nested(257)), "nested deeper than 256 levels");
  EXPECT_MENTIONS(faultOf(nested(100'000)), "nesting deeper than 1024 levels");
}

}  // namespace
}  // namespace edgefx::detail

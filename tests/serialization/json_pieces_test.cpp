#include "serialization/json_pieces.h"

#include <edgefx/program/check_program.h>

#include "serialization/expect_error.h"
#include "serialization/read_program.h"
#include "serialization/saved_json.h"
#include "support/program_builder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx::detail {
namespace {

// A list without its brackets, of more than a piece: most items are small, some hold lists of such items.
std::string longList(size_t items) {
  std::string list;
  for (size_t i = 0; i < items; ++i) {
    list += fmt::format(R"({}{{"target": {}, "text": "}}, {{\"target\": ")", i == 0 ? "" : ", ", i);
    if (i % 7 == 0) {
      list += R"(, "inner": [)";
      for (size_t j = 0; j < 2 * i; ++j) list += fmt::format(R"({}{{"target": -1}})", j == 0 ? "" : ", ");
      list += "]";
    }
    list += "}";
  }
  return list;
}

std::vector<int64_t> targetsIn(JsonValue list) {
  std::vector<int64_t> targets;
  for (JsonValue item : list.get_array()) targets.push_back(item["target"].get_int64());
  return targets;
}

TEST(JsonPieces, GiveAllItemsOnce) {
  const std::string text = longList(1'000);
  JsonPieces pieces(JsonPieces::Kind::Items, text, "target");
  std::vector<int64_t> found;
  size_t count = 0;
  while (std::optional<JsonValue> piece = pieces.next()) {
    for (int64_t target : targetsIn(*piece)) found.push_back(target);
    ++count;
  }
  EXPECT_GT(count, 10u);
  ASSERT_EQ(found.size(), 1'000u);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int64_t>(i));
}

TEST(JsonPieces, GiveAllMembersOnce) {
  std::string text;
  for (size_t i = 0; i < 10'000; ++i) {
    text += fmt::format(R"({}"v\"{}, {{": {{"dtype": {}, "n": {{"dtype": {{"dtype": 1}}}}}})",
                        i == 0 ? "" : ", ", i, i);
    text += fmt::format(R"(, "w{}": {{"dtype": {}, "n": {{"a": {{}}, "b": {{"dtype": 1}}}}}})", i, i);
  }
  JsonPieces pieces(JsonPieces::Kind::Members, text, "dtype");
  size_t count = 0;
  int64_t members = 0;
  while (std::optional<JsonValue> piece = pieces.next()) {
    ++count;
    for (auto field : piece->get_object()) {
      EXPECT_EQ(int64_t(field.value["dtype"].get_int64()), members / 2);
      const int64_t at = members / 2;
      EXPECT_EQ(field.key, members % 2 == 0 ? fmt::format("v\"{}, {{", at) : fmt::format("w{}", at));
      ++members;
    }
  }
  EXPECT_GT(count, 10u);
  EXPECT_EQ(members, 20'000);
}

bool isReadWhole(const std::string& body) {
  JsonPieces pieces(JsonPieces::Kind::Items, body, "target");
  try {
    while (pieces.next()) {
    }
  } catch (const JsonPieces::NotInPieces&) {
    return false;
  }
  return true;
}

TEST(JsonPieces, RefuseWhatIsNoList) {
  const std::string text = longList(600);
  ASSERT_TRUE(isReadWhole(text));
  EXPECT_FALSE(isReadWhole(text.substr(0, text.size() - 1)));
  EXPECT_FALSE(isReadWhole(text.substr(1)));
  EXPECT_FALSE(isReadWhole(text + ","));
  EXPECT_FALSE(isReadWhole(text + "], [" + text));
  EXPECT_FALSE(isReadWhole(text + ", ]"));
  for (size_t at = 100; at < text.size(); at += text.size() / 37) {
    std::string broken = text;
    broken.insert(text.find(R"(\": "})", at) + 5, "]");
    EXPECT_FALSE(isReadWhole(broken)) << at;
  }
}

// Hundreds of operators, with a conditional here and there whose branches are as long.
ExportedProgram longProgram() {
  test::ProgramBuilder builder;
  Node& x = builder.userInput("x", test::tensorValue({2}));
  Node& chosen = builder.userInput("chosen", test::tensorValue({}, Dtype::Bool));
  auto branch = [&](size_t length) {
    auto graph = std::make_unique<Graph>();
    Node* last = &graph->placeholder("arg0_1");
    last->setValue(test::tensorValue({2}));
    for (size_t i = 0; i < length; ++i) {
      last = &graph->call("aten.relu.default", {*last});
      last->setValue(test::tensorValue({2}));
    }
    graph->output(Arg::tuple({*last}));
    return graph;
  };
  Node* last = &x;
  for (size_t i = 0; i < 600; ++i) {
    last = &builder.call("aten.relu.default", {*last}, test::tensorValue({2}));
    last->editMeta([&](NodeMeta& meta) { meta.set("stack_trace", fmt::format("line {}", i / 3)); });
    if (i % 200 != 100) continue;
    Node& yes = builder.branch(fmt::format("yes_{}", i), branch(2 * i));
    Node& no = builder.branch(fmt::format("no_{}", i), branch(i));
    Node& both = builder.call("higher_order.cond", {chosen, yes, no, Arg::list({*last})},
                              ValueMeta::of(ValueMeta::Sequence{{test::tensorValue({2})}}));
    last = &builder.call("operator.getitem", {both, 0}, test::tensorValue({2}));
  }
  builder.userOutput(*last);
  return builder.finish();
}

ExportedProgram readJson(const std::string& json) {
  JsonDocument document;
  LoadCaches caches;
  return readProgramJson(document, json, "model", caches, {});
}

// The same text in a form that is not cut.
std::string uncut(std::string json) {
  return json.insert(1, " ");
}

std::string replaced(std::string text, std::string_view from, std::string_view to, bool first = true) {
  text.replace(first ? text.find(from) : text.rfind(from), from.size(), to);
  return text;
}

TEST(CutProgram, GivesTheProgramOfTheWholeText) {
  const std::string json = test::SavedJson(longProgram()).text();
  ASSERT_TRUE(cutProgram(json));
  EXPECT_FALSE(cutProgram(uncut(json)));
  EXPECT_LT(cutProgram(json)->rest.size(), 5'000u);
  const ExportedProgram cut = readJson(json), whole = readJson(uncut(json));
  EXPECT_EQ(test::SavedJson(cut).text(), json);
  EXPECT_EQ(test::SavedJson(whole).text(), json);
  EXPECT_TRUE(checkProgram(cut).empty());
}

TEST(CutProgram, KeepsUnknownMembers) {
  std::string json = test::SavedJson(longProgram()).text();
  json = replaced(json, R"("metadata": {}, )", R"("metadata": {}, "new": {"a": [1]}, )", false);
  json = replaced(json, R"({"dtype": )", R"({"newer": "b", "dtype": )", false);
  const ExportedProgram cut = readJson(json), whole = readJson(uncut(json));
  EXPECT_EQ(cut.unknownMembers.size(), 2u);
  EXPECT_EQ(cut.unknownMembers, whole.unknownMembers);
}

TEST(CutProgram, FaultsAreThoseOfTheWholeText) {
  const std::string json = test::SavedJson(longProgram()).text();
  const struct {
    std::string_view from, to;
    bool first;
  } faults[] = {
      {R"("target": "torch.ops.aten.relu.default")", R"("target": "os.system")", false},
      {R"("target": "torch.ops.aten.relu.default")",
       R"("target": "torch.ops.aten.relu.default", "target": 1)", false},
      {R"("outputs": [{"as_tensor": {"name": "relu_599"}}], "metadata")",
       R"("outputs": [{"as_tensor": {"name": "relu_3"}}], "metadata")", true},
      {R"({"name": "relu_300"})", R"({"name": "nobody"})", true},
      {R"("relu_310": {"dtype")", R"("relu_309": {"dtype")", false},
      {R"("relu_310": {"dtype": 7)", R"("relu_310": {"dtype": "7")", false},
      {R"("nodes": [)", R"("nodes": [[], )", true},
      {R"("sym_int_values": {})", R"("nodes": [], "sym_int_values": {})", false},
      {R"("sym_int_values": {})", R"("tensor_values": {}, "sym_int_values": {})", false},
      {R"("schema_version": {"major": 8)", R"("schema_version": {"major": 9)", true},
  };
  for (const auto& fault : faults) {
    const std::string broken = replaced(json, fault.from, fault.to, fault.first);
    ASSERT_NE(broken, json) << fault.from;
    const std::string error = test::errorOf<Error>([&] { readJson(broken); });
    EXPECT_EQ(error, test::errorOf<Error>([&] { readJson(uncut(broken)); })) << fault.to;
    EXPECT_MENTIONS(error, "model") << fault.to;
  }
  const size_t middle = json.size() / 2;
  const std::string broken = json.substr(0, middle) + "\x01" + json.substr(middle);
  EXPECT_MENTIONS(test::errorOf<ParseError>([&] { readJson(broken); }), "byte");
}

// A graph among the results, which is refused, must not be taken for that of the program.
TEST(CutProgram, NodesOfAnotherGraphAreNotTakenForTheProgramsOwn) {
  const std::string json = test::SavedJson(longProgram()).text();
  const size_t graph = json.find(R"({"inputs": )"), end = json.find(R"("signature": )");
  const std::string text = json.substr(graph, end - 2 - graph);
  const std::string moved =
      replaced(json, text,
               R"({"inputs": [], "outputs": [{"as_graph": {"name": "g", "graph": )" + text +
                   R"(}}], "nodes": [], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}, )"
                   R"("is_single_tensor_return": false})");
  EXPECT_FALSE(cutProgram(moved));
  EXPECT_MENTIONS(test::errorOf<Error>([&] { readJson(moved); }), "a graph cannot be an output");
}

}  // namespace
}  // namespace edgefx::detail

#include <edgefx/ir/fx_text.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/serialization/pt2.h>

#include "serialization/equal_programs.h"
#include "serialization/expect_error.h"
#include "serialization/saved_json.h"
#include "serialization/test_zip.h"
#include "serialization/zip_reader.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

// The records of delegates: what they hold, and what is refused.
namespace edgefx::test {
namespace {

class LoweredRecords : public testing::Test {
 protected:
  std::map<std::string, std::string> saved(const ExportedProgram& program) {
    saveProgram(program, dir_ / "saved.pt2");
    return recordsOf(dir_ / "saved.pt2");
  }

  // Loads the file with one record changed.
  template <typename E = ParseError>
  std::string errorWith(const ExportedProgram& program, std::string_view record, std::string_view from,
                        std::string_view to) {
    TestZip zip;
    bool isThere = false;
    for (auto& [name, content] : saved(program)) {
      TestRecord& copy = zip.records.emplace_back();
      copy.name = "root/" + name;
      copy.content = content;
      if (name != record) continue;
      const size_t at = copy.content.find(from);
      isThere = at != std::string::npos;
      if (isThere) copy.content.replace(at, from.size(), to);
    }
    EXPECT_TRUE(isThere) << record << " has no " << from;
    writeFile(dir_ / "changed.pt2", zip.bytes());
    return errorOf<E>([&] { loadProgram(dir_ / "changed.pt2"); });
  }

  TempDir dir_;
};

TEST_F(LoweredRecords, TheModelsJsonStaysReadable) {
  ExportedProgram program = loweredProgram();
  SavedJson json(program);
  EXPECT_EQ(json.graph("/nodes/0/target"), "\"torch.ops.aten.mul.Tensor\"");
  EXPECT_EQ(json.graph("/nodes/1/target"), "\"torch.ops.higher_order.executorch_call_delegate\"");
  EXPECT_EQ(json.graph("/nodes/1/inputs/0"),
            R"({"name": "", "arg": {"as_string": "lowered_module_0"}, "kind": 1})");
  EXPECT_EQ(
      json.graph("/nodes/1/outputs"),
      R"([{"as_tensor": {"name": "executorch_call_delegate_unused_0"}}, {"as_tensor": {"name": "getitem"}}])");
  EXPECT_EQ(json.at("/verifiers"), R"(["ATEN"])");
}

TEST_F(LoweredRecords, EachHasItsPlace) {
  std::map<std::string, std::string> records = saved(loweredProgram());
  std::vector<std::string> names;
  for (const auto& [name, content] : records) {
    if (name.find("edgefx") != std::string::npos) names.push_back(name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"data/edgefx/model.json", "data/edgefx_lowered/0/constants_config.json",
                                      "data/edgefx_lowered/0/data_0", "data/edgefx_lowered/0/data_2",
                                      "data/edgefx_lowered/0/edge.json", "data/edgefx_lowered/0/module.json",
                                      "data/edgefx_lowered/0/payload", "data/edgefx_lowered/0/program.json",
                                      "data/edgefx_lowered/0/sample_inputs.pt",
                                      "data/edgefx_lowered/0/weights_config.json"}));
  using namespace std::string_literals;
  EXPECT_EQ(records.at("data/edgefx_lowered/0/payload"), "\0\x01payload of \xff\xfesample"s);
  EXPECT_EQ(
      records.at("data/edgefx_lowered/0/module.json"),
      R"({"backend_id": "sample", "compile_specs": [{"key": "level", "value": "AID/"}, {"key": "empty", "value": ""}, )"
      R"({"key": "text", "value": "ZmFzdA=="}], "debug_handle_map": [[7, [1, 2, 3]], ["n\u00e9", []], [-1, [9]]], )"
      R"("named_data": [{"key": "first", "record": "0/data_0", "alignment": 16, "external_tag": ""}, )"
      R"({"key": "second", "record": "0/data_0", "alignment": 1, "external_tag": "other.ptd"}, )"
      R"({"key": "none", "record": "0/data_2", "alignment": 4, "external_tag": ""}]})");
  EXPECT_EQ(
      records.at("data/edgefx/model.json"),
      R"({"dialect": "EDGE", "modules": [{"path": "", "delegates": [{"name": "lowered_module_0", "number": 0}], )"
      R"("get_attrs": [{"name": "lowered_module_0", "target": "lowered_module_0", "metadata": {}, )"
      R"("calls": [{"at": 1, "is_list": true}]}]}], "metadata": [{"path": "", "node": "getitem", "entries": {}}]})");
}

TEST_F(LoweredRecords, SharedWeightsAreWrittenOnce) {
  std::map<std::string, std::string> records = saved(loweredProgram());
  const auto weights = std::count_if(records.begin(), records.end(), [](const auto& record) {
    return record.first.starts_with("data/weights/weight_");
  });
  EXPECT_EQ(weights, 2);
  EXPECT_MENTIONS(records.at("data/edgefx_lowered/0/weights_config.json"),
                  R"("weight": {"path_name": "weights/weight_0")");
  EXPECT_MENTIONS(records.at("data/weights/model_weights_config.json"),
                  R"("weight": {"path_name": "weight_0")");
}

TEST_F(LoweredRecords, OtherModelsAreNotTouched) {
  for (const auto& [name, content] : saved(tinyProgram())) EXPECT_EQ(name.find("edgefx"), std::string::npos);
}

TEST_F(LoweredRecords, ADelegateCannotHoldItselfOrALaterOne) {
  ExportedProgram program = branchedLoweredProgram();
  const auto records = saved(program);
  const std::string inner = "data/edgefx_lowered/2/edge.json";
  ASSERT_TRUE(records.contains(inner));
  for (const char* number : {"2", "3", "9223372036854775807"}) {
    std::string error = errorWith(program, inner, R"("number": 1)", "\"number\": " + std::string(number));
    EXPECT_MENTIONS(error, "holds delegate");
    EXPECT_MENTIONS(error, inner);
  }
}

TEST_F(LoweredRecords, WhatIsMissingOrMalformedIsNamed) {
  ExportedProgram program = loweredProgram();
  const std::string edge = "data/edgefx/model.json", module = "data/edgefx_lowered/0/module.json";
  EXPECT_MENTIONS(errorWith(program, edge, R"("number": 0)", R"("number": 5)"),
                  "data/edgefx_lowered/5/module.json");
  EXPECT_MENTIONS(errorWith(program, edge, R"("number": 0)", R"("number": -1)"), "must not be negative");
  EXPECT_MENTIONS(errorWith(program, edge, R"("name": "lowered_module_0")", R"("name": "a.b")"),
                  "cannot name a delegate");
  EXPECT_MENTIONS(errorWith(program, edge, R"("target": "lowered_module_0")", R"("target": "x")"),
                  "there is no delegate 'x'");
  EXPECT_MENTIONS(errorWith(program, edge, R"("at": 1)", R"("at": 7)"), "the graph has 2");
  EXPECT_MENTIONS(errorWith(program, edge, R"("at": 1)", R"("at": 0)"), "does not call delegate");
  EXPECT_MENTIONS(errorWith(program, edge, R"("path": "")", R"("path": "no")"), "does not exist");
  EXPECT_MENTIONS(errorWith(program, module, "AID/", "AID"), "must be base64");
  EXPECT_MENTIONS(errorWith(program, module, R"("alignment": 16)", R"("alignment": 0)"), "at least 1");
  EXPECT_MENTIONS(errorWith(program, module, "0/data_0", "0/data_9"), "data/edgefx_lowered/0/data_9");
  EXPECT_MENTIONS(errorWith(program, module, "[7, [1, 2, 3]]", "[7]"), "expected an identifier");
  EXPECT_MENTIONS(
      errorWith(program, "data/edgefx_lowered/0/weights_config.json", "weights/weight_0", "weight_0"),
      "is no name of a record");
  EXPECT_MENTIONS(errorWith(program, "data/edgefx_lowered/0/weights_config.json", "weights/weight_0",
                            "weights/../weight_0"),
                  "is no name of a record");
}

TEST_F(LoweredRecords, AnOrderMustBeOne) {
  ExportedProgram program = loweredProgram();
  Graph& graph = program.graph();
  graph.find("lowered_module_0")->moveBefore(*graph.find("mul"));
  const std::string edge = "data/edgefx/model.json";
  EXPECT_MENTIONS(errorWith(program, edge, R"("lowered_module_0", "mul", "executorch_call_delegate")",
                            R"("lowered_module_0", "executorch_call_delegate", "mul")"),
                  "would come after one that uses it");
  EXPECT_MENTIONS(errorWith(program, edge, R"("p_weight", "x")", R"("x", "p_weight")"), "would come after");
  // Names that are not those of the nodes leave the order as it is.
  EXPECT_EQ(errorWith(program, edge, R"("nodes": ["p_weight", )", R"("nodes": ["another", )"),
            "no exception");
}

// An inner program that does not hold together.
TEST_F(LoweredRecords, InnerProgramsAreVerified) {
  ExportedProgram program = loweredProgram();
  std::string error = errorWith<VerificationError>(program, "data/edgefx_lowered/0/weights_config.json",
                                                   R"("bias")", R"("bios")");
  EXPECT_MENTIONS(error, "data/edgefx_lowered/0/program.json");

  LoweredModule broken = sampleLowered(tinyProgram());
  broken.program.stateDict().erase("weight");
  addLoweredModule(program.graphModule(), "broken", std::make_shared<LoweredModule>(std::move(broken)));
  EXPECT_MENTIONS(errorOf<VerificationError>([&] { saveProgram(program, dir_ / "broken.pt2"); }),
                  "in delegate 'broken' of backend 'sample'");
}

// Each delegate around the program before.
ExportedProgram nestedProgram(size_t depth) {
  ExportedProgram program = tinyProgram();
  for (size_t i = 0; i < depth; ++i) {
    ExportedProgram outer = tinyProgram();
    addLoweredModule(outer.graphModule(), "inner",
                     std::make_shared<LoweredModule>(sampleLowered(std::move(program))));
    program = std::move(outer);
  }
  return program;
}

TEST_F(LoweredRecords, DelegatesNestToACertainDepth) {
  ExportedProgram program = nestedProgram(32);
  saveProgram(program, dir_ / "deep.pt2");
  expectEqualPrograms(program, loadProgram(dir_ / "deep.pt2"));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveProgram(nestedProgram(33), dir_ / "deeper.pt2"); }),
                  "deeper than 32 levels");
}

TEST_F(LoweredRecords, ADelegateIsOnlyForCalls) {
  ExportedProgram program = loweredProgram();
  Node& call = *program.graph().find("executorch_call_delegate");
  call.setArg(1, call.arg(0));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveProgram(program, dir_ / "a.pt2"); }), "in argument 1");

  ExportedProgram other = loweredProgram();
  {
    InsertionGuard guard(other.graph(), before(*other.graph().find("executorch_call_delegate")));
    Node& getAttr = other.graph().getAttr("lowered_module_0");
    other.graph().call("higher_order.other", {getAttr}, {}, "other");
  }
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveProgram(other, dir_ / "b.pt2"); }),
                  "only as the first argument of executorch_call_delegate");
}

TEST_F(LoweredRecords, ATextThatNamesADelegateStaysAText) {
  ExportedProgram program = loweredProgram();
  Node& call = *program.graph().find("executorch_call_delegate");
  call.setArg(0, "lowered_module_0");
  saveProgram(program, dir_ / "text.pt2", {.verify = false});
  ExportedProgram loaded = loadProgram(dir_ / "text.pt2", {}, {.verify = false});
  EXPECT_TRUE(loaded.graph().find("executorch_call_delegate")->arg(0).isString());
  EXPECT_EQ(fxText(loaded.graph()), fxText(program.graph()));
  EXPECT_NE(loaded.graphModule().findDelegate("lowered_module_0"), nullptr);
}

TEST(ExportPayloads, WritesEachPayloadUnderItsName) {
  TempDir dir;
  Archive archive;
  archive.models.push_back({"a.b/ü", loweredProgram()});
  archive.models.push_back({"forward", branchedLoweredProgram()});
  std::vector<std::filesystem::path> files = exportPayloads(archive, dir / "made/payloads");
  std::vector<std::string> names;
  for (const auto& file : files) names.push_back(file.filename().string());
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "a%2Eb%2F%C3%BC.lowered_module_0.bin", "forward.lowered_module_0.bin",
                "forward.lowered_module_1.bin", "forward.lowered_module_1.true_graph_0.lowered_module_0.bin",
                "forward.true_graph_0.lowered_module_0.bin", "forward.false_graph_0.lowered_module_0.bin"}));
  using namespace std::string_literals;
  EXPECT_EQ(readFile(files[0]), "\0\x01payload of \xff\xfesample"s);
  EXPECT_EQ(readFile(files[3]), "\0\x01payload of \xff\xfeinnermost"s);
  writeFile(dir / "file", "");
  EXPECT_MENTIONS(errorOf<Error>([&] { exportPayloads(archive, dir / "file"); }), (dir / "file").string());
}

}  // namespace
}  // namespace edgefx::test

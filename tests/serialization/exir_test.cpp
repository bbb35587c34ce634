#include <edgefx/ir/fx_text.h>
#include <edgefx/program/check_program.h>
#include <edgefx/serialization/exir.h>
#include <edgefx/serialization/payloads.h>
#include <edgefx/support/warning.h>

#include "serialization/equal_programs.h"
#include "serialization/expect_error.h"
#include "serialization/saved_json.h"
#include "support/lowered_builder.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <gtest/gtest.h>

#include <limits>

// ExecuTorch's own form of programs.
namespace edgefx::test {
namespace {

class ExirFiles : public testing::Test {
 protected:
  ExirFiles() : before_(setWarningHandler({})) {}
  ~ExirFiles() override { setWarningHandler(before_); }

  std::map<std::string, std::string> saved(const ExportedProgram& program) {
    saveExir(program, dir_ / "saved.pt2");
    std::map<std::string, std::string> records;
    for (auto& [name, content] : recordsOf(dir_ / "saved.pt2")) records.emplace(name, content);
    return records;
  }
  SavedJson json(const ExportedProgram& program) {
    return SavedJson(saved(program).at("serialized_exported_program.json"));
  }
  ExportedProgram reloaded(const ExportedProgram& program) {
    saveExir(program, dir_ / "saved.pt2");
    return loadProgram(dir_ / "saved.pt2");
  }

  TempDir dir_;

 private:
  WarningHandler before_;
};

// Texts of the program and of all delegates in it.
std::string allText(const ExportedProgram& program) {
  std::string all = fxText(program.graphModule()) + text(program.signature);
  for (const DelegatePayload& payload : delegatePayloads(program, "m"))
    all += "\n" + payload.path + "\n" + fxText(payload.module->program.graphModule());
  return all;
}

TEST_F(ExirFiles, LieFlatInTheOrderOfPython) {
  ExportedProgram program = loweredProgram();
  program.exampleInputs = SharedBytes::copyOf("inputs");
  std::map<std::string, std::string> records = saved(program);
  EXPECT_EQ(records.size(), 5u);
  EXPECT_EQ(records.at("version"), "5.4");
  EXPECT_EQ(records.at("serialized_example_inputs.pt"), "inputs");
  EXPECT_TRUE(records.contains("serialized_state_dict.pt"));
  EXPECT_TRUE(records.contains("serialized_constants.pt"));
  const std::string first = readFile(dir_ / "saved.pt2").substr(30, 32);
  EXPECT_EQ(first, "serialized_exported_program.json");
}

TEST_F(ExirFiles, NameTheSchemaAndTheVerifier) {
  SavedJson file = json(loweredProgram());
  EXPECT_EQ(file.at("/schema_version"), R"({"major": 5, "minor": 4})");
  EXPECT_EQ(file.at("/dialect"), R"("")");
  EXPECT_EQ(file.at("/verifiers"), R"(["EDGE"])");
  for (const char* later :
       {"/torch_version", "/guards_code", "/graph_module/metadata",
        "/graph_module/treespec_namedtuple_fields", "/graph_module/graph/sym_float_values",
        "/graph_module/module_call_graph/0/signature/forward_arg_names"}) {
    EXPECT_EQ(file.at(later), "no such member") << later;
  }
}

TEST_F(ExirFiles, NodesBeginWithTheirNameAndHaveNoKinds) {
  SavedJson file = json(loweredProgram());
  EXPECT_EQ(
      file.graph("/nodes/0"),
      R"({"name": "mul", "target": "executorch.exir.dialects.edge.ops.aten.mul.Tensor", "inputs": )"
      R"([{"name": "self", "arg": {"as_tensor": {"name": "x"}}}, {"name": "other", "arg": {"as_tensor": {"name": "p_weight"}}}], )"
      R"("outputs": [{"as_tensor": {"name": "mul"}}], "metadata": {}})");
  EXPECT_EQ(file.graph("/tensor_values/x"),
            R"({"dtype": 7, "sizes": [{"as_int": 4}], "requires_grad": false, "device": {"type": "cpu"}, )"
            R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})");
}

TEST_F(ExirFiles, HoldDelegatesInPlaceOfAnArgument) {
  ExportedProgram program = loweredProgram();
  SavedJson file = json(program);
  EXPECT_EQ(file.graph("/nodes/1/target"), "\"torch.ops.higher_order.executorch_call_delegate\"");
  EXPECT_EQ(file.graph("/nodes/1/inputs/0/name"), "\"lowered_module_0\"");
  EXPECT_EQ(file.graph("/nodes/1/inputs/1"),
            R"({"name": "delegate_arg_0", "arg": {"as_tensor": {"name": "mul"}}})");
  EXPECT_EQ(file.graph("/nodes/1/metadata"), R"({"debug_handle": "12"})");
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.parse(file.graph("/nodes/1/inputs/0/arg"));
  SavedJson module{std::string(std::string_view(root.at_key("as_string").value()))};
  EXPECT_EQ(module.at("/backend_id"), R"("sample")");
  EXPECT_EQ(module.at("/processed_bytes"), R"("AAFwYXlsb2FkIG9mIP/+c2FtcGxl")");
  EXPECT_EQ(module.at("/compile_specs/0"), R"({"key": "level", "value": "AID/"})");
  EXPECT_EQ(module.at("/original_module/schema_version"), R"({"major": 5, "minor": 4})");
  EXPECT_EQ(module.at("/original_module/graph_module/graph/nodes/0/target"),
            R"("executorch.exir.dialects.edge.ops.aten.mul.Tensor")");
  EXPECT_NE(module.at("/original_state_dict"), "no such member");
  EXPECT_NE(module.at("/original_constants"), "no such member");
  EXPECT_NE(module.at("/named_data_store"), "no such member");
}

TEST_F(ExirFiles, DelegatesComeBack) {
  for (const ExportedProgram& program : {loweredProgram(), branchedLoweredProgram()}) {
    ExportedProgram loaded = reloaded(program);
    EXPECT_EQ(allText(loaded), allText(program));
    EXPECT_EQ(loaded.dialect, program.dialect);
    std::vector<DelegatePayload> before = delegatePayloads(program, "m"),
                                 after = delegatePayloads(loaded, "m");
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      const LoweredModule &was = *before[i].module, &is = *after[i].module;
      EXPECT_EQ(was.backendId, is.backendId);
      EXPECT_EQ(was.processedBytes.text(), is.processedBytes.text());
      EXPECT_EQ(was.compileSpecs, is.compileSpecs);
      EXPECT_EQ(was.program.dialect, is.program.dialect);
      ASSERT_EQ(was.namedData.size(), is.namedData.size());
      for (size_t j = 0; j < was.namedData.size(); ++j) {
        EXPECT_EQ(was.namedData[j].key, is.namedData[j].key);
        EXPECT_EQ(was.namedData[j].bytes.text(), is.namedData[j].bytes.text());
        EXPECT_EQ(was.namedData[j].alignment, is.namedData[j].alignment);
        EXPECT_EQ(was.namedData[j].externalTag, is.namedData[j].externalTag);
      }
      EXPECT_EQ(was.program.stateDict().size(), is.program.stateDict().size());
      for (const auto& [name, stored] : was.program.stateDict()) {
        ASSERT_NE(is.program.stateDict().find(name), nullptr);
        EXPECT_EQ(asText(stored.storage()), asText(is.program.stateDict().find(name)->storage()));
      }
    }
  }
}

TEST_F(ExirFiles, RandomProgramsComeBack) {
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ExportedProgram program = randomLoweredProgram(seed);
    ExportedProgram loaded = reloaded(program);
    EXPECT_EQ(allText(loaded), allText(program));
    const std::string first = readFile(dir_ / "saved.pt2");
    saveExir(loaded, dir_ / "saved.pt2");
    EXPECT_TRUE(readFile(dir_ / "saved.pt2") == first);
  }
}

// Numbers of element types differ from torch's, and what is not finite is a bare word.
TEST_F(ExirFiles, NumbersAreThoseOfExecuTorch) {
  ProgramBuilder builder;
  int64_t number = 14;
  std::vector<Node*> inputs;
  for (Dtype dtype : {Dtype::UInt16, Dtype::Float8E5M2, Dtype::Float8E4M3FN}) {
    inputs.push_back(&builder.userInput("x_" + std::to_string(number++), tensorValue({2}, dtype)));
  }
  Node& cast = builder.call("aten._to_copy.default", {*inputs[0]}, tensorValue({2}, Dtype::UInt16));
  cast.setKwarg("dtype", Dtype::UInt16);
  Node& fill = builder.call("aten.fill.Scalar", {cast, -std::numeric_limits<double>::infinity()},
                            tensorValue({2}, Dtype::UInt16));
  builder.userOutput(fill);
  ExportedProgram program = builder.finish();
  program.rangeConstraints = {{"s0", 2, std::nullopt}, {"u0", std::nullopt, std::nullopt}};
  const std::string json = saved(program).at("serialized_exported_program.json");
  for (int i = 14; i <= 16; ++i) {
    EXPECT_MENTIONS(json, "\"x_" + std::to_string(i) + "\": {\"dtype\": " + std::to_string(i) + ",");
  }
  EXPECT_MENTIONS(json, R"({"as_scalar_type": 14})");
  EXPECT_MENTIONS(json, R"({"as_float": -Infinity})");
  EXPECT_MENTIONS(json, R"("s0": {"min_val": 2, "max_val": Infinity})");
  EXPECT_MENTIONS(json, R"("u0": {"min_val": -Infinity, "max_val": Infinity})");
  ExportedProgram loaded = loadProgram(dir_ / "saved.pt2");
  EXPECT_EQ(allText(loaded), allText(program));
  EXPECT_EQ(loaded.rangeConstraints, program.rangeConstraints);
  for (Node* input : inputs)
    EXPECT_EQ(*loaded.graph().find(input->name())->value()->tensor(), *input->value()->tensor());
}

// Every program of the corpus that the form can hold, as edge program: what comes back is written the same,
// and differs only in arguments that are given by name where both would do.
TEST_F(ExirFiles, CorpusProgramsComeBack) {
  size_t held = 0, refused = 0;
  for (const CorpusProgram& source : corpusPrograms()) {
    SCOPED_TRACE(source.name);
    ExportedProgram program = loadProgram(source.file, source.model);
    wrapAsEdge(program);
    try {
      saveExir(program, dir_ / "first.pt2");
    } catch (const UnsupportedError&) {
      ++refused;
      continue;
    }
    ExportedProgram loaded = loadProgram(dir_ / "first.pt2");
    EXPECT_EQ(loaded.dialect, Dialect::Edge);
    EXPECT_EQ(loaded.signature, program.signature);
    EXPECT_EQ(loaded.rangeConstraints, program.rangeConstraints);
    EXPECT_EQ(sharingOf({&loaded.stateDict()}), sharingOf({&program.stateDict()}));
    auto other = loaded.stateDict().begin();
    ASSERT_EQ(loaded.stateDict().size(), program.stateDict().size());
    for (const auto& [name, stored] : program.stateDict()) {
      EXPECT_EQ(name, other->name);
      EXPECT_EQ(asText(stored.storage()), asText(other->value.storage()));
      ++other;
    }
    std::vector<ConstNestedModule> before = namedModules(std::as_const(program).graphModule());
    std::vector<ConstNestedModule> after = namedModules(std::as_const(loaded).graphModule());
    ASSERT_EQ(before.size(), after.size());
    for (size_t i = 0; i < before.size(); ++i) {
      const Node* is = after[i].module->graph().front();
      for (const Node& was : before[i].module->graph().nodes()) {
        ASSERT_NE(is, nullptr);
        EXPECT_EQ(was.name(), is->name());
        EXPECT_EQ(was.targetText(), is->targetText());
        EXPECT_EQ(was.numInputs(), is->numInputs());
        EXPECT_EQ(was.args().size() + was.kwargs().size(), is->args().size() + is->kwargs().size());
        is = is->next();
      }
    }
    saveExir(loaded, dir_ / "second.pt2");
    EXPECT_TRUE(readFile(dir_ / "first.pt2") == readFile(dir_ / "second.pt2"));
    ++held;
    if (HasFailure()) break;
  }
  EXPECT_GT(held, 50u);
  EXPECT_LT(refused, held / 4);
}

TEST_F(ExirFiles, ExtraFilesAreKept) {
  Archive archive;
  archive.models.push_back({"model", loweredProgram()});
  archive.foreign.push_back({"extra/notes.txt", SharedBytes::copyOf("notes")});
  saveExir(archive, dir_ / "extra.pt2");
  EXPECT_TRUE(recordsOf(dir_ / "extra.pt2").contains("notes.txt"));
  Archive loaded = loadArchive(dir_ / "extra.pt2");
  ASSERT_EQ(loaded.foreign.size(), 1u);
  EXPECT_EQ(loaded.foreign[0].name, "extra/notes.txt");
  archive.models.push_back({"second", loweredProgram()});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveExir(archive, dir_ / "two.pt2"); }),
                  "holds one program");
}

TEST_F(ExirFiles, WhatTheFormLacksIsRefused) {
  ProgramBuilder builder;
  Node& x = builder.userInput("x", tensorValue({2}));
  Node& call = builder.call("custom.lists.default", {x, Arg::list({Arg::tuple({1, 2})})}, tensorValue({2}));
  builder.userOutput(call);
  std::string error = errorOf<UnsupportedError>([&] { saveExir(builder.finish(), dir_ / "a.pt2"); });
  EXPECT_MENTIONS(error, "as_int_lists");
  EXPECT_MENTIONS(error, "node '%lists'");

  ProgramBuilder wide;
  wide.userOutput(wide.userInput("x", tensorValue({2}, Dtype::UInt64)));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveExir(wide.finish(), dir_ / "b.pt2"); }),
                  "torch.uint64");

  ExportedProgram nested = tinyProgram();
  for (size_t i = 0; i < 9; ++i) {
    ProgramBuilder outer;
    Node& input = outer.userInput("x", tensorValue({1, 4}));
    Node& inner = callDelegate(outer.program().graphModule(), "inner",
                               std::make_shared<LoweredModule>(sampleLowered(std::move(nested))), {input},
                               {tensorValue({1, 4})});
    outer.userOutput(getitem(inner, 0));
    nested = outer.finish();
  }
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { saveExir(nested, dir_ / "c.pt2"); }), "up to 8 levels");
}

}  // namespace
}  // namespace edgefx::test

#include <edgefx/ir/fx_text.h>
#include <edgefx/program/tensor_table.h>
#include <edgefx/serialization/pt2.h>
#include <edgefx/support/error.h>
#include <edgefx/support/warning.h>

#include "serialization/expect_error.h"
#include "serialization/test_zip.h"
#include "serialization/zip_reader.h"
#include "support/sha256.h"
#include "support/test_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>
#include <vector>

// What is read from real files, held against what Python said of them.
namespace edgefx::test {
namespace {

// The contiguous bytes of a strided view of a storage.
std::vector<std::byte> contiguousBytes(const StoredTensor& stored) {
  const TensorMeta& meta = *stored.meta();
  const size_t element = elementSize(meta.dtype);
  std::vector<std::byte> bytes;
  std::vector<int64_t> index(meta.sizes.size(), 0);
  for (const SymInt& size : meta.sizes) {
    if (size.value() == 0) return bytes;
  }
  while (true) {
    int64_t at = meta.storageOffset.value();
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * meta.strides[i].value();
    std::span<const std::byte> item = stored.storage().subspan(static_cast<size_t>(at) * element, element);
    bytes.insert(bytes.end(), item.begin(), item.end());
    size_t dim = index.size();
    while (dim > 0 && ++index[dim - 1] == meta.sizes[dim - 1].value()) index[--dim] = 0;
    if (dim == 0) return bytes;
  }
}

std::vector<int64_t> numbers(const std::vector<SymInt>& values) {
  std::vector<int64_t> plain;
  for (const SymInt& value : values) plain.push_back(value.value());
  return plain;
}

std::string describe(std::string_view table, const TensorTable::Entry& entry) {
  const TensorMeta& meta = *entry.value.meta();
  return fmt::format(
      "{} {} {} dtype={} sizes=[{}] strides=[{}] offset={} storage={} requires_grad={} sha256={}\n", table,
      entry.name, entry.value.isParameter ? "Parameter" : "Tensor", fxText(meta.dtype),
      fmt::join(numbers(meta.sizes), ", "), fmt::join(numbers(meta.strides), ", "),
      meta.storageOffset.value(), entry.value.storage().size(), meta.requiresGrad ? "True" : "False",
      sha256(contiguousBytes(entry.value)).substr(0, 16));
}

TEST(LoadArchive, TensorsAreThoseThatPythonSaw) {
  size_t compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(corpusRoots()[0])) {
    if (!exists(folder.path() / "tensors.txt") || !exists(folder.path() / "program.pt2")) continue;
    SCOPED_TRACE(folder.path().filename());
    ExportedProgram program = loadProgram(folder.path() / "program.pt2", {}, {.checkWeights = true});
    std::string text;
    for (const auto& entry : program.stateDict()) text += describe("state_dict", entry);
    for (const auto& entry : program.constants()) text += describe("constants", entry);
    if (text.empty()) text = "\n";  // a file of no lines is written as an empty one
    EXPECT_EQ(text, readFile(folder.path() / "tensors.txt"));
    ++compared;
  }
  EXPECT_GE(compared, 40u);
}

TEST(LoadArchive, RangesAreThoseThatPythonSaw) {
  size_t compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(corpusRoots()[0])) {
    if (!exists(folder.path() / "ranges.txt") || !exists(folder.path() / "program.pt2")) continue;
    SCOPED_TRACE(folder.path().filename());
    ExportedProgram program = loadProgram(folder.path() / "program.pt2");
    std::string ranges;
    for (const RangeConstraint& range : program.rangeConstraints)
      ranges += range.symbol + ": " + text(range) + "\n";
    EXPECT_EQ(ranges, readFile(folder.path() / "ranges.txt"));
    ++compared;
  }
  EXPECT_GE(compared, 5u);
}

// The texts of the cases: graph, "[path]" and graph of each nested module, "[signature]" and more.
TEST(LoadArchive, CasesReadAsPythonReadThem) {
  size_t compared = 0;
  WarningHandler old = setWarningHandler({});
  for (const CorpusProgram& program : corpusPrograms()) {
    if (program.kind != CorpusKind::Case) continue;
    SCOPED_TRACE(program.name);
    std::string expected = readFile(program.graphText);
    expected.resize(expected.find("\n[signature]\n"));
    ExportedProgram loaded = loadProgram(program.file);
    std::string graphs;
    for (const ConstNestedModule& nested : namedModules(std::as_const(loaded).graphModule())) {
      if (!nested.path.empty()) graphs += "\n[" + nested.path + "]\n";
      graphs += fxText(nested.module->graph()) + "\n";
    }
    EXPECT_EQ(graphs, expected);
    ++compared;
  }
  setWarningHandler(old);
  EXPECT_GE(compared, 30u);
}

TEST(LoadArchive, EdgeProgramsReadAsPythonHadThem) {
  size_t compared = 0;
  for (const auto& folder : std::filesystem::directory_iterator(corpusRoots()[0])) {
    const std::filesystem::path& path = folder.path();
    // A third text says that the file does not hold the edge program as it was.
    if (!exists(path / "edge.pt2") || !exists(path / "edge.graph.txt") || exists(path / "edge.pt2.graph.txt"))
      continue;
    SCOPED_TRACE(path.filename());
    ExportedProgram program = loadProgram(path / "edge.pt2");
    wrapAsEdge(program);
    EXPECT_EQ(fxText(program.graphModule()), readFile(path / "edge.graph.txt"));
    EXPECT_EQ(text(program.signature), readFile(path / "edge.signature.txt"));
    ++compared;
  }
  EXPECT_GE(compared, 35u);
}

// Case weight_views: views of one storage stay views of one storage.
TEST(LoadArchive, TensorsOverOneStorageShareIt) {
  ExportedProgram program = loadProgram(corpusRoots()[1] / "weight_views.pt2");
  std::set<const void*> storages;
  for (const char* name : {"full", "row", "col", "t", "p"}) {
    const StoredTensor* stored = program.stateDict().find(name);
    ASSERT_NE(stored, nullptr) << name;
    storages.insert(stored->storage().data());
    EXPECT_EQ(stored->storage().size(), 48u) << name;
  }
  EXPECT_EQ(storages.size(), 1u);
  EXPECT_EQ(program.stateDict().find("lone")->storage().size(), 400u);
  EXPECT_TRUE(program.stateDict().find("p")->isParameter);
  EXPECT_FALSE(program.stateDict().find("row")->isParameter);
}

TEST(LoadArchive, WeightsOfTheFlatLayoutAreTied) {
  ExportedProgram program = loadProgram(fixture("torch-2.6/tied_weights.pt2"));
  std::set<const void*> storages;
  for (const auto& entry : program.stateDict()) storages.insert(entry.value.storage().data());
  EXPECT_LT(storages.size(), program.stateDict().size());
}

// Case 30: newer majors are refused with both numbers, newer minors and unknown members are read and reported
// once.
TEST(LoadArchive, SchemaVersions) {
  std::vector<Warning> warnings;
  WarningHandler old = setWarningHandler([&](const Warning& warning) { warnings.push_back(warning); });
  std::string error =
      errorOf<UnsupportedError>([] { loadProgram(corpusRoots()[1] / "version_major_newer.pt2"); });
  EXPECT_MENTIONS(error, "9.0");
  EXPECT_MENTIONS(error, "8.20");
  EXPECT_TRUE(warnings.empty());

  ExportedProgram newer = loadProgram(corpusRoots()[1] / "version_minor_newer.pt2");
  EXPECT_EQ(newer.schemaVersion, (SchemaVersion{8, 999}));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_MENTIONS(warnings[0].message, "8.999");

  warnings.clear();
  ExportedProgram unknown = loadProgram(corpusRoots()[1] / "version_unknown_field.pt2");
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_EQ(unknown.unknownMembers.size(), 2u);
  TempDir dir;
  saveProgram(unknown, dir / "saved.pt2");
  EXPECT_EQ(loadProgram(dir / "saved.pt2").unknownMembers, unknown.unknownMembers);
  setWarningHandler(old);
}

// Case 29: an operator that nobody knows.
TEST(LoadArchive, UnknownOperatorsAreKept) {
  ExportedProgram program = loadProgram(corpusRoots()[1] / "custom_op.pt2");
  const Node* twist = program.graph().find("twist");
  ASSERT_NE(twist, nullptr);
  EXPECT_EQ(twist->target(), Target("mylib.twist.default"));
  EXPECT_EQ(twist->arg(1).asFloat(), 2.5);
  EXPECT_EQ(twist->findKwarg("mode")->asString(), "zz");
  EXPECT_EQ(twist->value()->sequence()->elements.size(), 2u);
}

// Cases 26 and 27.
TEST(LoadArchive, NumbersComeBackBitForBit) {
  ExportedProgram program = loadProgram(corpusRoots()[1] / "nonfinite_scalars.pt2");
  std::string text = fxText(program.graph());
  for (const char* part :
       {"-inf", "nan", "9223372036854775807", "-9223372036854775808", "-0.0", "1e-45", "0.1"}) {
    EXPECT_MENTIONS(text, part);
  }
}

TEST(LoadArchive, ModelsAreChosenByName) {
  EXPECT_EQ(loadArchive(fixture("multi_model/multi.pt2")).models.size(), 2u);
  std::string error = errorOf<UsageError>([] { loadProgram(fixture("multi_model/multi.pt2")); });
  EXPECT_MENTIONS(error, "'prefill'");
  EXPECT_MENTIONS(error, "'decode'");
  EXPECT_MENTIONS(errorOf<UsageError>([] { loadProgram(fixture("torch-2.6/names.pt2"), "x"); }), "'model'");
}

TEST(LoadArchive, UserFilesAreKept) {
  Archive archive = loadArchive(fixture("archive_extra_files/program.pt2"));
  ASSERT_FALSE(archive.foreign.empty());
  for (const Archive::Record& record : archive.foreign)
    EXPECT_TRUE(record.name.starts_with("extra/")) << record.name;
}

// What a strict reader refuses: an archive of torch 2.14 with one thing wrong, and what the error has to say.
class Refusals : public testing::Test {
 protected:
  Refusals() {
    std::string bytes = readFile(fixture("linear_atan_relu_core/program.pt2"));
    detail::ZipReader zip(asBytes(bytes), "source");
    for (const detail::ZipRecord& record : zip.records()) {
      zip_.records.push_back({.name = record.name, .content = std::string(zip.read(record).text())});
    }
  }

  TestRecord& record(std::string_view end) {
    for (TestRecord& candidate : zip_.records) {
      if (candidate.name.ends_with(end)) return candidate;
    }
    throw std::runtime_error("no record " + std::string(end));
  }
  void drop(std::string_view end) {
    std::erase_if(zip_.records, [&](const TestRecord& candidate) { return candidate.name.ends_with(end); });
  }
  // Replaces the first `from` behind `anchor` in a record.
  void edit(std::string_view end, std::string_view anchor, std::string_view from, std::string_view to) {
    std::string& text = record(end).content;
    size_t at = text.find(from, text.find(anchor));
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  }
  template <typename E = ParseError>
  std::string error() {
    std::filesystem::path path = dir_ / "file.pt2";
    writeFile(path, zip_.bytes());
    std::string text = errorOf<E>([&] { loadProgram(path); });
    EXPECT_MENTIONS(text, "file.pt2");
    return text;
  }

  static constexpr std::string_view kModel = "models/model.json";
  static constexpr std::string_view kWeights = "model_weights_config.json";
  TestZip zip_;
  TempDir dir_;
};

TEST_F(Refusals, LayoutOfTheArchive) {
  record("archive_format").content = "zip";
  EXPECT_MENTIONS(error(), "expected 'pt2', found 'zip'");
  record("archive_format").content = "pt2";
  record("archive_version").content = "1";
  EXPECT_MENTIONS(error(), "expected '0', found '1'");
  record("archive_version").content = "0";
  record("byteorder").content = "big";
  EXPECT_MENTIONS(error(), "expected 'little', found 'big'");
}

TEST_F(Refusals, NoArchiveFormat) {
  drop("archive_format");
  EXPECT_MENTIONS(error(), "neither a flat exported program nor a pt2 archive");
}

TEST_F(Refusals, NoVersion) {
  drop(".data/version");
  EXPECT_MENTIONS(error(), ".data/version");
}

TEST_F(Refusals, MissingRecordsAndWhoNeedsThem) {
  TestZip whole = zip_;
  for (std::string_view name : {kWeights, std::string_view("sample_inputs/model.pt")}) {
    zip_ = whole;
    drop(name);
    EXPECT_MENTIONS(error(), std::string(name));
    EXPECT_MENTIONS(error(), std::string(kModel));
  }
  zip_ = whole;
  drop("weight_1");
  EXPECT_MENTIONS(error(), "linear.bias");
  EXPECT_MENTIONS(error(), "weight_1");
  zip_ = whole;
  drop(kModel);
  EXPECT_MENTIONS(error(), "models/NAME.json");
}

TEST_F(Refusals, RecordsOutsideTheFolder) {
  zip_.records.push_back({.name = "elsewhere/extra/x", .content = "x"});
  EXPECT_MENTIONS(error(), "'elsewhere/extra/x'");
}

TEST_F(Refusals, TextThatIsNoJson) {
  std::string whole = record(kModel).content;
  for (auto [text, part] : std::vector<std::pair<std::string, std::string>>{
           {"", "byte 0"},
           {"\xef\xbb\xbf" + whole, "byte order mark"},
           {whole + "x", fmt::format("byte {}", whole.size())},
           {whole.substr(0, 1000), "unterminated string at byte"},
           {std::string(100000, '['), "nest"},
           {"{\"a\": 01}", "byte 6"}}) {
    record(kModel).content = text;
    EXPECT_MENTIONS(error(), part);
    EXPECT_MENTIONS(error(), std::string(kModel));
  }
}

TEST_F(Refusals, MembersOfStructs) {
  edit(kModel, "\"dtype\"", "\"dtype\": 7", "\"dtype\": \"7\"");
  EXPECT_MENTIONS(error(), "'dtype' must be an integer, found a string");
  EXPECT_MENTIONS(error(), "p_linear_weight");
}

// Metadata is read beside that of the node before.
class MetadataOfNodes : public Refusals {
 protected:
  // Gives the program's nodes these metadata objects, in order.
  void set(const std::vector<std::string>& objects) {
    std::string& json = record(kModel).content;
    size_t at = json.find("\"nodes\": [");
    for (const std::string& object : objects) {
      constexpr std::string_view kKey = "\"metadata\": ", kNext = ", \"is_hop_single_tensor_return\"";
      at = json.find(kKey, at) + kKey.size();
      json.replace(at, json.find(kNext, at) - at, object);
    }
  }
  // "key=text,...;" of each call, and "same;" if it shares the block of the one before.
  std::string loaded() {
    const std::filesystem::path path = dir_ / "file.pt2";
    writeFile(path, zip_.bytes());
    const ExportedProgram program = loadProgram(path);
    std::string text;
    const NodeMeta* last = nullptr;
    for (const Node& node : program.graph().nodes()) {
      if (!node.isCall()) continue;
      const NodeMeta* meta = node.metaRef().get();
      if (meta != nullptr && meta == last) {
        text += "same;";
        continue;
      }
      if (meta != nullptr) {
        for (const NodeMeta::Entry& entry : meta->entries()) text += entry.key + "=" + *entry.text + ",";
      }
      text += ";";
      last = meta;
    }
    return text;
  }
};

TEST_F(MetadataOfNodes, KeepTheirOrderAndShareEqualBlocks) {
  set({R"({"a": "1", "b": "2"})", R"({"a": "1", "b": "2"})", R"({"b": "2", "a": "1"})", R"({"b": "2"})"});
  EXPECT_EQ(loaded(), "a=1,b=2,;same;b=2,a=1,;b=2,;");
  set({R"({"a": "1"})", R"({"a": "1", "b": "2"})", R"({"a": "3", "b": "2", "c": "3"})", R"({})"});
  EXPECT_EQ(loaded(), "a=1,;a=1,b=2,;a=3,b=2,c=3,;;");
}

TEST_F(MetadataOfNodes, MustNotRepeatEntries) {
  for (std::string_view second : {R"({"a": "1", "a": "1"})", R"({"a": "3", "b": "2", "a": "1"})",
                                  R"({"a": "1", "b": "2", "a": "1"})", R"({"c": "1", "a": "1", "a": "2"})"}) {
    set({R"({"a": "1", "b": "2"})", std::string(second)});
    EXPECT_MENTIONS(error(), "metadata entry 'a' occurs twice");
  }
}

TEST_F(MetadataOfNodes, MustBeTexts) {
  set({R"({"a": "1", "b": "2"})", R"({"a": "1", "b": 2})"});
  EXPECT_MENTIONS(error(), "'b' must be a string, found an integer");
}

TEST_F(Refusals, DuplicateMembers) {
  edit(kModel, "\"verifiers\"", "\"verifiers\"", "\"verifiers\": [], \"verifiers\"");
  EXPECT_MENTIONS(error(), "'verifiers' of ExportedProgram occurs twice");
}

TEST_F(Refusals, MissingMembers) {
  edit(kModel, "\"tensor_values\"", "\"requires_grad\": true, ", "");
  EXPECT_MENTIONS(error(), "TensorMeta lacks its member 'requires_grad'");
}

TEST_F(Refusals, UnionsWithTwoTagsOrAnUnknownOne) {
  std::string whole = record(kModel).content;
  edit(kModel, "aten.atan", "{\"as_tensor\": {\"name\": \"addmm\"}}",
       "{\"as_tensor\": {\"name\": \"addmm\"}, \"as_int\": 3}");
  EXPECT_MENTIONS(error(), "needs exactly one tag");
  EXPECT_MENTIONS(error(), "atan");
  record(kModel).content = whole;
  edit(kModel, "aten.atan", "{\"as_tensor\": {\"name\": \"addmm\"}}", "{\"as_future\": 3}");
  EXPECT_MENTIONS(error(), "'as_future'");
  EXPECT_MENTIONS(error(), "atan");
}

TEST_F(Refusals, UnknownNumbers) {
  edit(kModel, "\"p_linear_weight\": {", "\"dtype\": 7", "\"dtype\": 99");
  EXPECT_MENTIONS(error(), "99");
  EXPECT_MENTIONS(error(), "p_linear_weight");
}

TEST_F(Refusals, SizesStridesAndOffsets) {
  std::string whole = record(kWeights).content;
  for (auto [from, to, part] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"\"sizes\": [{\"as_int\": 4}", "\"sizes\": [{\"as_int\": -4}", "-4"},
           {"\"sizes\": [{\"as_int\": 4}", "\"sizes\": [{\"as_int\": 4611686018427387904}", "overflow"},
           {"\"sizes\": [{\"as_int\": 4}", "\"sizes\": [{\"as_int\": 5}",
            "needs 80 bytes, record 'weight_0' has 64"},
           {"\"strides\": [{\"as_int\": 4}, ", "\"strides\": [", "2 sizes, but 1 strides"},
           {"\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}", "needs 68 bytes"},
           {"\"path_name\": \"weight_0\"", "\"path_name\": \"../weight_0\"", "../weight_0"},
           {"\"path_name\": \"weight_0\"", "\"path_name\": \"weight_7\"", "weight_7"},
           {"\"layout\": 7", "\"layout\": 2", "sparse_csr"},
           {"{\"as_int\": 4}", "{\"as_expr\": {\"expr_str\": \"Symbol('s0')\", \"hint\": null}}",
            "as_expr"}}) {
    record(kWeights).content = whole;
    edit(kWeights, "linear.weight", from, to);
    EXPECT_MENTIONS(error(), part);
    EXPECT_MENTIONS(error(), "linear.weight");
  }
}

TEST_F(Refusals, ABlobThatIsTooShort) {
  record("weight_0").content.clear();
  EXPECT_MENTIONS(error(), "needs 64 bytes, record 'weight_0' has 0");
}

TEST_F(Refusals, ValuesUsedBeforeTheirDefinitionOrDefinedTwice) {
  std::string whole = record(kModel).content;
  edit(kModel, "aten.atan", "{\"name\": \"addmm\"}", "{\"name\": \"relu\"}");
  EXPECT_MENTIONS(error(), "value 'relu' is used, but not defined before");
  record(kModel).content = whole;
  edit(kModel, "aten.atan", "\"outputs\": [{\"as_tensor\": {\"name\": \"atan\"}}]",
       "\"outputs\": [{\"as_tensor\": {\"name\": \"addmm\"}}]");
  EXPECT_MENTIONS(error(), "value 'addmm' is defined twice");
  record(kModel).content = whole;
  edit(kModel, "\"tensor_values\"", "\"atan\": {", "\"other\": {");
  EXPECT_MENTIONS(error(), "value 'atan' has no entry");
}

TEST_F(Refusals, ArgumentsAndTargets) {
  std::string whole = record(kModel).content;
  for (auto [anchor, from, to, part] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"aten.permute", "\"name\": \"dims\"", "\"name\": \"zzz\"", "has no argument 'zzz'"},
           {"aten.permute", "\"name\": \"dims\"", "\"name\": \"self\"", "argument 'self' is given twice"},
           {"", "torch.ops.aten.atan.default", "torch.os.system", "torch.os.system"},
           {"", "torch.ops.aten.atan.default", "os.system", "os.system"}}) {
    record(kModel).content = whole;
    edit(kModel, anchor, from, to);
    EXPECT_MENTIONS(error(), part);
  }
  record(kModel).content = whole;
  edit(kModel, "aten.addmm",
       ", {\"name\": \"mat2\", \"arg\": {\"as_tensor\": {\"name\": \"permute\"}}, \"kind\": 1}", "");
  EXPECT_MENTIONS(error(), "needs argument 'mat2'");
}

// Positional arguments go where the schema has them, whatever the order in the file.
TEST_F(Refusals, ButArgumentsInAnotherOrderAreReadByName) {
  const std::string bias =
      "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"p_linear_bias\"}}, \"kind\": 1}";
  const std::string x = "{\"name\": \"mat1\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}";
  edit(kModel, "aten.addmm", bias + ", " + x, x + ", " + bias);
  std::filesystem::path path = dir_ / "file.pt2";
  writeFile(path, zip_.bytes());
  EXPECT_EQ(fxText(loadProgram(path).graphModule()), readFile(fixture("linear_atan_relu_core/graph.txt")));
}

TEST_F(Refusals, RangesTreesAndExpressions) {
  std::string whole = record(kModel).content;
  for (auto [from, to, part] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"\"range_constraints\": {}",
            "\"range_constraints\": {\"s0\": {\"min_val\": 70, \"max_val\": 64}}", "invalid range [70:64]"},
           {"\"in_spec\": \"[1, ", "\"in_spec\": \"[9, ", "protocol 9"},
           {"\"sizes\": [{\"as_int\": 4}",
            "\"sizes\": [{\"as_expr\": {\"expr_str\": \"Add(\", \"hint\": null}}", "Add("},
           {"\"schema_version\": {\"major\": 8", "\"schema_version\": {\"major\": \"8\"",
            "must be an integer"}}) {
    record(kModel).content = whole;
    edit(kModel, "", from, to);
    EXPECT_MENTIONS(error(), part);
  }
}

TEST_F(Refusals, ProgramsThatDoNotHoldTogether) {
  std::string whole = record(kModel).content;
  edit(kModel, "\"input_specs\"", "\"parameter_name\": \"linear.bias\"", "\"parameter_name\": \"nowhere\"");
  EXPECT_MENTIONS(error<VerificationError>(), "nowhere");
  record(kModel).content = whole;
  edit(kModel, "\"input_specs\"", ", {\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}", "");
  EXPECT_MENTIONS(error<VerificationError>(), "'%x'");
  record(kModel).content = whole;
  edit(kModel, "\"p_linear_bias\": {", "[{\"as_int\": 4}]", "[{\"as_int\": 5}]");
  EXPECT_MENTIONS(error<VerificationError>(), "linear.bias");
}

TEST_F(Refusals, OtherMajors) {
  edit(kModel, "", "{\"major\": 8", "{\"major\": 6");
  EXPECT_MENTIONS(error<UnsupportedError>(), "6.20");
}

TEST_F(Refusals, PickledWeightsThatWouldRunCode) {
  for (TestRecord& record : zip_.records) {
    if (!record.name.ends_with(kWeights)) continue;
    record.name = record.name.substr(0, record.name.size() - kWeights.size()) + "model.pt";
    TestZip inner;
    inner.records = {{.name = "archive/data.pkl",
                      .content = std::string("\x80\x02"
                                             "cos\nsystem\n(X\x02\0\0\0idtR.",
                                             24)},
                     {.name = "archive/byteorder", .content = "little"},
                     {.name = "archive/version", .content = "3\n"}};
    record.content = inner.bytes();
  }
  EXPECT_MENTIONS(error(), "refused pickle global 'os system'");
}

}  // namespace
}  // namespace edgefx::test

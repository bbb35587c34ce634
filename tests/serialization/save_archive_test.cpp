#include <edgefx/serialization/pt2.h>

#include "serialization/expect_error.h"
#include "serialization/mapped_file.h"
#include "serialization/saved_json.h"
#include "serialization/zip_reader.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace edgefx {
namespace {

using test::errorOf;
using test::ProgramBuilder;
using test::sampleTensor;
using test::SavedJson;
using test::tensorValue;

// Not verified: most programs here are only as complete as their test needs.
constexpr SaveOptions kAsIs{.verify = false};

class SaveArchive : public testing::Test {
 protected:
  void save(const ExportedProgram& program, std::string_view name = "saved.pt2") {
    path_ = folder_ / name;
    saveProgram(program, path_, kAsIs);
    open();
  }
  void save(const Archive& archive) {
    path_ = folder_ / "saved.pt2";
    saveArchive(archive, path_, kAsIs);
    open();
  }
  void open() {
    file_ = detail::MappedFile::open(path_);
    zip_.emplace(file_->bytes(), path_.string());
  }

  // Names without the root folder, in order.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& record : zip_->records()) names.push_back(record.name.substr(record.name.find('/') + 1));
    return names;
  }
  std::string record(std::string_view name) const {
    std::string root = zip_->records().front().name;
    return std::string(
        zip_->read(zip_->record(root.substr(0, root.find('/') + 1) + std::string(name), "test")).text());
  }
  std::string config(std::string_view pointer,
                     std::string_view name = "data/weights/model_weights_config.json") const {
    return SavedJson(record(name)).at("/config" + std::string(pointer));
  }

  test::TempDir folder_;
  std::filesystem::path path_;
  std::shared_ptr<const detail::MappedFile> file_;
  std::optional<detail::ZipReader> zip_;
};

std::string bytesOf(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.storage().data()), tensor.storage().nbytes()};
}

TEST_F(SaveArchive, RecordsComeInTorchsOrder) {
  ExportedProgram program = test::countingProgram();
  program.constants().set("c", sampleTensor({3}));
  program.exampleInputs = SharedBytes::copyOf("inputs");
  save(program, "my model.v1.pt2");
  EXPECT_EQ(names(), (std::vector<std::string>{
                         "data/weights/weight_0", "data/weights/weight_1", "data/weights/weight_2",
                         "data/weights/model_weights_config.json", "data/constants/tensor_0",
                         "data/constants/model_constants_config.json", "models/model.json",
                         "data/sample_inputs/model.pt", "archive_format", "archive_version", ".data/version",
                         "byteorder", ".data/serialization_id"}));
  EXPECT_TRUE(zip_->records().front().name.starts_with("my model.v1/"));
  EXPECT_EQ(record("archive_format"), "pt2");
  EXPECT_EQ(record("archive_version"), "0");
  EXPECT_EQ(record(".data/version"), "6\n");
  EXPECT_EQ(record("byteorder"), std::endian::native == std::endian::little ? "little" : "big");
  EXPECT_EQ(record("data/sample_inputs/model.pt"), "inputs");
  EXPECT_EQ(record("models/model.json"), SavedJson(program).text());
  for (const auto& stored : zip_->records()) EXPECT_EQ(stored.offset % 64, 0u) << stored.name;
}

TEST_F(SaveArchive, EqualArchivesGiveEqualBytesAndOthersAnotherId) {
  ExportedProgram program = test::tinyProgram();
  save(program);
  std::string first = test::readFile(path_);
  std::string id = record(".data/serialization_id");
  save(program.clone());
  EXPECT_EQ(test::readFile(path_), first);
  EXPECT_EQ(id.size(), 40u);
  EXPECT_EQ(id.find_first_not_of("0123456789"), std::string::npos) << id;

  ExportedProgram other = program.clone();
  other.stateDict().set("scale", sampleTensor({4}).mul(2));
  save(other);
  std::string otherId = record(".data/serialization_id");
  EXPECT_EQ(otherId.substr(0, 20), id.substr(0, 20)) << "the first half is of the names";
  EXPECT_NE(otherId.substr(20), id.substr(20));
}

TEST_F(SaveArchive, TheRootIsTheFilesNameIfThatCanBeAFolder) {
  save(test::tinyProgram(), "we ird.n\xc3\xa4me.v1.pt2");
  EXPECT_TRUE(zip_->records().front().name.starts_with("we ird.n\xc3\xa4me.v1/"));
  save(test::tinyProgram(), "back\\slash.pt2");
  EXPECT_TRUE(zip_->records().front().name.starts_with("archive/"));
}

TEST_F(SaveArchive, ATensorIsItsWholeStorageAndAView) {
  at::Tensor base = sampleTensor({4, 6});
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  program.stateDict().set("slice", base.slice(0, 1, 3), true);
  program.stateDict().set("transposed", base.t());
  program.stateDict().set("other", sampleTensor({2}));
  save(program);
  EXPECT_EQ(record("data/weights/weight_0"), bytesOf(base));
  EXPECT_EQ(names()[1], "data/weights/weight_1");
  EXPECT_EQ(names()[2], "data/weights/model_weights_config.json");
  EXPECT_EQ(
      config("/slice"),
      R"({"path_name": "weight_0", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 7, )"
      R"("sizes": [{"as_int": 2}, {"as_int": 6}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
      R"("strides": [{"as_int": 6}, {"as_int": 1}], "storage_offset": {"as_int": 6}, "layout": 7}})");
  EXPECT_EQ(config("/transposed/path_name"), R"("weight_0")");
  EXPECT_EQ(config("/transposed/is_param"), "false");
  EXPECT_EQ(config("/transposed/tensor_meta/strides"), R"([{"as_int": 1}, {"as_int": 6}])");
  EXPECT_EQ(config("/other/path_name"), R"("weight_1")");
}

TEST_F(SaveArchive, StoragesAreSharedPerDtype) {
  at::Tensor base = sampleTensor({4});
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  program.stateDict().set("floats", base);
  program.stateDict().set("ints", base.view(at::kInt));
  program.stateDict().set("again", base);
  program.constants().set("c", base);
  save(program);
  EXPECT_EQ(config("/floats/path_name"), R"("weight_0")");
  EXPECT_EQ(config("/ints/path_name"), R"("weight_1")");
  EXPECT_EQ(config("/again/path_name"), R"("weight_0")");
  EXPECT_EQ(record("data/weights/weight_1"), record("data/weights/weight_0"));
  EXPECT_EQ(config("/c/path_name", "data/constants/model_constants_config.json"), R"("tensor_0")");
}

TEST_F(SaveArchive, StoragesThatBeginTogetherAreOne) {
  std::vector<float> memory = {1, 2, 3, 4};
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  program.stateDict().set("head", at::from_blob(memory.data(), {2}, at::kFloat));
  program.stateDict().set("all", at::from_blob(memory.data(), {4}, at::kFloat));
  save(program);
  EXPECT_EQ(config("/head/path_name"), config("/all/path_name"));
  EXPECT_EQ(record("data/weights/weight_0").size(), 16u);
}

TEST_F(SaveArchive, TensorsWithoutMemoryShareABlobPerDtype) {
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  program.stateDict().set("a", at::empty({0}, at::kFloat));
  program.stateDict().set("b", at::empty({3, 0, 2}, at::kFloat));
  program.stateDict().set("c", at::empty({0}, at::kLong));
  TensorMeta onMeta = contiguousTensor(Dtype::Float32, {2, 2});
  onMeta.device.type = "meta";
  program.stateDict().set("d", StoredTensor::raw({}, onMeta, false));
  save(program);
  EXPECT_EQ(config("/a/path_name"), R"("weight_0")");
  EXPECT_EQ(config("/b/path_name"), R"("weight_0")");
  EXPECT_EQ(config("/c/path_name"), R"("weight_1")");
  EXPECT_EQ(config("/d/path_name"), R"("weight_0")");
  EXPECT_EQ(config("/d/tensor_meta/device/type"), R"("meta")");
  EXPECT_EQ(record("data/weights/weight_0"), "");
}

TEST_F(SaveArchive, RawAndOpaqueEntriesGoBackAsTheyAre) {
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  TensorMeta raw = contiguousTensor(Dtype::UInt16, {2});
  raw.requiresGrad = true;
  raw.device = {"cuda", 1};
  program.stateDict().set("first", sampleTensor({1}));
  program.stateDict().set("raw", StoredTensor::raw(SharedBytes::copyOf("abcd"), raw, true));
  program.stateDict().set("subclass", StoredTensor::opaque(SharedBytes::copyOf("pickle"), "weight_",
                                                           contiguousTensor(Dtype::Float32, {2}), false));
  program.constants().set("t", sampleTensor({1}));
  program.constants().set("queue",
                          StoredTensor::opaque(SharedBytes::copyOf("zip"), "custom_obj_", {}, false));
  program.constants().set("any", StoredTensor::opaque(SharedBytes::copyOf("any"), "opaque_obj_", {}, false));
  program.constants().set("queue2",
                          StoredTensor::opaque(SharedBytes::copyOf("zip2"), "custom_obj_", {}, false));
  program.unknownMembers["weights_config[raw]"] = R"("future": [1])";
  program.unknownMembers["constants_config[any]"] = R"("future": 2)";
  save(program);
  EXPECT_EQ(
      config(""),
      R"({"first": {"path_name": "weight_1", "is_param": false, "use_pickle": false, "tensor_meta": {"dtype": 7, )"
      R"("sizes": [{"as_int": 1}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
      R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}, )"
      R"("raw": {"path_name": "weight_2", "is_param": true, "use_pickle": false, "tensor_meta": {"dtype": 28, )"
      R"("sizes": [{"as_int": 2}], "requires_grad": true, "device": {"type": "cuda", "index": 1}, )"
      R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}, "future": [1]}, )"
      R"("subclass": {"path_name": "weight_0", "is_param": false, "use_pickle": true, "tensor_meta": {"dtype": 7, )"
      R"("sizes": [{"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", "index": null}, )"
      R"("strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}}})");
  constexpr std::string_view kConstants = "data/constants/model_constants_config.json";
  EXPECT_EQ(config("/queue", kConstants),
            R"({"path_name": "custom_obj_0", "is_param": false, "use_pickle": true, "tensor_meta": null})");
  EXPECT_EQ(
      config("/any", kConstants),
      R"({"path_name": "opaque_obj_0", "is_param": false, "use_pickle": true, "tensor_meta": null, "future": 2})");
  EXPECT_EQ(config("/queue2/path_name", kConstants), R"("custom_obj_1")");
  EXPECT_EQ(config("/t/path_name", kConstants), R"("tensor_0")");
  EXPECT_EQ(record("data/weights/weight_0"), "pickle");
  EXPECT_EQ(record("data/weights/weight_2"), "abcd");
  EXPECT_EQ(record("data/constants/custom_obj_1"), "zip2");
}

TEST_F(SaveArchive, EntriesThatATableCannotHoldAreRefused) {
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  auto error = [&] { return errorOf<Error>([&] { save(program); }); };
  program.stateDict().set("q", StoredTensor::opaque(SharedBytes::copyOf("zip"), "custom_obj_", {}, false));
  EXPECT_MENTIONS(error(), "a state dict cannot hold an object of the kind 'custom_obj_'");
  EXPECT_MENTIONS(error(), "in entry 'q'");
  EXPECT_MENTIONS(error(), "data/weights/model_weights_config.json");
  program.stateDict().erase("q");
  program.constants().set("c", StoredTensor::opaque(SharedBytes::copyOf("zip"), "strange_", {}, false));
  EXPECT_MENTIONS(error(), "a table of constants cannot hold an object of the kind 'strange_'");
  program.constants().set("c", StoredTensor());
  EXPECT_MENTIONS(error(), "the entry is empty");
  program.constants().set(
      "c", StoredTensor::raw(SharedBytes::copyOf("abc"), contiguousTensor(Dtype::UInt16, {2}), false));
  EXPECT_MENTIONS(error(), "needs 4 bytes of storage, which has 3");
  SymInt symbol(Symbolic{SymExpr::parse("Symbol('s0')"), {}});
  program.constants().set(
      "c", StoredTensor::raw(SharedBytes::copyOf("abc"), contiguousTensor(Dtype::UInt16, {symbol}), false));
  EXPECT_MENTIONS(error(), "symbolic size 's0'");
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a refused program leaves no file behind";
}

TEST_F(SaveArchive, NumbersRunOnOverTheModels) {
  Archive archive;
  archive.models.push_back({"prefill", test::tinyProgram()});
  archive.models.push_back({"dec/x", test::tinyProgram()});
  archive.models[1].program.constants().set("c", sampleTensor({2}));
  wrapAsEdge(archive.models[1].program);
  save(archive);
  EXPECT_EQ(names(),
            (std::vector<std::string>{
                "data/weights/weight_0", "data/weights/weight_1", "data/weights/prefill_weights_config.json",
                "data/constants/prefill_constants_config.json", "models/prefill.json",
                "data/sample_inputs/prefill.pt", "data/weights/weight_2", "data/weights/weight_3",
                "data/weights/dec/x_weights_config.json", "data/constants/tensor_0",
                "data/constants/dec/x_constants_config.json", "models/dec/x.json",
                "data/sample_inputs/dec/x.pt", "data/edgefx/dec/x.json", "archive_format", "archive_version",
                ".data/version", "byteorder", ".data/serialization_id"}));
  EXPECT_EQ(record("data/edgefx/dec/x.json"), R"({"dialect": "EDGE"})");
  EXPECT_EQ(record("data/sample_inputs/dec/x.pt"), "");
}

TEST_F(SaveArchive, ForeignRecordsFollowTheModelsByteForByte) {
  Archive archive;
  archive.models.push_back({"model", test::tinyProgram()});
  archive.foreign.push_back({"extra/b.txt", SharedBytes::copyOf("text\n")});
  archive.foreign.push_back(
      {"data/aotinductor/model/a.so", SharedBytes::copyOf(std::string(100'000, '\x7f'))});
  save(archive);
  std::vector<std::string> all = names();
  auto at = std::find(all.begin(), all.end(), "data/sample_inputs/model.pt");
  ASSERT_GE(all.end() - at, 4);
  EXPECT_EQ(at[1], "extra/b.txt");
  EXPECT_EQ(at[2], "data/aotinductor/model/a.so");
  EXPECT_EQ(at[3], "archive_format");
  EXPECT_EQ(record("extra/b.txt"), "text\n");
  EXPECT_EQ(record("data/aotinductor/model/a.so"), std::string(100'000, '\x7f'));
}

TEST_F(SaveArchive, NamesThatClashAreRefused) {
  Archive archive;
  archive.models.push_back({"model", test::tinyProgram()});
  auto error = [&] { return errorOf<UsageError>([&] { save(archive); }); };
  for (const char* name :
       {"models/model.json", "data/weights/weight_1", "archive_format", ".data/serialization_id"}) {
    archive.foreign = {{name, SharedBytes()}};
    EXPECT_MENTIONS(error(), name);
  }
  for (const char* name : {"../up", "/absolute", ""}) {
    archive.foreign = {{name, SharedBytes()}};
    EXPECT_MENTIONS(error(), "record name");
  }
  archive.foreign.clear();
  archive.models.push_back({"model", test::tinyProgram()});
  EXPECT_MENTIONS(error(), "model_weights_config.json");
  archive.models.pop_back();
  archive.models[0].name = "../up";
  EXPECT_MENTIONS(error(), "../up");
  archive.models[0].name = "";
  EXPECT_MENTIONS(error(), "a model has no name");
  archive.models.clear();
  EXPECT_MENTIONS(error(), "the archive has no model");
}

TEST_F(SaveArchive, ProgramsAreVerifiedUnlessToldOtherwise) {
  ExportedProgram program = test::tinyProgram();
  path_ = folder_ / "saved.pt2";
  saveProgram(program, path_);
  program.signature.outputs.clear();
  std::string error = errorOf<VerificationError>([&] { saveProgram(program, path_); });
  EXPECT_MENTIONS(error, "saved.pt2");
  EXPECT_MENTIONS(error, "method 'model'");
  save(program);

  ExportedProgram moved = std::move(program);
  EXPECT_MENTIONS(errorOf<UsageError>([&] { save(program); }), "moved from");
}

TEST_F(SaveArchive, AnExistingFileStaysWhenSavingFails) {
  save(test::tinyProgram());
  std::string before = test::readFile(path_);
  ExportedProgram program = test::tinyProgram();
  program.graph().find("relu")->setArgs({Arg::slice(0, 1, nullptr)});
  std::string error = errorOf<UnsupportedError>([&] { save(program); });
  EXPECT_MENTIONS(error, "saved.pt2");
  EXPECT_MENTIONS(error, "models/model.json");
  EXPECT_MENTIONS(error, "node '%relu'");
  EXPECT_EQ(test::readFile(path_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(SaveArchive, WeightsAreNotCopied) {
  constexpr int64_t kBytes = int64_t{256} << 20;
  ExportedProgram program;
  program.graph().output(Arg::tuple({}));
  program.stateDict().set("large", at::zeros({kBytes}, at::kByte));
  auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  program.stateDict().find("large")->tensor().fill_(1);
  auto before = peak();
  saveProgram(program, folder_ / "large.pt2", kAsIs);
  EXPECT_LT(peak() - before, 64 << 10);
  EXPECT_GT(std::filesystem::file_size(folder_ / "large.pt2"), static_cast<uintmax_t>(kBytes));
}

}  // namespace
}  // namespace edgefx

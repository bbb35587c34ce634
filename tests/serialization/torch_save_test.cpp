#include <edgefx/serialization/pt2.h>
#include <edgefx/serialization/torch_save.h>
#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "serialization/test_zip.h"
#include "serialization/zip_format.h"
#include "support/ivalue_trees.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <set>
#include <string>

namespace edgefx {
namespace {

using test::errorOf;
using test::sampleTensor;
using test::valueDict;
using test::valueList;
using test::valueTuple;
using namespace std::string_literals;

c10::IValue savedAndRead(const c10::IValue& value) {
  return parseTorchSave(SharedBytes::copyOf(torchSaveBytes(value)));
}

TEST(TorchSaveValues, AllKindsComeBack) {
  const c10::IValue value =
      valueTuple({c10::IValue(), true, false, 5, int64_t{1} << 40, INT64_MIN, -0.0,
                  std::numeric_limits<double>::infinity(), "täxt", c10::Device("cuda:1"),
                  valueList({1, valueTuple({})}), valueList({}), valueDict({}),
                  valueDict({{"k", 1}, {3, "v"}, {true, 0}}), c10::IValue(std::vector<int64_t>{4, 5})});
  const c10::IValue read = savedAndRead(value);
  const auto items = read.toTupleRef().elements();
  ASSERT_EQ(items.size(), 15u);
  EXPECT_TRUE(items[0].isNone());
  EXPECT_TRUE(items[1].toBool());
  EXPECT_FALSE(items[2].toBool());
  EXPECT_EQ(items[3].toInt(), 5);
  EXPECT_EQ(items[4].toInt(), int64_t{1} << 40);
  EXPECT_EQ(items[5].toInt(), INT64_MIN);
  EXPECT_TRUE(std::signbit(items[6].toDouble()));
  EXPECT_EQ(items[7].toDouble(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(items[8].toStringRef(), "täxt");
  EXPECT_EQ(items[9].toDevice(), c10::Device("cuda:1"));
  EXPECT_EQ(items[10].toListRef().size(), 2u);
  EXPECT_TRUE(items[10].toListRef()[1].isTuple());
  EXPECT_TRUE(items[11].toListRef().empty());
  EXPECT_TRUE(items[12].toGenericDict().empty());
  const auto mixed = items[13].toGenericDict();
  EXPECT_EQ(mixed.size(), 3u);
  EXPECT_EQ(mixed.at("k").toInt(), 1);
  EXPECT_EQ(mixed.at(3).toStringRef(), "v");
  EXPECT_EQ(items[14].toListRef()[1].toInt(), 5);
}

TEST(TorchSaveValues, TensorsKeepStridesAndShareStorages) {
  const at::Tensor base = sampleTensor({4, 6});
  const at::Tensor view = base.slice(0, 1, 3).t();
  const at::Tensor other = sampleTensor({2}, Dtype::Complex64);
  const c10::IValue read =
      savedAndRead(valueDict({{"base", base}, {"view", view}, {"other", valueList({other, base})}}));
  const auto entries = read.toGenericDict();
  const at::Tensor readBase = entries.at("base").toTensor(), readView = entries.at("view").toTensor();
  EXPECT_TRUE(readBase.equal(base));
  EXPECT_TRUE(readView.equal(view));
  EXPECT_EQ(readView.strides(), view.strides());
  EXPECT_EQ(readView.storage_offset(), view.storage_offset());
  EXPECT_TRUE(readView.is_alias_of(readBase));
  EXPECT_FALSE(readBase.is_alias_of(base));
  const auto others = entries.at("other").toListRef();
  EXPECT_TRUE(others[0].toTensor().equal(other));
  EXPECT_TRUE(others[1].toTensor().is_alias_of(readBase));
}

TEST(TorchSaveValues, TensorsNeedNoGradient) {
  at::Tensor weight = sampleTensor({2});
  weight.set_requires_grad(true);
  EXPECT_FALSE(savedAndRead(weight).toTensor().requires_grad());
}

TEST(TorchSaveValues, FilesAreReadAndWritten) {
  const test::TempDir folder;
  const auto path = folder / "values.pt";
  saveTorchSave(path, valueList({sampleTensor({3}), 7}));
  EXPECT_EQ(test::readFile(path), torchSaveBytes(valueList({sampleTensor({3}), 7})));
  const c10::IValue read = loadTorchSave(path);
  at::Tensor tensor = read.toListRef()[0].toTensor();
  EXPECT_TRUE(tensor.equal(sampleTensor({3})));
  // Writing into it changes neither the file nor another reading, and the file may be replaced meanwhile.
  tensor.fill_(5);
  EXPECT_TRUE(loadTorchSave(path).toListRef()[0].toTensor().equal(sampleTensor({3})));
  saveTorchSave(path, read);
  EXPECT_TRUE(loadTorchSave(path).toListRef()[0].toTensor().eq(5).all().item().toBool());
  EXPECT_MENTIONS(errorOf<ParseError>([&] { loadTorchSave(folder / "absent.pt"); }), "absent.pt");
  EXPECT_MENTIONS(errorOf<Error>([&] { saveTorchSave(folder / "no" / "where.pt", 1); }), "where.pt");
}

TEST(TorchSaveValues, ParsedTensorsAreCopies) {
  const SharedBytes bytes = SharedBytes::copyOf(torchSaveBytes(sampleTensor({3})));
  at::Tensor tensor = parseTorchSave(bytes).toTensor();
  tensor.fill_(5);
  EXPECT_TRUE(parseTorchSave(bytes).toTensor().equal(sampleTensor({3})));
}

// 2 to the power of 60 paths lead to the innermost value.
TEST(TorchSaveValues, SharedContainersAreVisitedOnce) {
  c10::IValue value = valueList({1});
  for (int i = 0; i < 60; ++i) {
    value = i % 3 == 0   ? valueTuple({value, value})
            : i % 3 == 1 ? valueList({value, value})
                         : valueDict({{"a", value}, {"b", value}});
  }
  const std::string bytes = torchSaveBytes(value);
  EXPECT_LT(bytes.size(), 10'000u);
  c10::IValue read = parseTorchSave(SharedBytes::copyOf(bytes));
  EXPECT_EQ(torchSaveBytes(read), bytes);
  const auto entries = read.toGenericDict();
  EXPECT_TRUE(entries.at("a").is(entries.at("b")));
}

TEST(TorchSaveValues, WhatCannotBeWrittenNamesItsPlace) {
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] {
                    torchSaveBytes(valueList({1, valueDict({{"x", c10::complex<double>(1, 2)}})}));
                  }),
                  "value[1]['x']: a value of kind 'ComplexDouble' cannot be written");
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { torchSaveBytes(valueTuple({at::Tensor()})); }), "value[0]");
  c10::impl::GenericList own(c10::AnyType::get());
  own.push_back(c10::IValue(own));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { torchSaveBytes(own); }),
                  "value[0]: a container lies in itself");
  own.clear();
  c10::IValue deep = 1;
  for (int i = 0; i < 501; ++i) deep = valueTuple({deep});
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { torchSaveBytes(deep); }), "more than 500 levels");
  c10::IValue deepest = 1;
  for (int i = 0; i < 500; ++i) deepest = valueTuple({deepest});
  EXPECT_TRUE(savedAndRead(deepest).isTuple());
}

std::string pickledText(std::string_view text) {
  std::string out = "X";
  detail::zip::append(out, static_cast<uint32_t>(text.size()));
  return out.append(text);
}

// What torch.save writes around that pickle, with one storage of 16 bytes.
SharedBytes archiveAround(const std::string& pickle) {
  test::TestZip zip;
  zip.records.push_back({.name = "archive/data.pkl", .content = "\x80\x02" + pickle + "."});
  zip.records.push_back({.name = "archive/data/0", .content = std::string(16, '\0')});
  return SharedBytes::copyOf(zip.bytes());
}

std::string pickledTensor(std::string_view storage) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickledText("storage") + "ctorch\n" +
         std::string(storage) + "\n" + pickledText("0") + pickledText("cpu") + "K\x04tQ" + "K"s + '\0' +
         "K\x02\x85K\x01\x85\x89" + "ccollections\nOrderedDict\n)RtR";
}

TEST(TorchSaveValues, ObjectsOfPython) {
  // A named tuple, as torch.save writes it, and a tensor with attributes.
  const c10::IValue point =
      parseTorchSave(archiveAround("c__main__\nPoint\nq" + "\x01"s + "K\x01K\x02\x86\x81"));
  ASSERT_TRUE(point.isTuple());
  EXPECT_EQ(point.toTupleRef().elements()[1].toInt(), 2);
  const std::string maker = pickledTensor("FloatStorage");
  const size_t arguments = maker.find('(');
  const std::string withState = "ctorch._tensor\n_rebuild_from_type_v2\n(" + maker.substr(0, arguments) +
                                "ctorch\nTensor\n" + maker.substr(arguments, maker.size() - arguments - 1) +
                                "}tR";
  EXPECT_EQ(parseTorchSave(archiveAround(withState)).toTensor().numel(), 2);

  auto fault = [](const std::string& pickle) {
    return errorOf<ParseError>([&] { parseTorchSave(archiveAround(pickle), "inputs"); });
  };
  EXPECT_MENTIONS(fault("cos\nsystem\n" + pickledText("x") + "\x85R"), "refused pickle global 'os system'");
  EXPECT_MENTIONS(fault("c__main__\nThing\n)\x81"), "refused pickle global '__main__ Thing'");
  EXPECT_MENTIONS(fault("c__main__\nThing\nK\x01\x85\x81}b"), "refused to set the state of a tuple");
  EXPECT_MENTIONS(fault("ctorch.nn\nModule\nK\x01\x85\x81"), "refused pickle global 'torch.nn Module'");
  EXPECT_MENTIONS(fault("ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\n" +
                        pickledText("x") + ")}tR"),
                  "refused to make a subclass of tensors");
}

TEST(TorchSaveValues, WhatNoIValueHoldsIsRefused) {
  auto fault = [](const std::string& pickle) {
    return errorOf<UnsupportedError>([&] { parseTorchSave(archiveAround(pickle), "inputs"); });
  };
  EXPECT_MENTIONS(fault("]ctorch\nfloat32\na"), "value[0]: the dtype torch.float32 cannot be read");
  EXPECT_MENTIONS(fault("]c__main__\nThing\na"), "value[0]: a class cannot be read");
  EXPECT_MENTIONS(fault("}" + ")K\x01s"s), "a key of kind tuple");
  EXPECT_MENTIONS(fault("}" + pickledText("d") + "ctorch\ndevice\n" + pickledText("quantum") + "\x85Rs"),
                  "value['d']");
}

TEST(TorchSaveValues, DamagedFilesAreParseErrors) {
  const std::string bytes =
      torchSaveBytes(valueDict({{"x", sampleTensor({5})}, {"y", valueList({1, 2.5, "z"})}}));
  size_t refused = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    try {
      parseTorchSave(SharedBytes::copyOf(damaged), "damaged");
    } catch (const ParseError&) {
      ++refused;
    }
  }
  // Only what nobody reads, such as padding and times, may change unnoticed.
  EXPECT_GT(refused, 500u);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    EXPECT_EQ(errorOf<ParseError>([&] {
                parseTorchSave(SharedBytes::copyOf(bytes.substr(0, length)));
              }).find("other exception"),
              std::string::npos);
  }
}

TEST(TorchSaveValues, EveryExpectedResultLoads) {
  size_t count = 0;
  std::set<std::filesystem::path> seen;
  for (const test::CorpusProgram& entry : test::corpusPrograms()) {
    std::filesystem::path path = entry.file.parent_path() / "expected.pt";
    if (entry.kind == test::CorpusKind::Torch26)
      path = entry.file.string().substr(0, entry.file.string().size() - 4) + ".expected.pt";
    if (!std::filesystem::exists(path) || !seen.insert(path).second) continue;
    SCOPED_TRACE(path.string());
    const c10::IValue read = loadTorchSave(path);
    ASSERT_TRUE(read.isGenericDict());
    EXPECT_TRUE(read.toGenericDict().at("inputs").isTuple());
    const std::string written = torchSaveBytes(read);
    EXPECT_EQ(torchSaveBytes(parseTorchSave(SharedBytes::copyOf(written))), written);
    ++count;
  }
  EXPECT_GT(count, 1u);
}

}  // namespace
}  // namespace edgefx

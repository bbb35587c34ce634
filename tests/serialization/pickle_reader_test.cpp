#include "serialization/pickle_reader.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "serialization/zip_format.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace edgefx::detail {
namespace {

using test::asBytes;
using test::errorOf;
using namespace std::string_literals;

PickleValue read(const std::string& body) {
  return readPickle(asBytes("\x80\x02" + body + "."), "data.pkl");
}

std::string refusal(const std::string& body) {
  return errorOf<ParseError>([&] { read(body); });
}

std::string str(std::string_view text) {
  std::string out = "X";
  zip::append(out, static_cast<uint32_t>(text.size()));
  return out.append(text);
}

std::string int8(int value) {
  return "K"s + static_cast<char>(value);
}

std::string int64(int64_t value) {
  std::string out = "\x8a\x08";
  zip::append(out, static_cast<uint64_t>(value));
  return out;
}

std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string storage(std::string_view type = "FloatStorage", const std::string& count = int8(24)) {
  return "(" + str("storage") + global("torch", type) + str("7") + str("cpu") + count + "tQ";
}

const std::string kOrderedDict = global("collections", "OrderedDict") + ")R";

std::string tensor(const std::string& sizes, const std::string& strides) {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage() + int8(6) + sizes + strides + "\x89" +
         kOrderedDict + "tR";
}

const std::string kTensor = tensor(int8(2) + int8(6) + "\x86", int8(6) + int8(1) + "\x86");

TEST(PickleReader, ReadsNumbers) {
  EXPECT_TRUE(read("N").isNone());
  EXPECT_EQ(*read("\x88").boolean(), true);
  EXPECT_EQ(*read("\x89").boolean(), false);
  EXPECT_EQ(*read("K\xff").integer(), 255);
  EXPECT_EQ(*read("M\x01\x02").integer(), 0x201);
  EXPECT_EQ(*read("J\xfe\xff\xff\xff").integer(), -2);
  EXPECT_EQ(*read("\x8a\0"s).integer(), 0);
  EXPECT_EQ(*read("\x8a\x01\xff"s).integer(), -1);
  EXPECT_EQ(*read("\x8a\x02\xff\0"s).integer(), 255);
  EXPECT_EQ(*read(int64(std::numeric_limits<int64_t>::min())).integer(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(*read("G\x3f\xf8\0\0\0\0\0\0"s).number(), 1.5);
}

TEST(PickleReader, ReadsText) {
  EXPECT_EQ(*read(str("n\xc3\xa4me")).string(), "n\xc3\xa4me");
  EXPECT_EQ(*read("\x8c\x02hi").string(), "hi");
}

TEST(PickleReader, ReadsContainers) {
  const PickleValue list = read("]" + int8(1) + "a(" + int8(2) + "\x88" + "e");
  ASSERT_NE(list.list(), nullptr);
  ASSERT_EQ(list.list()->items.size(), 3u);
  EXPECT_EQ(*list.list()->items[1].integer(), 2);

  const PickleValue dict = read("}" + str("z") + int8(1) + "s(" + str("a") + ")" + str("m") + "Nu");
  ASSERT_NE(dict.dict(), nullptr);
  ASSERT_EQ(dict.dict()->entries.size(), 3u);
  EXPECT_EQ(*dict.dict()->entries[0].first.string(), "z");
  EXPECT_EQ(*dict.dict()->entries[1].first.string(), "a");
  EXPECT_TRUE(dict.dict()->entries[1].second.tuple()->items.empty());

  const PickleValue tuple = read("(" + int8(1) + "\x85" + int8(2) + int8(3) + "\x86" + "NNN\x87" + "t");
  ASSERT_EQ(tuple.tuple()->items.size(), 3u);
  EXPECT_EQ(tuple.tuple()->items[2].tuple()->items.size(), 3u);
}

TEST(PickleReader, SharesMemoisedValues) {
  const PickleValue value = read("]q\0"s + "h\0"s + "\x86");
  EXPECT_EQ(value.tuple()->items[0].list(), value.tuple()->items[1].list());
  EXPECT_EQ(read("]r\x01\0\0\0j\x01\0\0\0\x86"s).tuple()->items.size(), 2u);
}

TEST(PickleReader, ReadsProtocol4) {
  const std::string pickle = "\x80\x04\x95\x22\0\0\0\0\0\0\0"s + "\x8c\x0b"s + "collections\x94" +
                             "\x8c\x0b"s + "OrderedDict\x94" + "\x93\x94)R\x94.";
  const PickleValue value = readPickle(asBytes(pickle), "data.pkl");
  ASSERT_NE(value.dict(), nullptr);
  EXPECT_TRUE(value.dict()->entries.empty());
}

TEST(PickleReader, ReadsTensors) {
  const PickleValue value = read(kTensor);
  const PickledTensor* found = value.tensor();
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->storageKey, "7");
  EXPECT_EQ(found->dtype, Dtype::Float32);
  EXPECT_EQ(found->storageBytes, 96u);
  EXPECT_EQ(found->offset, 6);
  EXPECT_EQ(found->sizes, (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(found->strides, (std::vector<int64_t>{6, 1}));
  EXPECT_EQ(found->device, "cpu");
  EXPECT_FALSE(found->requiresGrad);
  EXPECT_FALSE(found->isParameter);
}

TEST(PickleReader, ReadsParameters) {
  for (const bool hasState : {false, true}) {
    const PickleValue value =
        read(global("torch._utils", hasState ? "_rebuild_parameter_with_state" : "_rebuild_parameter") + "(" +
             kTensor + "\x88" + kOrderedDict + (hasState ? "}" + str("_type") + "Ns" : "") + "tR");
    ASSERT_NE(value.tensor(), nullptr);
    EXPECT_TRUE(value.tensor()->isParameter);
    EXPECT_TRUE(value.tensor()->requiresGrad);
    EXPECT_EQ(value.tensor()->sizes.size(), 2u);
  }
}

TEST(PickleReader, ReadsTensorsOfDtypesWithoutStorageClass) {
  const std::string untyped = "(" + str("storage") + global("torch.storage", "UntypedStorage") + str("0") +
                              str("cpu") + int8(6) + "tQ";
  const PickleValue value =
      read(global("torch._utils", "_rebuild_tensor_v3") + "(" + untyped + int8(0) + int8(3) + "\x85" +
           int8(1) + "\x85\x89" + kOrderedDict + global("torch", "uint16") + "tR");
  ASSERT_NE(value.tensor(), nullptr);
  EXPECT_EQ(value.tensor()->dtype, Dtype::UInt16);
  EXPECT_EQ(value.tensor()->storageBytes, 6u);
}

TEST(PickleReader, KnowsEveryStorageClass) {
  const std::pair<const char*, Dtype> kinds[] = {{"FloatStorage", Dtype::Float32},
                                                 {"DoubleStorage", Dtype::Float64},
                                                 {"HalfStorage", Dtype::Float16},
                                                 {"BFloat16Storage", Dtype::BFloat16},
                                                 {"ByteStorage", Dtype::UInt8},
                                                 {"CharStorage", Dtype::Int8},
                                                 {"ShortStorage", Dtype::Int16},
                                                 {"IntStorage", Dtype::Int32},
                                                 {"LongStorage", Dtype::Int64},
                                                 {"BoolStorage", Dtype::Bool},
                                                 {"ComplexFloatStorage", Dtype::Complex64},
                                                 {"ComplexDoubleStorage", Dtype::Complex128}};
  for (const auto& [name, dtype] : kinds) {
    const PickleValue value = read(storage(name));
    ASSERT_NE(value.storage(), nullptr) << name;
    EXPECT_EQ(value.storage()->dtype, dtype) << name;
    EXPECT_EQ(value.storage()->bytes, 24 * elementSize(dtype)) << name;
  }
}

TEST(PickleReader, ReadsDtypesAndDevices) {
  EXPECT_EQ(*read(global("torch", "float8_e4m3fn")).dtype(), Dtype::Float8E4M3FN);
  EXPECT_EQ(read(global("torch", "device") + str("cpu") + "\x85R").device()->text, "cpu");
  EXPECT_EQ(read(global("torch", "device") + str("cuda") + int8(1) + "\x86R").device()->text, "cuda:1");
}

TEST(PickleReader, DropsTheAttributesOfAnOrderedDict) {
  const PickleValue value = read(kOrderedDict + "(" + str("w") + int8(1) + "u}" + str("_metadata") + "}sb");
  ASSERT_NE(value.dict(), nullptr);
  EXPECT_EQ(value.dict()->entries.size(), 1u);
}

TEST(PickleReader, RefusesGlobalsOffTheList) {
  EXPECT_EQ(refusal(global("os", "system") + str("true") + "\x85R"),
            "edgefx: record 'data.pkl': refused pickle global 'os system', at byte 2 of the pickle");
  EXPECT_MENTIONS(refusal("N" + global("builtins", "eval")), "'builtins eval', at byte 3");
  EXPECT_MENTIONS(refusal("\x8c\x02os\x8c\x06system\x93"), "'os system', at byte 14");
  EXPECT_MENTIONS(refusal(global("torch", "_C._jit")), "'torch _C._jit'");
  EXPECT_MENTIONS(refusal(global("torch", "torch.float32")), "'torch torch.float32'");
  EXPECT_MENTIONS(refusal(global("torch.storage", "FloatStorage")), "'torch.storage FloatStorage'");
  EXPECT_MENTIONS(refusal(global("__main__", "a\nb")), "'__main__ a'");
}

TEST(PickleReader, RefusesOpcodesOffTheList) {
  std::string accepted = "().GJKMNQRX]abcehjqrstu}";
  for (int code = 0x80; code <= 0x95; ++code) {
    const bool isListed = code == 0x81 || (code >= 0x85 && code <= 0x8a) || code == 0x8c || code >= 0x93;
    if (isListed) accepted += static_cast<char>(code);
  }
  for (int code = 0; code < 256; ++code) {
    const bool isAccepted = accepted.find(static_cast<char>(code)) != std::string::npos;
    const std::string error = refusal("N"s + static_cast<char>(code));
    const bool isRefused = error.find("refused pickle opcode") != std::string::npos;
    EXPECT_EQ(isRefused, !isAccepted) << code << ": " << error;
  }
  EXPECT_EQ(refusal("N(i"),
            "edgefx: record 'data.pkl': refused pickle opcode 0x69 'i', at byte 4 of the pickle");
  EXPECT_MENTIONS(refusal("\x82\x01"), "refused pickle opcode 0x82, at byte 2");
}

TEST(PickleReader, RefusesToCallWhatIsNoKnownFunction) {
  EXPECT_MENTIONS(refusal(str("f") + ")R"), "refused to call a str");
  EXPECT_MENTIONS(refusal(global("torch", "FloatStorage") + ")R"), "refused to call 'torch.FloatStorage'");
  EXPECT_MENTIONS(refusal(global("torch", "device") + str("cpu") + "\x85\x81"),
                  "refused to make a 'torch.device'");
  EXPECT_MENTIONS(refusal(kTensor + "}b"), "refused to set the state of a tensor");
  EXPECT_MENTIONS(refusal(global("collections", "OrderedDict") + "]\x85R"),
                  "with 1 arguments, expected 0 to 0");
}

TEST(PickleReader, RefusesTensorsOfWrongParts) {
  EXPECT_MENTIONS(refusal(tensor("N", ")")), "tensor sizes: expected tuple, found None");
  EXPECT_MENTIONS(refusal(tensor(")", str("x") + "\x85")), "tensor strides: expected int, found str");
  std::string manySizes = "(";
  for (int i = 0; i < 65; ++i) manySizes += int8(1);
  EXPECT_MENTIONS(refusal(tensor(manySizes + "t", ")")), "65 dimensions, expected at most 64");
  EXPECT_MENTIONS(refusal(storage("FloatStorage", int64(-1))), "storage '7' of -1 elements");
  EXPECT_MENTIONS(refusal(storage("FloatStorage", int64(INT64_MAX))),
                  "storage '7' of 9223372036854775807 elements");
  EXPECT_MENTIONS(refusal("NQ"), "persistent id: expected a tuple of 5, found None");
  EXPECT_MENTIONS(
      refusal("(" + str("storage") + global("torch", "device") + str("0") + str("cpu") + int8(0) + "tQ"),
      "expected a storage class, found torch.device");
  EXPECT_MENTIONS(refusal(global("torch._utils", "_rebuild_parameter") + "N\x88" + kOrderedDict + "\x87R"),
                  "parameter: expected tensor, found None");
}

TEST(PickleReader, RefusesConjugateTensors) {
  auto withMetadata = [](const std::string& flag) {
    return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage() + int8(0) + "))\x89" +
           kOrderedDict + "}" + str("conj") + flag + "stR";
  };
  EXPECT_MENTIONS(refusal(withMetadata("\x88")), "tensor metadata 'conj' is not supported");
  EXPECT_NE(read(withMetadata("\x89")).tensor(), nullptr);
}

TEST(PickleReader, RefusesEveryTruncation) {
  const std::string whole = "\x80\x02}(" + str("w") + kTensor + "q\x05" + str("x") + int64(5) + "u.";
  ASSERT_NO_THROW(readPickle(asBytes(whole), "data.pkl"));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_MENTIONS(errorOf<ParseError>([&] { readPickle(asBytes(whole.substr(0, size)), "data.pkl"); }),
                    "the pickle ends early");
  }
}

TEST(PickleReader, SurvivesEverySingleByteChange) {
  const std::string whole = "\x80\x02}(" + str("w") + kTensor + "q\x05" + str("x") + "h\x05]u.";
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ change);
      try {
        readPickle(asBytes(bad), "data.pkl");
      } catch (const ParseError&) {
      }
    }
  }
}

TEST(PickleReader, RefusesWrongFraming) {
  EXPECT_MENTIONS(errorOf<ParseError>([] { readPickle(asBytes("N."), "p"); }),
                  "expected a pickle of protocol 2 to 5");
  EXPECT_MENTIONS(errorOf<ParseError>([] { readPickle(asBytes("\x80\x06N."), "p"); }), "pickle protocol 6");
  EXPECT_MENTIONS(refusal("N.N"), "2 bytes follow the end of the pickle");
  EXPECT_MENTIONS(refusal(""), "the pickle stops with 0 values");
  EXPECT_MENTIONS(refusal("NN"), "the pickle stops with 2 values");
  EXPECT_MENTIONS(refusal("(N"), "1 open marks");
  EXPECT_MENTIONS(refusal("\x95\xff\0\0\0\0\0\0\0N"s), "frame of 255 bytes, the pickle has 2 left");
  EXPECT_MENTIONS(refusal("X\xff\xff\xff\xffshort"), "expected 4294967295 bytes more, found 6");
}

TEST(PickleReader, RefusesMisuseOfTheStackAndMemo) {
  EXPECT_MENTIONS(refusal("a"), "expected a value on the stack");
  EXPECT_MENTIONS(refusal("N(\x85"), "expected a value on the stack");
  EXPECT_MENTIONS(refusal("Nt"), "expected a mark");
  EXPECT_MENTIONS(refusal("NNa"), "expected a list to append to, found None");
  EXPECT_MENTIONS(refusal("NNNs"), "expected a dict to set items of, found None");
  EXPECT_MENTIONS(refusal("}(Nu"), "expected pairs of keys and values, found 1 values");
  EXPECT_MENTIONS(refusal("h\x03"), "memo index 3 was never set");
  EXPECT_MENTIONS(refusal("Nr\xff\xff\xff\x7f"), "memo index 2147483647, expected less than");
  EXPECT_MENTIONS(refusal(str("\xff")), "text '\\xff' is not UTF-8");
  EXPECT_MENTIONS(refusal("\x8a\x09" + std::string(9, '\x01')), "integer of 9 bytes, expected at most 8");
}

TEST(PickleReader, RefusesSelfReferences) {
  EXPECT_MENTIONS(refusal("]q\0h\0a"s), "changes a container that already lies in another, or in itself");
  EXPECT_MENTIONS(refusal("}q\0"s + str("self") + "h\0s"s), "changes a container");
  EXPECT_MENTIONS(refusal("]q\0]h\0aa"s), "changes a container");
  EXPECT_MENTIONS(refusal("]q\0h\0\x85"s + "a"), "changes a container");
}

TEST(PickleReader, LimitsNesting) {
  auto lists = [](int depth) {
    return std::string(static_cast<size_t>(depth), ']') + std::string(static_cast<size_t>(depth) - 1, 'a');
  };
  auto tuples = [](int depth) { return ")" + std::string(static_cast<size_t>(depth) - 1, '\x85'); };
  EXPECT_NE(read(lists(512)).list(), nullptr);
  EXPECT_NE(read(tuples(512)).tuple(), nullptr);
  EXPECT_MENTIONS(refusal(lists(513)), "values nest more than 512 levels deep");
  EXPECT_MENTIONS(refusal(tuples(513)), "values nest more than 512 levels deep");
  EXPECT_MENTIONS(refusal(lists(1'000'000)), "values nest more than 512 levels deep");
}

TEST(PickleReader, LimitsValuesMadeThroughTheMemo) {
  std::string body = "(Nq\0"s;
  for (int i = 0; i < (1 << 24); ++i) body += "h\0"s;
  EXPECT_MENTIONS(refusal(body + "t"), "the pickle makes more than 16777216 values");
}

}  // namespace
}  // namespace edgefx::detail

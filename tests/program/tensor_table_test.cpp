#include <edgefx/program/tensor_table.h>
#include <edgefx/support/error.h>

#include "support/program_builder.h"

#include <ATen/ops/complex.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace edgefx {
namespace {

using test::sampleTensor;

std::vector<std::string> names(const TensorTable& table) {
  std::vector<std::string> out;
  for (const TensorTable::Entry& entry : table) out.push_back(entry.name);
  return out;
}

std::string refusal(const at::Tensor& tensor) {
  try {
    StoredTensor{tensor};
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST(ScalarTypes, EveryDtypeThatThisLibTorchHasComesBack) {
  size_t known = 0;
  for (int number = 0; number < 64; ++number) {
    auto dtype = dtypeFromNumber(number);
    if (!dtype) continue;
    auto type = toScalarType(*dtype);
    if (!type) continue;
    EXPECT_EQ(fromScalarType(*type), dtype) << fxText(*dtype);
    EXPECT_EQ(c10::elementSize(*type), elementSize(*dtype)) << fxText(*dtype);
    EXPECT_EQ(at::isFloatingType(*type), isFloatingPoint(*dtype)) << fxText(*dtype);
    EXPECT_EQ(at::isComplexType(*type), isComplex(*dtype)) << fxText(*dtype);
    ++known;
  }
  EXPECT_GE(known, 13u);
}

TEST(ScalarTypes, UnknownAndQuantizedTypesHaveNone) {
  EXPECT_EQ(toScalarType(Dtype::Unknown), std::nullopt);
  EXPECT_EQ(fromScalarType(at::kQInt8), std::nullopt);
  EXPECT_EQ(fromScalarType(at::ScalarType::Undefined), std::nullopt);
}

TEST(StoredTensor, DescribesTheTensor) {
  at::Tensor base = sampleTensor({4, 6});
  StoredTensor stored(base.t().slice(0, 1), true);
  ASSERT_TRUE(stored.isTensor());
  EXPECT_FALSE(stored.isRaw());
  EXPECT_FALSE(stored.isOpaque());
  EXPECT_TRUE(stored.isParameter);
  ASSERT_NE(stored.meta(), nullptr);
  EXPECT_EQ(stored.meta()->dtype, Dtype::Float32);
  EXPECT_EQ(stored.meta()->layout, Layout::Strided);
  EXPECT_EQ(stored.meta()->device, DeviceSpec());
  EXPECT_EQ(stored.meta()->sizes, (std::vector<SymInt>{5, 4}));
  EXPECT_EQ(stored.meta()->strides, (std::vector<SymInt>{1, 6}));
  EXPECT_EQ(stored.meta()->storageOffset, SymInt(1));
}

TEST(StoredTensor, SharesTheMemoryAndSeesTheWholeStorage) {
  at::Tensor base = sampleTensor({4, 6});
  StoredTensor whole(base), part(base.slice(0, 2));
  EXPECT_EQ(whole.tensor().data_ptr(), base.data_ptr());
  EXPECT_EQ(static_cast<const void*>(part.storage().data()), base.data_ptr());
  EXPECT_EQ(part.storage().size(), 4 * 6 * sizeof(float));
}

TEST(StoredTensor, EmptyTensorsHaveAnEmptyStorage) {
  EXPECT_EQ(StoredTensor(at::empty({0, 3}, at::kFloat)).storage().size(), 0u);
}

TEST(StoredTensor, TakesRequiresGradFromTheTensorAndKeepsItApart) {
  at::Tensor weight = sampleTensor({2}).requires_grad_();
  StoredTensor stored(weight, true);
  EXPECT_TRUE(stored.meta()->requiresGrad);
  EXPECT_FALSE(stored.tensor().requires_grad());
  stored.setRequiresGrad(false);
  EXPECT_FALSE(stored.meta()->requiresGrad);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(stored.tensor().data_ptr(), weight.data_ptr());
}

TEST(StoredTensor, RecordsAnotherDeviceWithoutMovingTheBytes) {
  StoredTensor stored(sampleTensor({2}));
  stored.setDevice({"cuda", 1});
  EXPECT_EQ(text(stored.meta()->device), "cuda:1");
  EXPECT_TRUE(stored.tensor().is_cpu());
}

TEST(StoredTensor, WritesOutConjugateAndNegativeViews) {
  at::Tensor values = at::complex(sampleTensor({2}), sampleTensor({2}).add(1));
  StoredTensor conjugate(values.conj());
  EXPECT_FALSE(conjugate.tensor().is_conj());
  EXPECT_TRUE(conjugate.tensor().equal(values.conj().resolve_conj()));
  StoredTensor negative(at::imag(values.conj()));
  EXPECT_FALSE(negative.tensor().is_neg());
  EXPECT_EQ(negative.tensor()[0].item<float>(), -at::imag(values)[0].item<float>());
}

TEST(StoredTensor, RefusesByNameWhatNoFileHolds) {
  EXPECT_NE(refusal(at::zeros({2}, at::TensorOptions().device(at::kMeta))).find("'meta'"), std::string::npos);
  EXPECT_NE(refusal(sampleTensor({2, 2}).to_sparse()).find("'Sparse'"), std::string::npos);
  at::Tensor quantized = at::quantize_per_tensor(sampleTensor({2}), 0.1, 0, at::kQInt8);
  EXPECT_NE(refusal(quantized).find("int8"), std::string::npos) << refusal(quantized);
  EXPECT_THROW(StoredTensor{at::Tensor()}, UsageError);
}

TEST(StoredTensor, RawEntriesKeepBytesAndShape) {
  SharedBytes bytes = SharedBytes::copyOf("abcdefgh");
  StoredTensor stored = StoredTensor::raw(bytes, contiguousTensor(Dtype::Float8E8M0FNU, {2, 4}), true);
  EXPECT_TRUE(stored.isRaw());
  EXPECT_FALSE(stored.isTensor());
  EXPECT_TRUE(stored.isParameter);
  EXPECT_EQ(stored.meta()->sizes, (std::vector<SymInt>{2, 4}));
  EXPECT_EQ(stored.storage().data(), bytes.bytes().data());
  EXPECT_EQ(stored.storage().size(), 8u);
  try {
    stored.tensor();
    FAIL() << "expected UnsupportedError";
  } catch (const UnsupportedError& error) {
    EXPECT_NE(std::string(error.what()).find("torch.float8_e8m0fnu"), std::string::npos) << error.what();
  }
}

TEST(StoredTensor, OpaqueEntriesKeepTheRecord) {
  StoredTensor stored = StoredTensor::opaque(SharedBytes::copyOf("pickle"), "custom_obj_", {}, false);
  EXPECT_TRUE(stored.isOpaque());
  EXPECT_FALSE(stored.isRaw());
  EXPECT_EQ(stored.meta(), nullptr);
  EXPECT_EQ(stored.opaqueRecord().text(), "pickle");
  EXPECT_EQ(stored.opaquePrefix(), "custom_obj_");
  EXPECT_TRUE(stored.storage().empty());
  EXPECT_THROW(stored.tensor(), UnsupportedError);
  EXPECT_THROW(stored.setDevice({}), UsageError);
  EXPECT_THROW(stored.setRequiresGrad(true), UsageError);
  EXPECT_THROW(StoredTensor::opaque(SharedBytes(), "", {}, false), UsageError);
}

TEST(StoredTensor, AnEmptyOneIsNoKindOfEntry) {
  StoredTensor none;
  EXPECT_FALSE(none.isTensor());
  EXPECT_FALSE(none.isRaw());
  EXPECT_FALSE(none.isOpaque());
  EXPECT_TRUE(none.storage().empty());
  EXPECT_THROW(none.tensor(), UnsupportedError);
}

TEST(TensorTable, KeepsTheOrderOfAdding) {
  TensorTable table;
  for (const char* name : {"z", "a", "m"}) table.set(name, sampleTensor({1}));
  table.set("a", sampleTensor({3}));
  EXPECT_EQ(names(table), (std::vector<std::string>{"z", "a", "m"}));
  EXPECT_EQ(table.size(), 3u);
  EXPECT_EQ(table.find("a")->meta()->sizes, std::vector<SymInt>{3});
}

TEST(TensorTable, ErasesByName) {
  TensorTable table;
  for (const char* name : {"z", "a", "m"}) table.set(name, sampleTensor({1}));
  EXPECT_TRUE(table.erase("a"));
  EXPECT_FALSE(table.erase("a"));
  EXPECT_FALSE(table.contains("a"));
  table.set("a", sampleTensor({1}));
  EXPECT_EQ(names(table), (std::vector<std::string>{"z", "m", "a"}));
}

TEST(TensorTable, FindsNothingUnderAnotherName) {
  TensorTable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.find("w"), nullptr);
  table.set("w", sampleTensor({1}));
  EXPECT_EQ(table.find("w "), nullptr);
}

TEST(TensorTable, CopiesHaveTheirOwnEntriesAndShareMemory) {
  TensorTable table;
  table.set("w", sampleTensor({2}), true);
  TensorTable copy = table;
  EXPECT_EQ(copy.find("w")->tensor().data_ptr(), table.find("w")->tensor().data_ptr());
  copy.find("w")->isParameter = false;
  copy.find("w")->setRequiresGrad(true);
  copy.set("v", sampleTensor({2}));
  EXPECT_TRUE(table.find("w")->isParameter);
  EXPECT_FALSE(table.find("w")->meta()->requiresGrad);
  EXPECT_FALSE(table.contains("v"));
}

TEST(TensorTable, AssignmentReplacesEverything) {
  TensorTable table, other;
  table.set("w", sampleTensor({2}));
  other.set("v", sampleTensor({2}));
  table = other;
  EXPECT_EQ(names(table), std::vector<std::string>{"v"});
  table = table;  // NOLINT
  EXPECT_TRUE(table.contains("v"));
  TensorTable moved = std::move(table);
  EXPECT_TRUE(moved.contains("v"));
  EXPECT_TRUE(moved.erase("v"));
}

}  // namespace
}  // namespace edgefx

#include "serialization/torch_save_writer.h"

#include <edgefx/support/error.h>

#include "serialization/expect_error.h"
#include "serialization/read_weights.h"
#include "serialization/torch_save_archive.h"
#include "support/program_builder.h"

#include <gtest/gtest.h>

namespace edgefx::detail {
namespace {

using test::errorOf;
using test::sampleTensor;

TEST(TorchSave, IsReadBackAsItWas) {
  TensorTable table;
  at::Tensor base = sampleTensor({4, 6});
  table.set("base", base);
  table.set("view", base.slice(0, 1, 3).t());
  StoredTensor parameter(sampleTensor({3}), true);
  parameter.setRequiresGrad(true);
  table.set("päram", parameter);
  table.set("frozen", sampleTensor({2}, Dtype::BFloat16), true);
  table.set("empty", sampleTensor({0, 3}, Dtype::Bool));
  table.set("scalar", sampleTensor({}, Dtype::Complex128));
  TensorMeta meta = contiguousTensor(Dtype::UInt16, {2});
  table.set("raw", StoredTensor::raw(SharedBytes::copyOf("abcd"), meta, false));
  const std::string bytes = torchSave(table);

  TorchSaveArchive archive(test::asBytes(bytes), "", "saved");
  const PickleDict* dict = archive.value().dict();
  ASSERT_NE(dict, nullptr);
  ASSERT_EQ(dict->entries.size(), table.size());
  size_t i = 0;
  for (const auto& [name, stored] : table) {
    SCOPED_TRACE(name);
    const auto& [key, value] = dict->entries[i++];
    ASSERT_NE(key.string(), nullptr);
    EXPECT_EQ(*key.string(), name);
    ASSERT_NE(value.tensor(), nullptr);
    EXPECT_EQ(value.tensor()->dtype, stored.meta()->dtype);
    EXPECT_EQ(value.tensor()->isParameter, stored.isParameter);
    EXPECT_EQ(value.tensor()->requiresGrad, stored.meta()->requiresGrad);
    EXPECT_EQ(value.tensor()->offset, stored.meta()->storageOffset.value());
    EXPECT_EQ(value.tensor()->storageBytes, stored.storage().size());
    EXPECT_EQ(test::asText(archive.zip().mapped(archive.storage(*value.tensor()))),
              test::asText(stored.storage()));
  }
  EXPECT_EQ(&archive.storage(*dict->entries[0].second.tensor()),
            &archive.storage(*dict->entries[1].second.tensor()));
  EXPECT_EQ(torchSave(table), bytes);
}

TEST(TorchSave, WhatNeedsPythonIsRefusedByName) {
  TensorTable objects;
  objects.set("thing", StoredTensor::opaque(SharedBytes::copyOf("x"), "custom_obj_", {}, false));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { torchSave(objects); }), "in entry 'thing'");
  TensorTable onMeta;
  TensorMeta meta = contiguousTensor(Dtype::Float32, {2});
  meta.device.type = "meta";
  onMeta.set("shape", StoredTensor::raw({}, meta, false));
  EXPECT_MENTIONS(errorOf<UnsupportedError>([&] { torchSave(onMeta); }), "device 'meta'");
}

}  // namespace
}  // namespace edgefx::detail

#include "serialization/shared_storage.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace edgefx::detail {
namespace {

// The bytes at an address that fits the element size, copied if they do not lie so.
SharedBytes aligned(const SharedBytes& bytes, size_t elementSize) {
  if (reinterpret_cast<uintptr_t>(bytes.bytes().data()) % std::min<size_t>(elementSize, 8) == 0) return bytes;
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.bytes().begin(), bytes.bytes().end());
  return {copy, *copy};
}

// `bytes` are those of the archive, in which a record that is not compressed lies.
SharedBytes storageBytes(const TorchSaveArchive& archive, const ZipRecord& record, const SharedBytes& bytes,
                         StorageUse use) {
  if (use == StorageUse::Copy) {
    const RecordBytes content = archive.zip().read(record);
    auto copy = std::make_shared<std::vector<std::byte>>(content.bytes().begin(), content.bytes().end());
    return {copy, *copy};
  }
  if (!record.deflated) {
    if (use == StorageUse::MapChecked) archive.zip().checkCrc(record);
    return {bytes.owner(), archive.zip().mapped(record)};
  }
  auto content = std::make_shared<const RecordBytes>(archive.zip().read(record));
  return {content, content->bytes()};
}

}  // namespace

std::vector<int64_t> plainNumbers(const std::vector<SymInt>& numbers) {
  std::vector<int64_t> plain;
  plain.reserve(numbers.size());
  for (const SymInt& number : numbers) plain.push_back(number.value());
  return plain;
}

StoredTensor makeTensor(SharedStorage& shared, const TensorMeta& meta, bool isParameter) {
  std::optional<at::ScalarType> type = toScalarType(meta.dtype);
  bool onMeta = meta.device.type == "meta";
  if (!type || onMeta) return StoredTensor::raw(shared.bytes, meta, isParameter);
  if (!shared.storage) {
    shared.bytes = aligned(shared.bytes, elementSize(meta.dtype));
    auto* owner = new SharedBytes(shared.bytes);
    void* data = const_cast<std::byte*>(shared.bytes.bytes().data());
    shared.storage = c10::Storage(
        c10::Storage::use_byte_size_t(), shared.bytes.size(),
        at::DataPtr(
            data, owner, [](void* held) { delete static_cast<SharedBytes*>(held); }, at::Device(at::kCPU)),
        nullptr, false);
  }
  at::Tensor tensor = at::empty({0}, at::TensorOptions().dtype(*type).device(at::kCPU));
  tensor.set_(shared.storage, meta.storageOffset.value(), plainNumbers(meta.sizes),
              plainNumbers(meta.strides));
  StoredTensor stored(std::move(tensor), isParameter);
  stored.setDevice(meta.device);
  stored.setRequiresGrad(meta.requiresGrad);
  return stored;
}

StoredTensor pickledTensor(const TorchSaveArchive& archive, const PickledTensor& tensor,
                           const SharedBytes& bytes, StorageUse use, StorageCache& storages) {
  const ZipRecord& record = archive.storage(tensor);
  SharedStorage& shared = storages.of(&record, [&] { return storageBytes(archive, record, bytes, use); });
  TensorMeta meta;
  meta.dtype = tensor.dtype;
  meta.requiresGrad = tensor.requiresGrad;
  meta.device = parseDevice(tensor.device);
  meta.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  meta.strides.assign(tensor.strides.begin(), tensor.strides.end());
  meta.storageOffset = tensor.offset;
  return makeTensor(shared, meta, tensor.isParameter);
}

}  // namespace edgefx::detail

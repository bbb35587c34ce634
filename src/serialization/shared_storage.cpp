#include "serialization/shared_storage.h"

#include <ATen/core/Tensor.h>

#include <memory>

namespace edgefx::detail {
namespace {

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

#pragma once

#include <edgefx/program/tensor_table.h>
#include <edgefx/support/shared_bytes.h>

#include "program/make_tensor.h"
#include "serialization/torch_save_archive.h"

#include <cstdint>
#include <map>

namespace edgefx::detail {

// Storages by record.
class StorageCache {
 public:
  // `make` gives the record's bytes on first use.
  template <typename Make>
  SharedStorage& of(const void* record, Make&& make) {
    auto [at, isNew] = storages_.try_emplace(record);
    if (isNew) at->second.bytes = make();
    return at->second;
  }

 private:
  std::map<const void*, SharedStorage> storages_;  // looked up only, never iterated
};

enum class StorageUse : uint8_t {
  Map,         // the storage is the record itself, if that is not compressed
  MapChecked,  // the same, after comparing its checksum
  Copy,        // the storage is a checked copy
};

// The tensor of an archive that lies in `bytes`. Throws ParseError if its storage is missing or too small.
StoredTensor pickledTensor(const TorchSaveArchive& archive, const PickledTensor& tensor,
                           const SharedBytes& bytes, StorageUse use, StorageCache& storages);

}  // namespace edgefx::detail

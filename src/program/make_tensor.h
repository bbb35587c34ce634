#pragma once

#include <edgefx/program/tensor_table.h>
#include <edgefx/support/shared_bytes.h>

#include <c10/core/Storage.h>

#include <cstdint>
#include <vector>

namespace edgefx::detail {

// The storage that tensors over the same bytes share.
struct SharedStorage {
  SharedBytes bytes;
  c10::Storage storage;  // null until a tensor needs it
};

std::vector<int64_t> plainNumbers(const std::vector<SymInt>& numbers);

// A view of the shared storage. The meta's numbers are known to lie within the bytes.
StoredTensor makeTensor(SharedStorage& shared, const TensorMeta& meta, bool isParameter);

}  // namespace edgefx::detail

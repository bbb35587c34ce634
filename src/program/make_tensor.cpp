#include "program/make_tensor.h"

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

}  // namespace edgefx::detail

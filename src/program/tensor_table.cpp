#include <edgefx/program/tensor_table.h>

#include "support/fail.h"

#include <ATen/core/Tensor.h>

#include <sstream>

namespace edgefx {
namespace {

template <typename T>
std::string streamed(const T& value) {
  std::ostringstream out;
  out << value;
  return std::move(out).str();
}

Dtype checkedDtype(const at::Tensor& tensor) {
  using detail::fail;
  if (!tensor.defined()) fail<UsageError>("expected a tensor, found an undefined one");
  if (!tensor.device().is_cpu()) {
    fail<UnsupportedError>("expected a tensor in host memory, found one on device '{}'",
                           streamed(tensor.device()));
  }
  if (tensor.layout() != at::Layout::Strided) {
    fail<UnsupportedError>("expected a strided tensor, found layout '{}'", streamed(tensor.layout()));
  }
  std::optional<Dtype> dtype = fromScalarType(tensor.scalar_type());
  if (tensor.is_quantized() || !dtype) {
    fail<UnsupportedError>("a .pt2 file cannot hold a tensor of dtype '{}'", streamed(tensor.dtype()));
  }
  if (!tensor.has_storage())
    fail<UnsupportedError>("expected a tensor with memory of its own, found a wrapper");
  return *dtype;
}

}  // namespace

StoredTensor::StoredTensor(at::Tensor tensor, bool parameter) : isParameter(parameter) {
  TensorMeta meta;
  meta.dtype = checkedDtype(tensor);
  meta.requiresGrad = tensor.requires_grad();
  if (meta.requiresGrad) tensor = tensor.detach();
  // Files know no lazily conjugated or negated views.
  tensor_ = tensor.resolve_conj().resolve_neg();
  meta.sizes.assign(tensor_.sizes().begin(), tensor_.sizes().end());
  meta.strides.assign(tensor_.strides().begin(), tensor_.strides().end());
  meta.storageOffset = tensor_.storage_offset();
  meta_ = std::move(meta);
}

StoredTensor StoredTensor::raw(SharedBytes storage, TensorMeta meta, bool isParameter) {
  StoredTensor stored;
  stored.bytes_ = std::move(storage);
  stored.meta_ = std::move(meta);
  stored.isParameter = isParameter;
  return stored;
}

StoredTensor StoredTensor::opaque(SharedBytes record, std::string prefix, std::optional<TensorMeta> meta,
                                  bool isParameter) {
  if (prefix.empty()) detail::fail<UsageError>("expected the record prefix of an opaque entry, found none");
  StoredTensor stored;
  stored.bytes_ = std::move(record);
  stored.opaquePrefix_ = std::move(prefix);
  stored.meta_ = std::move(meta);
  stored.isParameter = isParameter;
  return stored;
}

const at::Tensor& StoredTensor::tensor() const {
  if (isTensor()) return tensor_;
  if (isOpaque()) {
    detail::fail<UnsupportedError>(
        "expected a tensor, found an object of kind '{}' that only Python can read", opaquePrefix_);
  }
  if (!meta_) detail::fail<UnsupportedError>("expected a tensor, found an empty entry");
  detail::fail<UnsupportedError>("expected a dtype that this LibTorch has, found '{}'", fxText(meta_->dtype));
}

void StoredTensor::setDevice(DeviceSpec device) {
  if (!meta_) detail::fail<UsageError>("expected a tensor to set the device of, found an object");
  meta_->device = std::move(device);
}

void StoredTensor::setRequiresGrad(bool requiresGrad) {
  if (!meta_) detail::fail<UsageError>("expected a tensor to set requires_grad of, found an object");
  meta_->requiresGrad = requiresGrad;
}

std::span<const std::byte> StoredTensor::storage() const {
  if (!isTensor()) return isRaw() ? bytes_.bytes() : std::span<const std::byte>();
  const auto& storage = tensor_.storage();
  return {static_cast<const std::byte*>(static_cast<const void*>(storage.data())), storage.nbytes()};
}

TensorTable::TensorTable(const TensorTable& other) : entries_(other.entries_) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) index_.emplace(entry->name, entry);
}

TensorTable& TensorTable::operator=(TensorTable other) noexcept {
  entries_.swap(other.entries_);
  index_.swap(other.index_);
  return *this;
}

StoredTensor* TensorTable::find(std::string_view name) {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &found->second->value;
}

const StoredTensor* TensorTable::find(std::string_view name) const {
  return const_cast<TensorTable*>(this)->find(name);
}

void TensorTable::set(std::string_view name, StoredTensor value) {
  if (StoredTensor* existing = find(name)) {
    *existing = std::move(value);
    return;
  }
  entries_.push_back(Entry{std::string(name), std::move(value)});
  index_.emplace(entries_.back().name, std::prev(entries_.end()));
}

bool TensorTable::erase(std::string_view name) {
  auto found = index_.find(name);
  if (found == index_.end()) return false;
  auto entry = found->second;
  index_.erase(found);
  entries_.erase(entry);
  return true;
}

}  // namespace edgefx

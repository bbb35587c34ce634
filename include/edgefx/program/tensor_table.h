#pragma once

#include <edgefx/ir/meta.h>
#include <edgefx/ir/scalar_type.h>
#include <edgefx/support/shared_bytes.h>

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace edgefx {

// A weight or constant. Handles are cheap to copy and share the storage; the bytes are never copied.
class StoredTensor {
 public:
  StoredTensor() = default;
  // Keeps the tensor's memory, detached from autograd; a conjugate or negative view is written out. Throws
  // UnsupportedError for tensors that no .pt2 holds: sparse, quantized, of a device without host memory, or
  // of a dtype without a number in the schema. Throws UsageError for an undefined tensor.
  explicit StoredTensor(at::Tensor tensor, bool isParameter = false);

  // A tensor of a dtype that this LibTorch lacks: its whole storage as bytes, and its shape within.
  static StoredTensor raw(SharedBytes storage, TensorMeta meta, bool isParameter);
  // What only Python can read: a pickled tensor subclass or a script object. `prefix` is the record's name
  // without its number, such as "weight_", "custom_obj_". The meta is absent for objects.
  static StoredTensor opaque(SharedBytes record, std::string prefix, std::optional<TensorMeta> meta,
                             bool isParameter);

  bool isTensor() const { return tensor_.defined(); }
  bool isRaw() const { return meta_.has_value() && !tensor_.defined() && opaquePrefix_.empty(); }
  bool isOpaque() const { return !opaquePrefix_.empty(); }

  // Throws UnsupportedError for raw and opaque entries.
  const at::Tensor& tensor() const;
  // Dtype, shape, device as recorded; null for opaque objects.
  const TensorMeta* meta() const { return meta_ ? &*meta_ : nullptr; }
  // The device to be recorded in files; the bytes are always in host memory. Throws UsageError for opaque
  // objects, as does the next.
  void setDevice(DeviceSpec device);
  void setRequiresGrad(bool requiresGrad);

  bool isParameter = false;

  // The whole storage. Two entries share memory if these begin at one address.
  std::span<const std::byte> storage() const;
  const SharedBytes& opaqueRecord() const { return bytes_; }
  const std::string& opaquePrefix() const { return opaquePrefix_; }

 private:
  at::Tensor tensor_;
  SharedBytes bytes_;  // raw storage or opaque record
  std::optional<TensorMeta> meta_;
  std::string opaquePrefix_;
};

// Tensors by name, in order of being added: a state dict or a program's constants.
class TensorTable {
 public:
  struct Entry {
    std::string name;
    StoredTensor value;
  };

  TensorTable() = default;
  TensorTable(const TensorTable& other);
  TensorTable(TensorTable&&) noexcept = default;
  TensorTable& operator=(TensorTable other) noexcept;

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  const StoredTensor* find(std::string_view name) const;
  StoredTensor* find(std::string_view name);
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Replaces the value in place, or appends an entry.
  void set(std::string_view name, StoredTensor value);
  void set(std::string_view name, at::Tensor tensor, bool isParameter = false) {
    set(name, StoredTensor(std::move(tensor), isParameter));
  }
  // Returns whether there was one.
  bool erase(std::string_view name);

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::list<Entry> entries_;
  std::map<std::string_view, std::list<Entry>::iterator> index_;  // keys point into entries_
};

}  // namespace edgefx

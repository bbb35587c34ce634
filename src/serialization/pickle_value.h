#pragma once

#include <edgefx/ir/dtype.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace edgefx::detail {

struct PickleValue;

struct PickledTensor {
  std::string storageKey;  // record of the storage is data/<storageKey>; equal keys share one storage
  Dtype dtype = Dtype::Unknown;
  uint64_t storageBytes = 0;
  int64_t offset = 0;  // in elements, as the strides
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  bool requiresGrad = false;
  bool isParameter = false;
  std::string device;  // "cpu", "cuda:0"
};

struct PickledDevice {
  std::string text;  // "cpu", "cuda:0"
};

// A storage outside a tensor.
struct PickledStorage {
  std::string key;
  Dtype dtype = Dtype::Unknown;  // UInt8 for an untyped one
  bool isUntyped = false;
  uint64_t bytes = 0;
  std::string device;
};

// A class or function of the list that the reader knows, not called.
struct PickleGlobal {
  std::string_view name;  // as in "torch._utils._rebuild_tensor_v2"; of static lifetime
};

// A class that the reader does not know.
struct PickleClass {
  std::shared_ptr<const std::string> name;  // module and name, printable
};

// What lists, tuples and dicts have in common. Both fields are the reader's bookkeeping.
struct PickleContainer {
  int depth = 1;          // levels of containers, itself included
  bool isSealed = false;  // lies in another container; changing it now could close a cycle
};

struct PickleList : PickleContainer {
  std::vector<PickleValue> items;
};

struct PickleTuple : PickleContainer {
  std::vector<PickleValue> items;
};

struct PickleDict : PickleContainer {
  std::vector<std::pair<PickleValue, PickleValue>> entries;  // in file order; equal keys are not looked for
};

// A value of a pickle. Values that the pickle shares through its memo are shared here too, so the tree is
// acyclic and at most 512 levels deep, yet walking every path through it can take exponential time: visit
// shared nodes once.
struct PickleValue {
  using None = std::monostate;

  std::variant<None, bool, int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<PickleList>,
               std::shared_ptr<PickleTuple>, std::shared_ptr<PickleDict>,
               std::shared_ptr<const PickledTensor>, Dtype, std::shared_ptr<const PickledDevice>,
               std::shared_ptr<const PickledStorage>, PickleGlobal, PickleClass>
      data;

  bool isNone() const { return std::holds_alternative<None>(data); }

  // Pointers to the content, null if the value is of another kind.
  const bool* boolean() const { return std::get_if<bool>(&data); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data); }
  const double* number() const { return std::get_if<double>(&data); }
  const std::string* string() const { return shared<const std::string>(); }
  const PickleList* list() const { return shared<PickleList>(); }
  const PickleTuple* tuple() const { return shared<PickleTuple>(); }
  const PickleDict* dict() const { return shared<PickleDict>(); }
  const PickledTensor* tensor() const { return shared<const PickledTensor>(); }
  const Dtype* dtype() const { return std::get_if<Dtype>(&data); }
  const PickledDevice* device() const { return shared<const PickledDevice>(); }
  const PickledStorage* storage() const { return shared<const PickledStorage>(); }
  const PickleGlobal* global() const { return std::get_if<PickleGlobal>(&data); }
  const PickleClass* pickledClass() const { return std::get_if<PickleClass>(&data); }

  // For messages: "None", "bool", "int", "float", "str", "list", "tuple", "dict", "tensor", ...
  std::string_view kindName() const;

 private:
  template <typename T>
  const T* shared() const {
    const auto* held = std::get_if<std::shared_ptr<T>>(&data);
    return held != nullptr ? held->get() : nullptr;
  }
};

}  // namespace edgefx::detail

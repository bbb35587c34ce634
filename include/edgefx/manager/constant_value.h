#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace at {
class Tensor;
}

namespace edgefx {

// The value that a constant method returns: a number, bool, text, tensor, or lists, tuples and dicts of them.
// Copies are independent but for tensors, which are held by handle.
class ConstantValue {
 public:
  using List = std::vector<ConstantValue>;
  using Dict = std::vector<std::pair<std::string, ConstantValue>>;
  struct Tuple {
    List items;
  };
  using TensorHandle = std::shared_ptr<const at::Tensor>;
  using Data = std::variant<bool, int64_t, double, std::string, TensorHandle, List, Tuple, Dict>;

  ConstantValue(bool value) : data_(value) {}                       // NOLINT
  ConstantValue(int value) : data_(static_cast<int64_t>(value)) {}  // NOLINT
  ConstantValue(int64_t value) : data_(value) {}                    // NOLINT
  ConstantValue(double value) : data_(value) {}                     // NOLINT
  ConstantValue(const char* value) : data_(std::string(value)) {}   // NOLINT
  ConstantValue(std::string value) : data_(std::move(value)) {}     // NOLINT
  ConstantValue(const at::Tensor& tensor);                          // NOLINT
  static ConstantValue list(List items) { return ConstantValue(Data(std::move(items))); }
  static ConstantValue tuple(List items) { return ConstantValue(Data(Tuple{std::move(items)})); }
  static ConstantValue dict(Dict items) { return ConstantValue(Data(std::move(items))); }

  const Data& data() const { return data_; }

  // Same structure and values; tensors are equal if dtype, shape and every element are, nan beside nan
  // included.
  friend bool operator==(const ConstantValue& a, const ConstantValue& b);

 private:
  explicit ConstantValue(Data data) : data_(std::move(data)) {}

  Data data_;
};

// In order of being added; names are unique.
using ConstantMethods = std::vector<std::pair<std::string, ConstantValue>>;

}  // namespace edgefx

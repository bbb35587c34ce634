#pragma once

#include <edgefx/ir/node.h>

#include "ir/sym_arith.h"
#include "support/fail.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::detail {

using Dims = std::vector<SymInt>;

inline constexpr size_t kKeywordOnly = ~size_t{0};

// "[2, s0]".
std::string dimsText(std::span<const SymInt> dims);

// The arguments of a call as shape rules ask for them. Each is named by position and key; None counts as not
// given.
class ShapeCall {
 public:
  explicit ShapeCall(const Node& node) : node_(node) {}

  const Node& node() const { return node_; }
  std::string_view op() const { return node_.target().op(); }
  std::string_view overload() const { return node_.target().overload(); }

  // UsageError naming node and operator.
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    failWith(fmt::format(format, std::forward<Args>(args)...));
  }

  const Argument* find(size_t i, std::string_view key) const;
  // ShapeUnknown if it is not given.
  const Argument& at(size_t i, std::string_view key) const;

  // Null if it is not given; ShapeUnknown if it is no strided tensor with a description.
  const TensorMeta* findTensor(size_t i, std::string_view key) const;
  const TensorMeta& tensor(size_t i, std::string_view key) const;
  // Of a list; elements that are None are null.
  std::vector<const TensorMeta*> tensors(size_t i, std::string_view key) const;

  bool boolean(size_t i, std::string_view key, bool otherwise) const;
  int64_t integer(size_t i, std::string_view key) const;
  int64_t integer(size_t i, std::string_view key, int64_t otherwise) const;
  std::vector<int64_t> integers(size_t i, std::string_view key) const;  // empty if not given
  SymInt size(size_t i, std::string_view key) const;
  SymInt size(size_t i, std::string_view key, SymInt otherwise) const;
  Dims sizes(size_t i, std::string_view key) const;
  // One for each of `count` dimensions; `otherwise` if not given or empty.
  Dims perDimension(size_t i, std::string_view key, size_t count, std::optional<SymInt> otherwise = {}) const;
  std::optional<Dtype> dtype(size_t i, std::string_view key) const;
  std::optional<MemoryFormat> memoryFormat(size_t i, std::string_view key) const;
  std::optional<DeviceSpec> device(size_t i, std::string_view key) const;

  // The dimension that `dim` names, counted from the end if it is negative; UsageError if there is none.
  // Scalars have a dimension 0 here, as in LibTorch.
  size_t dimension(int64_t dim, size_t rank) const;
  // Every dimension if none is named; UsageError if one is named twice.
  std::vector<bool> dimensions(std::span<const int64_t> dims, size_t rank) const;

  static const TensorMeta* tensorOf(const Argument& argument);
  static SymInt sizeOf(const Argument& argument);

 private:
  [[noreturn]] void failWith(std::string message) const;

  const Node& node_;
};

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/meta.h>
#include <edgefx/ir/target.h>

#include "support/text_hash.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// What the graphs of one file share: equal texts and value descriptions become one block, and names
// of targets are looked up once.
class LoadCaches {
 public:
  // The target with this text in a file. Throws UsageError for a malformed name, and for more distinct
  // targets than a file may bring, since they stay interned for the life of the process.
  Target target(std::string_view fileText);

  // A shared copy of a metadata text. Models repeat a few long ones, so equal texts become one.
  SharedText text(std::string_view text);

  // One block for all equal descriptions.
  ValueRef value(const TensorMeta& tensor);

  // One block for all equal expressions with equal hints. Throws ParseError for text that is no expression.
  std::shared_ptr<const Symbolic> symbolic(std::string_view expression, const SymHint& hint);

 private:
  static constexpr size_t kMostTargets = 1 << 14;
  static constexpr size_t kMostTexts = 1 << 12;
  template <typename T>
  using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  ByText<Target> targets_;
  // By hash.
  std::unordered_map<uint64_t, SharedText> texts_;
  std::unordered_map<uint64_t, ValueRef> values_;
  ByText<std::shared_ptr<const Symbolic>> symbolics_;
  std::string key_;  // scratch
};

}  // namespace edgefx::detail

#pragma once

#include <edgefx/ir/meta.h>
#include <edgefx/ir/target.h>

#include "support/text_hash.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace edgefx::detail {

// What the graphs of one file share: equal texts, metadata and value descriptions become one block, and names
// of targets are looked up once.
class LoadCaches {
 public:
  // The target with this text in a file. Throws UsageError for a malformed name, and for more distinct
  // targets than a file may bring, since they stay interned for the life of the process.
  Target target(std::string_view fileText);

  // A shared copy of an entry's text; one of the last few with that key is found again.
  SharedText text(std::string_view key, std::string_view text);

  // The same block for metadata that equals the last one given.
  MetaRef meta(NodeMeta&& meta);

  // One block for all equal descriptions.
  ValueRef value(const TensorMeta& tensor);

  // One block for all equal expressions with equal hints. Throws ParseError for text that is no expression.
  std::shared_ptr<const Symbolic> symbolic(std::string_view expression, const SymHint& hint);

 private:
  static constexpr size_t kMostTargets = 1 << 14;
  static constexpr size_t kMostKeys = 16;
  struct Recent {
    std::string key;
    std::array<SharedText, 4> texts;
    size_t next = 0;
  };
  template <typename T>
  using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  ByText<Target> targets_;
  std::vector<Recent> recent_;
  MetaRef lastMeta_;
  std::unordered_map<uint64_t, ValueRef> values_;
  ByText<std::shared_ptr<const Symbolic>> symbolics_;
  std::string key_;  // scratch
};

}  // namespace edgefx::detail

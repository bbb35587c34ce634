#include "serialization/load_caches.h"

#include "support/fail.h"

#include <bit>

namespace edgefx::detail {

Target LoadCaches::target(std::string_view fileText) {
  if (auto found = targets_.find(fileText); found != targets_.end()) return found->second;
  if (targets_.size() >= kMostTargets)
    fail<UsageError>("more than {} distinct targets in one file", kMostTargets);
  return targets_.emplace(std::string(fileText), Target(fileText)).first->second;
}

SharedText LoadCaches::text(std::string_view text) {
  const uint64_t hash = hashText(text);
  auto found = texts_.find(hash);
  if (found != texts_.end() && *found->second == text) return found->second;
  auto made = std::make_shared<const std::string>(text);
  // Of texts with the same hash the first keeps the entry.
  if (found == texts_.end() && texts_.size() < kMostTexts) texts_.emplace(hash, made);
  return made;
}

ValueRef LoadCaches::value(const TensorMeta& tensor) {
  uint64_t hash = 0;
  auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  };
  auto mixInt = [&mix](const SymInt& number) {
    mix(number.isSymbolic() ? std::bit_cast<uintptr_t>(number.symbolic())
                            : static_cast<uint64_t>(number.value()));
  };
  mix(static_cast<uint64_t>(tensor.dtype) | static_cast<uint64_t>(tensor.layout) << 8 |
      static_cast<uint64_t>(tensor.requiresGrad) << 16 | tensor.sizes.size() << 17);
  for (const SymInt& size : tensor.sizes) mixInt(size);
  for (const SymInt& stride : tensor.strides) mixInt(stride);
  mixInt(tensor.storageOffset);
  ValueRef& slot = values_[hash];
  if (!slot) {
    slot = ValueMeta::of(tensor);
  } else if (!(*slot->tensor() == tensor)) {
    return ValueMeta::of(tensor);  // another of the same hash keeps the slot
  }
  return slot;
}

std::shared_ptr<const Symbolic> LoadCaches::symbolic(std::string_view expression, const SymHint& hint) {
  key_ = expression;
  key_ += '\n';
  key_ += static_cast<char>('0' + hint.index());
  if (const auto* number = std::get_if<int64_t>(&hint)) key_ += std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&hint)) key_ += *flag ? '1' : '0';
  if (const auto* real = std::get_if<double>(&hint)) key_ += std::to_string(std::bit_cast<uint64_t>(*real));
  if (auto found = symbolics_.find(key_); found != symbolics_.end()) return found->second;
  auto made = std::make_shared<const Symbolic>(Symbolic{SymExpr::parse(expression), hint});
  symbolics_.emplace(key_, made);
  return made;
}

}  // namespace edgefx::detail

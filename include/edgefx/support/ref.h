#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace edgefx {

// Base of blocks that many owners share and nobody changes. The count is atomic, the block itself is not
// guarded: change it only before it is shared.
class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) noexcept {}
  RefCounted& operator=(const RefCounted&) noexcept { return *this; }

 protected:
  ~RefCounted() = default;

 private:
  template <typename T>
  friend class Ref;
  mutable std::atomic<uint32_t> count_{0};
};

// Owning handle to a RefCounted block; null when default-constructed.
template <typename T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) noexcept {}  // NOLINT: null is a value of every handle
  explicit Ref(T* block) noexcept : block_(block) { retain(); }
  Ref(const Ref& other) noexcept : block_(other.block_) { retain(); }
  Ref(Ref&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  template <typename U>
  Ref(const Ref<U>& other) noexcept : block_(other.get()) {  // NOLINT: Ref<T> converts to Ref<const T>
    retain();
  }
  ~Ref() { release(); }

  Ref& operator=(Ref other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }

  T* get() const noexcept { return block_; }
  T& operator*() const noexcept { return *block_; }
  T* operator->() const noexcept { return block_; }
  // Whether no other handle owns the block, which then no other thread can come to own.
  bool isOnly() const noexcept {
    return block_ != nullptr && block_->count_.load(std::memory_order_acquire) == 1;
  }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.block_ == b.block_; }

  template <typename... Args>
  static Ref make(Args&&... args) {
    return Ref(new std::remove_const_t<T>(std::forward<Args>(args)...));
  }

 private:
  void retain() const noexcept {
    if (block_ != nullptr) block_->count_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    if (block_ != nullptr && block_->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block_;
  }

  T* block_ = nullptr;
};

}  // namespace edgefx

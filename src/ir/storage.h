#pragma once

#include <edgefx/ir/graph.h>
#include <edgefx/support/ref.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace edgefx::detail {

// Bump allocation in chunks that double up to a limit; freed as a whole. For trivially destructible data
// only.
class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    while (chunks_ != nullptr) ::operator delete(std::exchange(chunks_, chunks_->before));
  }

  template <typename T>
  T* allocate(size_t count) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
    size_t bytes = (count * sizeof(T) + 7) & ~size_t{7};
    if (bytes > static_cast<size_t>(end_ - at_)) grow(bytes);
    T* result = reinterpret_cast<T*>(at_);
    at_ += bytes;
    return result;
  }

  // Makes the next `bytes` come from one chunk.
  void reserve(size_t bytes) {
    if (bytes > static_cast<size_t>(end_ - at_)) addChunk(bytes);
  }

  // Takes the next allocations from memory that somebody else gives back, not before the arena dies.
  void borrow(std::byte* memory, size_t bytes) {
    at_ = memory;
    end_ = memory + bytes;
    capacity_ += bytes;
  }

  size_t capacity() const { return capacity_; }
  size_t used() const { return capacity_ - static_cast<size_t>(end_ - at_); }

 private:
  static constexpr size_t kFirstChunk = 512, kLargestChunk = size_t{1} << 20;

  void grow(size_t bytes) {
    nextChunk_ = std::min(nextChunk_ * 2, kLargestChunk);
    addChunk(std::max(bytes, nextChunk_));
  }
  void addChunk(size_t bytes) {
    auto* const memory = static_cast<std::byte*>(::operator new(sizeof(Chunk) + bytes));
    chunks_ = new (memory) Chunk{chunks_};
    at_ = memory + sizeof(Chunk);
    end_ = at_ + bytes;
    capacity_ += bytes;
  }

  struct Chunk {
    Chunk* before;
  };

  Chunk* chunks_ = nullptr;  // the last one first
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  size_t nextChunk_ = kFirstChunk / 2;
  size_t capacity_ = 0;
};

// Text that only grows. Several may share pages; each then goes on in a page of its own, so that writing in
// one never touches memory that another reads.
class TextPages {
 public:
  TextPages() = default;
  TextPages(const TextPages&) = delete;
  TextPages& operator=(const TextPages&) = delete;

  // Takes the pages of another one instead of its own. O(1).
  void share(const TextPages& other) {
    last_ = other.last_;
    capacity_ = other.capacity_;
    at_ = nullptr;
    left_ = 0;
  }

  std::string_view store(std::string_view text) {
    if (text.size() > left_) {
      nextPage_ = std::min(nextPage_ * 2, kLargestPage);
      addPage(std::max(text.size(), nextPage_));
    }
    char* to = at_;
    std::memcpy(to, text.data(), text.size());
    at_ += text.size();
    left_ -= text.size();
    return {to, text.size()};
  }

  // Makes the next `bytes` come from one page.
  void reserve(size_t bytes) {
    if (bytes > left_) addPage(bytes);
  }

  size_t capacity() const { return capacity_; }

 private:
  static constexpr size_t kFirstPage = 256, kLargestPage = size_t{1} << 16;

  // The text lies behind the page.
  struct Page : RefCounted {
    explicit Page(Ref<Page> previous) : before(std::move(previous)) {}
    // Not page by page from inside one another: there may be many.
    ~Page() {
      while (before && before.isOnly()) before = Ref<Page>(std::move(before->before));
    }
    static void* operator new(size_t size, size_t bytes) { return ::operator new(size + bytes); }
    static void operator delete(void* page) { ::operator delete(page); }
    static void operator delete(void* page, size_t) { ::operator delete(page); }

    Ref<Page> before;
  };

  void addPage(size_t bytes) {
    last_ = Ref<Page>(new (bytes) Page(std::move(last_)));
    at_ = reinterpret_cast<char*>(last_.get() + 1);
    left_ = bytes;
    capacity_ += bytes;
  }

  Ref<Page> last_;
  char* at_ = nullptr;
  size_t left_ = 0;
  size_t nextPage_ = kFirstPage / 2;
  size_t capacity_ = 0;
};

// What a graph is made of, in one piece: delegates have many small graphs.
struct GraphStorage {
  NodeSlabs nodes;
  Arena arena;
  TextPages text;
  Node root;  // sentinel before the first and after the last node
};

}  // namespace edgefx::detail

namespace edgefx {

inline Node& Graph::nodeById(uint32_t id) const {
  return *storage_->nodes.at(id);
}

}  // namespace edgefx

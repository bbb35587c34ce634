#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Writes JSON text byte for byte as Python's json.dumps does: ", " and ": " between items, every character
// outside printable ASCII escaped, floats by repr. The caller gives the nesting; commas come by themselves.
class JsonWriter {
 public:
  explicit JsonWriter(size_t expectedBytes = 0);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void beginObject() { begin('{'); }
  void beginArray() { begin('['); }
  // Throw InternalError if the innermost open bracket is of the other kind or none is open.
  void endObject() { end('{', '}'); }
  void endArray() { end('[', ']'); }

  // Throw UsageError if the text is not UTF-8.
  void key(std::string_view name);
  void string(std::string_view text);

  void integer(int64_t value);
  void number(double value);  // "Infinity", "-Infinity" and "NaN" are written as strings
  void boolean(bool value) { value ? raw("true") : raw("false"); }
  void null() { raw("null"); }
  void raw(std::string_view json) {  // one value that is JSON already
    separate(json.size());
    end_ += json.copy(end_, json.size());
  }

  size_t size() const { return static_cast<size_t>(end_ - buffer_.get()); }

  // What was written, valid until the next call. Throws InternalError if a bracket is still open.
  std::string_view text() const;
  // A copy of text(); leaves the writer empty.
  std::string take();

 private:
  static constexpr size_t kSeparatorBytes = 2;

  // Makes room for `bytes` more.
  void reserve(size_t bytes) {
    if (static_cast<size_t>(limit_ - end_) < bytes) grow(bytes);
  }
  void grow(size_t bytes);

  // Makes room for a value of `bytes` and puts the comma before it.
  void separate(size_t bytes) {
    reserve(bytes + kSeparatorBytes);
    if (needsComma_) {
      std::memcpy(end_, ", ", 2);
      end_ += 2;
    }
    needsComma_ = true;
  }

  void begin(char bracket) {
    separate(1);
    *end_++ = bracket;
    open_.push_back(bracket);
    needsComma_ = false;
  }
  void end(char opening, char closing) {
    if (open_.empty() || open_.back() != opening) failNesting(closing);
    open_.pop_back();
    reserve(1);
    *end_++ = closing;
    needsComma_ = true;
  }
  [[noreturn]] void failNesting(char closing) const;

  void writeQuoted(std::string_view text);
  void writeEscape(uint32_t codePoint);

  // A block of malloc: growing it with realloc neither clears nor, where it is large, copies it.
  struct Free {
    void operator()(char* block) const { std::free(block); }
  };

  std::unique_ptr<char, Free> buffer_;
  char* end_ = nullptr;
  char* limit_ = nullptr;
  std::string open_;  // brackets not closed yet
  bool needsComma_ = false;
};

// A copy of JSON text in which the bare tokens NaN, Infinity and -Infinity, which Python writes as values but
// JSON does not have, are strings. Everything else, also text that is not JSON, is copied as it is. Linear.
std::string quoteBareNonFinite(std::string_view json);

}  // namespace edgefx::detail

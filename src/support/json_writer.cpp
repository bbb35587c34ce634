#include "support/json_writer.h"

#include "support/fail.h"
#include "support/float_repr.h"
#include "support/utf8.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <new>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace edgefx::detail {
namespace {

constexpr size_t kMinCapacity = 1024;
constexpr size_t kPlainBlock = 16;
constexpr size_t kWord = 8;
constexpr size_t kMaxEscapeBytes = 12;  // a surrogate pair
constexpr size_t kMaxIntegerBytes = 20;

// Bytes that json.dumps copies: printable ASCII without '"' and '\'.
constexpr bool isPlain(unsigned char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

constexpr uint64_t repeat(unsigned char c) {
  return 0x0101010101010101ULL * c;
}

// Nonzero if any byte of the word is not plain.
uint64_t specialBytes(uint64_t word) {
  const auto zeroBytes = [](uint64_t w) { return (w - repeat(0x01)) & ~w; };
  const uint64_t control = (word - repeat(0x20)) & ~word;
  const uint64_t high = word | (word + repeat(0x01));  // 0x7F becomes 0x80
  return (control | high | zeroBytes(word ^ repeat('"')) | zeroBytes(word ^ repeat('\\'))) & repeat(0x80);
}

uint64_t loadWord(const char* p) {
  uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The 1 to 7 bytes at `p` as the low end of a little-endian word, the rest spaces. Loads overlap instead of
// looping.
uint64_t loadShort(const char* p, size_t size) {
  const uint64_t fill = repeat(' ') << (8 * size);
  if (size >= 4) {
    uint32_t head;
    uint32_t tail;
    std::memcpy(&head, p, sizeof head);
    std::memcpy(&tail, p + size - sizeof tail, sizeof tail);
    return fill | head | static_cast<uint64_t>(tail) << (8 * (size - sizeof tail));
  }
  const auto byte = [p](size_t i) {
    return static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  };
  return fill | byte(0) | byte(size / 2) | byte(size - 1);
}

// Copies the 16 bytes at `in` to `out` and returns how many of them, from the first, are plain.
size_t copyBlock(const char* in, char* out) {
#if defined(__SSE2__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
  // Compared as signed, bytes from 0x80 are below the space too.
  const __m128i below = _mm_cmpgt_epi8(_mm_set1_epi8(0x20), bytes);
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F));
  const __m128i special = _mm_or_si128(_mm_or_si128(below, del), _mm_or_si128(quote, backslash));
  const auto mask = static_cast<uint32_t>(_mm_movemask_epi8(special));
  return static_cast<size_t>(std::countr_zero(mask | 1u << kPlainBlock));
#else
  std::memcpy(out, in, kPlainBlock);
  if ((specialBytes(loadWord(in)) | specialBytes(loadWord(in + kWord))) == 0) return kPlainBlock;
  size_t count = 0;
  while (count < kPlainBlock && isPlain(static_cast<unsigned char>(in[count]))) ++count;
  return count;
#endif
}

// Copies plain bytes from `in` to `out`, up to the first special one, and returns how many. Writes up to
// kPlainBlock bytes beyond them.
size_t copyPlain(const char* in, size_t size, char* out) {
  const char* const first = in;
  while (size >= kPlainBlock) {
    const size_t count = copyBlock(in, out);
    in += count;
    if (count < kPlainBlock) return static_cast<size_t>(in - first);
    out += kPlainBlock;
    size -= kPlainBlock;
  }
  if (size >= kWord) {
    const uint64_t head = loadWord(in);
    const uint64_t tail = loadWord(in + size - kWord);  // overlaps the head
    if ((specialBytes(head) | specialBytes(tail)) == 0) {
      std::memcpy(out, &head, kWord);
      std::memcpy(out + size - kWord, &tail, kWord);
      return static_cast<size_t>(in - first) + size;
    }
  }
  if constexpr (std::endian::native == std::endian::little) {
    if (size > 0 && size < kWord) {
      const uint64_t word = loadShort(in, size);
      if (specialBytes(word) == 0) {
        std::memcpy(out, &word, kWord);
        return static_cast<size_t>(in - first) + size;
      }
    }
  }
  for (; size > 0 && isPlain(static_cast<unsigned char>(*in)); --size) *out++ = *in++;
  return static_cast<size_t>(in - first);
}

char shortEscape(uint32_t codePoint) {
  switch (codePoint) {
    case '"':
    case '\\':
      return static_cast<char>(codePoint);
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    default:
      return '\0';
  }
}

char* writeUnicodeEscape(char* out, uint32_t unit) {
  *out++ = '\\';
  *out++ = 'u';
  return writeHex(out, unit, 4);
}

}  // namespace

JsonWriter::JsonWriter(size_t expectedBytes) {
  grow(expectedBytes);
}

void JsonWriter::grow(size_t bytes) {
  const size_t used = size();
  if (bytes > std::numeric_limits<size_t>::max() / 4 - used) throw std::bad_alloc();
  // Twice the old capacity, not twice the text: escapes ask again and again for a little more than the rest.
  const size_t capacity =
      std::max({2 * static_cast<size_t>(limit_ - buffer_.get()), used + bytes, kMinCapacity});
  auto* const block = static_cast<char*>(std::realloc(buffer_.get(), capacity));
  if (block == nullptr) throw std::bad_alloc();
  static_cast<void>(buffer_.release());  // realloc has freed or kept it
  buffer_.reset(block);
  end_ = block + used;
  limit_ = block + capacity;
}

void JsonWriter::key(std::string_view name) {
  separate(0);
  writeQuoted(name);
  reserve(kSeparatorBytes);
  std::memcpy(end_, ": ", 2);
  end_ += 2;
  needsComma_ = false;
}

void JsonWriter::string(std::string_view text) {
  separate(0);
  writeQuoted(text);
}

void JsonWriter::integer(int64_t value) {
  separate(kMaxIntegerBytes);
  end_ = std::to_chars(end_, limit_, value).ptr;
}

void JsonWriter::number(double value) {
  if (!std::isfinite(value)) {
    raw(std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    return;
  }
  separate(kFloatReprBytes);
  end_ = writeFloatRepr(end_, value);
}

std::string_view JsonWriter::text() const {
  if (!open_.empty()) fail<InternalError>("expected finished JSON, found {} open brackets", open_.size());
  return {buffer_.get(), size()};
}

std::string JsonWriter::take() {
  std::string written(text());
  end_ = buffer_.get();
  needsComma_ = false;
  return written;
}

void JsonWriter::failNesting(char closing) const {
  fail<InternalError>("unexpected '{}' in JSON, the open brackets are '{}'", closing, open_);
}

void JsonWriter::writeQuoted(std::string_view text) {
  reserve(text.size() + kPlainBlock + 2);
  *end_++ = '"';
  size_t at = 0;
  while (true) {
    const size_t count = copyPlain(text.data() + at, text.size() - at, end_);
    at += count;
    end_ += count;
    if (at == text.size()) break;
    do {
      const DecodedCharacter c = decodeUtf8(text.substr(at));
      if (c.length == 0) fail<UsageError>("expected UTF-8 text, found an invalid byte at offset {}", at);
      reserve(kMaxEscapeBytes + (text.size() - at) + kPlainBlock + 1);
      writeEscape(c.codePoint);
      at += c.length;
    } while (at < text.size() && !isPlain(static_cast<unsigned char>(text[at])));
  }
  *end_++ = '"';
}

void JsonWriter::writeEscape(uint32_t codePoint) {
  if (const char letter = shortEscape(codePoint); letter != '\0') {
    *end_++ = '\\';
    *end_++ = letter;
  } else if (codePoint <= 0xFFFF) {
    end_ = writeUnicodeEscape(end_, codePoint);
  } else {
    const uint32_t offset = codePoint - 0x10000;
    end_ = writeUnicodeEscape(end_, 0xD800 + (offset >> 10));
    end_ = writeUnicodeEscape(end_, 0xDC00 + (offset & 0x3FF));
  }
}

namespace {

// Position behind the string that opens at `at`; the end of the text if it is not closed.
size_t skipString(std::string_view json, size_t at) {
  for (++at; at < json.size(); ++at) {
    if (json[at] == '"') return at + 1;
    if (json[at] == '\\') ++at;
  }
  return json.size();
}

bool isTokenByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
         c == '+' || c == '.' || (static_cast<unsigned char>(c) & 0x80u) != 0;
}

// Whether what follows makes the token before it the key of an object.
bool isBeforeColon(std::string_view json, size_t at) {
  at = json.find_first_not_of(" \t\r\n", at);
  return at != std::string_view::npos && json[at] == ':';
}

}  // namespace

std::string quoteBareNonFinite(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  size_t copied = 0;
  size_t at = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = skipString(json, at);
      continue;
    }
    if (!isTokenByte(c)) {
      ++at;
      continue;
    }
    const size_t first = at;
    while (at < json.size() && isTokenByte(json[at])) ++at;
    const std::string_view token = json.substr(first, at - first);
    if (token != "NaN" && token != "Infinity" && token != "-Infinity") continue;
    if (isBeforeColon(json, at)) continue;
    out.append(json, copied, first - copied).append(1, '"').append(token).append(1, '"');
    copied = at;
  }
  return out.append(json, copied);
}

}  // namespace edgefx::detail

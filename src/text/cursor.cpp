#include "text/cursor.h"

#include <edgefx/support/error.h>

#include "support/fail.h"
#include "support/utf8.h"
#include "text/text_words.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace edgefx::detail {
namespace {

bool isWordStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isWordPart(char c) {
  return isWordStart(c) || (c >= '0' && c <= '9');
}

bool isBlank(char c) {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

// Characters that would end or confuse a line of a message are shown as '?'.
std::string shown(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const DecodedCharacter c = decodeUtf8(text.substr(at));
    if (c.length == 0 || c.codePoint < 0x20 || c.codePoint == 0x7f) {
      out += text[at] == '\t' ? ' ' : '?';
      ++at;
    } else {
      out.append(text, at, c.length);
      at += c.length;
    }
  }
  return out;
}

bool continuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

size_t characters(std::string_view text) {
  return text.size() - static_cast<size_t>(std::ranges::count_if(text, continuesCharacter));
}

}  // namespace

void failAt(std::string_view text, std::string_view fileName, size_t at, std::string_view message) {
  at = std::min(at, text.size());
  const size_t line =
      1 + static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  const size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  // A window of long lines.
  constexpr size_t kBefore = 70, kAfter = 50;
  size_t from = at - start > kBefore ? at - kBefore : start;
  size_t to = end - at > kAfter ? at + kAfter : end;
  while (from < at && continuesCharacter(text[from])) ++from;
  while (to < end && continuesCharacter(text[to])) ++to;
  const std::string_view cut = from > start ? "..." : "";
  std::string full = fmt::format(
      "{}:{}:{}: {}\n    {}{}{}\n    {}^", fileName, line, 1 + characters(text.substr(start, at - start)),
      message, cut, shown(text.substr(from, to - from)), to < end ? "..." : "",
      std::string(cut.size() + characters(shown(text.substr(from, at - from))), ' '));
  throw ParseError(Diagnostic(std::move(full)));
}

void Cursor::skipBlanks() {
  while (at_ < text_.size()) {
    if (isBlank(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool Cursor::atEnd() {
  skipBlanks();
  return at_ == text_.size();
}

char Cursor::peek() {
  skipBlanks();
  return next();
}

bool Cursor::accept(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void Cursor::expect(char c, std::string_view where) {
  if (!accept(c)) expected(fmt::format("'{}' {}", c, where));
}

std::string_view Cursor::peekWord() {
  skipBlanks();
  if (at_ == text_.size() || !isWordStart(text_[at_])) return {};
  size_t end = at_;
  while (end < text_.size() && isWordPart(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string_view Cursor::word() {
  const std::string_view found = peekWord();
  at_ += found.size();
  return found;
}

std::string_view Cursor::dottedWord() {
  skipBlanks();
  const size_t start = at_;
  if (word().empty()) return {};
  while (next() == '.' && at_ + 1 < text_.size() && isWordPart(text_[at_ + 1])) {
    ++at_;
    while (at_ < text_.size() && isWordPart(text_[at_])) ++at_;
  }
  return text_.substr(start, at_ - start);
}

bool Cursor::acceptWord(std::string_view word) {
  if (peekWord() != word) return false;
  at_ += word.size();
  return true;
}

void Cursor::expectWord(std::string_view word) {
  if (!acceptWord(word)) expected(fmt::format("'{}'", word));
}

void Cursor::appendEscape(std::string& out) {
  const size_t start = at_ - 1;
  const char c = next();
  ++at_;
  switch (c) {
    case 'n':
      out += '\n';
      return;
    case 't':
      out += '\t';
      return;
    case 'r':
      out += '\r';
      return;
    case '"':
    case '\\':
      out += c;
      return;
    case 'x': {
      unsigned value = 0;
      const std::string_view digits = text_.substr(std::min(at_, text_.size()), 2);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
      if (error != std::errc() || digits.size() != 2 || end != digits.data() + 2) break;
      out += static_cast<char>(value);
      at_ += 2;
      return;
    }
    default:
      break;
  }
  fail(start, "expected an escape: \\n, \\t, \\r, \\\\, \\\" or \\x with two hexadecimal digits");
}

std::string Cursor::string(std::string_view what) {
  if (peek() != '"') expected(fmt::format("{}, a string in double quotes", what));
  const size_t start = at_++;
  std::string out;
  while (true) {
    const size_t end = text_.find_first_of("\"\\\n", at_);
    if (end == std::string_view::npos || text_[end] == '\n') {
      fail(start, "expected the string to end with '\"' on its line; line ends in it are written \\n");
    }
    out.append(text_, at_, end - at_);
    at_ = end + 1;
    if (text_[end] == '"') return out;
    appendEscape(out);
  }
}

std::string Cursor::key(std::string_view what) {
  if (peek() == '"') return string(what);
  const std::string_view found = word();
  if (found.empty()) expected(fmt::format("{}, a word or a string in double quotes", what));
  return std::string(found);
}

std::string_view Cursor::numberText() {
  skipBlanks();
  const size_t start = at_;
  if (next() == '-') ++at_;
  if (isWordStart(next())) {
    const std::string_view found = word();
    if (found == "inf" || found == "nan") return text_.substr(start, at_ - start);
    at_ = start;
    return {};
  }
  const size_t digits = at_;
  while (at_ < text_.size() &&
         (isWordPart(text_[at_]) || text_[at_] == '.' ||
          ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] | 0x20) == 'e'))) {
    ++at_;
  }
  if (at_ == digits || text_[digits] == '.') at_ = start;
  return text_.substr(start, at_ - start);
}

int64_t Cursor::integer(std::string_view what) {
  skipBlanks();
  const size_t start = at_;
  const std::string_view digits = numberText();
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range)
    fail(start, fmt::format("expected {} that fits 64 bits", what));
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    at_ = start;
    expected(what);
  }
  return value;
}

std::string_view Cursor::raw(std::string_view ends) {
  skipBlanks();
  const size_t start = at_;
  size_t depth = 0;
  while (at_ < text_.size() && text_[at_] != '\n') {
    const char c = text_[at_];
    if (depth == 0 && ends.find(c) != std::string_view::npos) break;
    if (c == '(') ++depth;
    if (c == ')' && depth-- == 0) break;
    ++at_;
  }
  size_t end = at_;
  while (end > start && isBlank(text_[end - 1])) --end;
  return text_.substr(start, end - start);
}

std::string Cursor::describeNext() {
  if (atEnd()) return "the end of the text";
  size_t end = at_ + 1;
  if (isWordPart(text_[at_])) {
    while (end < text_.size() && isWordPart(text_[end])) ++end;
  } else if (text_[at_] == '%') {
    while (end < text_.size() && isWordPart(text_[end])) ++end;
  } else {
    while (end < text_.size() && continuesCharacter(text_[end])) ++end;
  }
  constexpr size_t kMostShown = 60;
  std::string token = shown(text_.substr(at_, std::min(end - at_, kMostShown)));
  if (token == "\"") return "a string";
  return "'" + token + "'";
}

void Cursor::expected(std::string_view what) {
  const std::string found = describeNext();
  fail(at_, fmt::format("expected {}, found {}", what, found));
}

}  // namespace edgefx::detail

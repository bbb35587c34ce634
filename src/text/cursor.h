#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Throws ParseError "file:line:column: message", and shows the line with a mark under the column. Columns
// count characters from 1.
[[noreturn]] void failAt(std::string_view text, std::string_view fileName, size_t at,
                         std::string_view message);

// A place in the text of programs. Everything but position() first goes past blanks and comments.
class Cursor {
 public:
  Cursor(std::string_view text, std::string_view fileName) : text_(text), fileName_(fileName) {}

  size_t position() const { return at_; }
  void moveTo(size_t at) { at_ = at; }
  std::string_view between(size_t from, size_t to) const { return text_.substr(from, to - from); }

  bool atEnd();
  // The next character, 0 at the end.
  char peek();
  // The character directly after what was read last.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool accept(char c);
  void expect(char c, std::string_view where);
  // The whole word, or nothing.
  bool acceptWord(std::string_view word);
  void expectWord(std::string_view word);
  // Letters, digits and '_'; empty if there is none.
  std::string_view word();
  // The same with dots between.
  std::string_view dottedWord();
  std::string_view peekWord();

  std::string string(std::string_view what);
  // A plain word or a string; what it is called in a message.
  std::string key(std::string_view what);
  // Texts of numbers; empty if there is none. With sign, point, exponent, "inf" and "nan".
  std::string_view numberText();
  int64_t integer(std::string_view what);
  // What is written up to the first of `ends` outside of parentheses, without blanks around it.
  std::string_view raw(std::string_view ends);

  // At the next token.
  [[noreturn]] void expected(std::string_view what);
  [[noreturn]] void fail(size_t at, std::string_view message) const { failAt(text_, fileName_, at, message); }

 private:
  void skipBlanks();
  std::string describeNext();
  void appendEscape(std::string& out);

  std::string_view text_;
  std::string_view fileName_;
  size_t at_ = 0;
};

}  // namespace edgefx::detail

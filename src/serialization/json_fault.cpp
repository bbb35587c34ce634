#include "serialization/json_fault.h"

#include "serialization/byte_text.h"
#include "support/fail.h"
#include "support/utf8.h"

#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace edgefx::detail {
namespace {

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

bool isWordByte(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '+' || c == '-' ||
         c == '.';
}

int hexDigit(char c) {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A syntactically right number whose digits from_chars cannot hold in a double: whether it is too large, not
// too small. Only the decimal exponent of the first nonzero digit matters.
bool isTooLarge(std::string_view number) {
  size_t mark = number.find_first_of("eE");
  std::string_view digits = number.substr(0, mark);
  if (digits.starts_with('-')) digits.remove_prefix(1);
  bool isNegative = false;
  int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    std::string_view text = number.substr(mark + 1);
    isNegative = text.starts_with('-');
    if (isNegative || text.starts_with('+')) text.remove_prefix(1);
    // An exponent that does not fit outweighs any digits a text can hold.
    if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc())
      return !isNegative;
  }
  size_t point = digits.find('.');
  auto integerDigits = static_cast<int64_t>(point == std::string_view::npos ? digits.size() : point);
  auto first = static_cast<int64_t>(digits.find_first_of("123456789"));
  int64_t scale = first < integerDigits ? integerDigits - first : integerDigits - first + 1;
  return isNegative ? scale > exponent : scale > -exponent;
}

class JsonScanner {
 public:
  JsonScanner(std::string_view text, size_t maxDepth) : text_(text), maxDepth_(maxDepth) {}

  std::optional<JsonFault> scan() {
    if (text_.starts_with("\xef\xbb\xbf")) {
      report(0, "byte order mark");
      return std::move(fault_);
    }
    while (step()) {
    }
    return fault_ ? std::move(fault_) : std::move(bareNumber_);
  }

 private:
  enum class Expect { Value, FirstItem, FirstKey, Key, Colon, CommaOrEnd };

  bool report(size_t offset, std::string what) {
    fault_ = JsonFault{offset, std::move(what)};
    return false;
  }

  // What stands at `at_`: for messages.
  std::string found() const {
    DecodedCharacter c = decodeUtf8(text_.substr(at_));
    if (c.length == 0) return fmt::format("'{}'", printable(text_.substr(at_, 1)));
    return fmt::format("'{}'", printable(text_.substr(at_, c.length)));
  }

  // Reads one token. Returns whether to go on.
  bool step() {
    while (at_ < text_.size() && isSpace(text_[at_])) ++at_;
    if (expect_ == Expect::CommaOrEnd && open_.empty()) {
      return at_ == text_.size() ? false : report(at_, "text after the end of the JSON");
    }
    if (at_ == text_.size()) return report(at_, "unexpected end");
    char c = text_[at_];
    switch (expect_) {
      case Expect::FirstItem:
        if (c == ']') return close();
        [[fallthrough]];
      case Expect::Value:
        return value();
      case Expect::FirstKey:
        if (c == '}') return close();
        [[fallthrough]];
      case Expect::Key:
        if (c != '"') return report(at_, fmt::format("a member's name expected, found {}", found()));
        expect_ = Expect::Colon;
        return string();
      case Expect::Colon:
        if (c != ':') return report(at_, fmt::format("missing ':', found {}", found()));
        ++at_;
        expect_ = Expect::Value;
        return true;
      case Expect::CommaOrEnd:
        if (c == (open_.back() == '[' ? ']' : '}')) return close();
        if (c != ',') {
          return report(
              at_, fmt::format("missing ',' or '{}', found {}", open_.back() == '[' ? ']' : '}', found()));
        }
        ++at_;
        expect_ = open_.back() == '[' ? Expect::Value : Expect::Key;
        return true;
    }
    return false;
  }

  bool close() {
    ++at_;
    open_.pop_back();
    expect_ = Expect::CommaOrEnd;
    return true;
  }

  bool value() {
    if (open_.size() >= maxDepth_)
      return report(at_, fmt::format("nesting deeper than {} levels", maxDepth_));
    char c = text_[at_];
    if (c == '[' || c == '{') {
      ++at_;
      open_.push_back(c);
      expect_ = c == '[' ? Expect::FirstItem : Expect::FirstKey;
      return true;
    }
    expect_ = Expect::CommaOrEnd;
    if (c == '"') return string();
    if (isWordByte(c)) return word();
    return report(at_, fmt::format("a value expected, found {}", found()));
  }

  bool string() {
    size_t first = at_++;
    while (at_ < text_.size()) {
      auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return true;
      }
      if (c < 0x20) return report(at_, fmt::format("control character '\\x{:02x}' in a string", c));
      if (c == '\\') {
        if (!escape()) return false;
      } else if (c < 0x80) {
        ++at_;
      } else {
        DecodedCharacter decoded = decodeUtf8(text_.substr(at_));
        if (decoded.length == 0) return report(at_, "invalid UTF-8");
        at_ += decoded.length;
      }
    }
    return report(first, "unterminated string");
  }

  bool escape() {
    if (at_ + 1 == text_.size()) {
      ++at_;  // the string is not terminated, which string() says
      return true;
    }
    constexpr std::string_view kShort = "\"\\/bfnrt";
    if (kShort.find(text_[at_ + 1]) != std::string_view::npos) {
      at_ += 2;
      return true;
    }
    size_t first = at_;
    int unit = escapedUnit();
    if (unit < 0) return report(first, fmt::format("bad escape '{}'", printable(text_.substr(first, 6))));
    if (unit < 0xD800 || unit > 0xDFFF) return true;
    if (unit < 0xDC00) {
      int low = escapedUnit();
      if (low >= 0xDC00 && low <= 0xDFFF) return true;
    }
    return report(first, fmt::format("half of a surrogate pair '{}'", text_.substr(first, 6)));
  }

  // The number of a \uXXXX at `at_`, or -1.
  int escapedUnit() {
    constexpr size_t kLength = 6;
    if (text_.size() - at_ < kLength || text_[at_] != '\\' || text_[at_ + 1] != 'u') return -1;
    int unit = 0;
    for (size_t i = 2; i < kLength; ++i) {
      int digit = hexDigit(text_[at_ + i]);
      if (digit < 0) return -1;
      unit = unit * 16 + digit;
    }
    at_ += kLength;
    return unit;
  }

  bool word() {
    size_t first = at_;
    while (at_ < text_.size() && isWordByte(text_[at_])) ++at_;
    std::string_view token = text_.substr(first, at_ - first);
    if (token == "true" || token == "false" || token == "null") return true;
    if (token == "NaN" || token == "Infinity" || token == "-Infinity") {
      if (!bareNumber_) bareNumber_ = JsonFault{first, fmt::format("bare {}", token)};
      return true;
    }
    if (token[0] == '-' || isDigit(token[0])) return number(token, first);
    return report(first, fmt::format("a value expected, found '{}'", printable(token)));
  }

  bool number(std::string_view token, size_t first) {
    size_t at = token[0] == '-' ? 1 : 0;
    auto digits = [&] {
      size_t from = at;
      while (at < token.size() && isDigit(token[at])) ++at;
      return at - from;
    };
    auto bad = [&](std::string_view why) {
      return report(first, fmt::format("{} '{}'", why, printable(token)));
    };
    size_t integerStart = at;
    size_t integerDigits = digits();
    bool isInteger = at == token.size();
    if (integerDigits == 0) return bad("bad number");
    if (integerDigits > 1 && token[integerStart] == '0') return bad("leading zero in number");
    if (at < token.size() && token[at] == '.') {
      ++at;
      if (digits() == 0) return bad("bad number");
    }
    if (at < token.size() && (token[at] == 'e' || token[at] == 'E')) {
      ++at;
      if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
      if (digits() == 0) return bad("bad number");
    }
    if (at != token.size()) return bad("bad number");

    const char* end = token.data() + token.size();
    if (isInteger) {
      int64_t negative = 0;
      uint64_t positive = 0;
      std::errc error = token[0] == '-' ? std::from_chars(token.data(), end, negative).ec
                                        : std::from_chars(token.data(), end, positive).ec;
      return error == std::errc() || bad("an integer outside 64 bits,");
    }
    double value = 0;
    if (std::from_chars(token.data(), end, value).ec == std::errc() || !isTooLarge(token)) return true;
    return bad("a number too large for a double,");
  }

  std::string_view text_;
  size_t maxDepth_;
  size_t at_ = 0;
  Expect expect_ = Expect::Value;
  std::string open_;  // brackets not closed yet
  std::optional<JsonFault> fault_;
  std::optional<JsonFault> bareNumber_;
};

}  // namespace

std::optional<JsonFault> findJsonFault(std::string_view text, size_t maxDepth) {
  return JsonScanner(text, maxDepth).scan();
}

std::string jsonErrorText(std::string_view text, std::string_view parserMessage, size_t maxDepth) {
  std::optional<JsonFault> fault = findJsonFault(text, maxDepth);
  if (!fault) return fmt::format("not JSON: {}", parserMessage);
  return fmt::format("not JSON: {} at byte {}", fault->what, fault->offset);
}

}  // namespace edgefx::detail

#include "serialization/json_fault.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>

namespace edgefx::detail {
namespace {

constexpr size_t kDepth = 1024;

std::string errorText(std::string_view text, size_t maxDepth = kDepth) {
  return jsonErrorText(text, "the parser's own words", maxDepth);
}

TEST(JsonFault, NamesEachFaultAndItsByte) {
  EXPECT_EQ(errorText("\xef\xbb\xbf{}"), "not JSON: byte order mark at byte 0");
  EXPECT_EQ(errorText(""), "not JSON: unexpected end at byte 0");
  EXPECT_EQ(errorText("{\"a\": [1, "), "not JSON: unexpected end at byte 10");
  EXPECT_EQ(errorText("{} x"), "not JSON: text after the end of the JSON at byte 3");
  EXPECT_EQ(errorText("[\"abc"), "not JSON: unterminated string at byte 1");
  EXPECT_EQ(errorText("[\"abc\\"), "not JSON: unterminated string at byte 1");
  EXPECT_EQ(errorText("[\"a\\q\"]"), "not JSON: bad escape '\\q\"]' at byte 3");
  EXPECT_EQ(errorText("[\"\\u12g4\"]"), "not JSON: bad escape '\\u12g4' at byte 2");
  EXPECT_EQ(errorText("[\"\\ud83d\"]"), "not JSON: half of a surrogate pair '\\ud83d' at byte 2");
  EXPECT_EQ(errorText("[\"\\ude00\"]"), "not JSON: half of a surrogate pair '\\ude00' at byte 2");
  EXPECT_EQ(errorText("[\"a\nb\"]"), "not JSON: control character '\\x0a' in a string at byte 3");
  EXPECT_EQ(errorText("[\"a\xc3(\"]"), "not JSON: invalid UTF-8 at byte 3");
  EXPECT_EQ(errorText("[007]"), "not JSON: leading zero in number '007' at byte 1");
  EXPECT_EQ(errorText("[-]"), "not JSON: bad number '-' at byte 1");
  EXPECT_EQ(errorText("[1.]"), "not JSON: bad number '1.' at byte 1");
  EXPECT_EQ(errorText("[1e+]"), "not JSON: bad number '1e+' at byte 1");
  EXPECT_EQ(errorText("[1x]"), "not JSON: bad number '1x' at byte 1");
  EXPECT_EQ(errorText("[+1]"), "not JSON: a value expected, found '+1' at byte 1");
  EXPECT_EQ(errorText("[None]"), "not JSON: a value expected, found 'None' at byte 1");
  EXPECT_EQ(errorText("[1, 'a']"), "not JSON: a value expected, found ''' at byte 4");
  EXPECT_EQ(errorText("[18446744073709551616]"),
            "not JSON: an integer outside 64 bits, '18446744073709551616' at byte 1");
  EXPECT_EQ(errorText("[-9223372036854775809]"),
            "not JSON: an integer outside 64 bits, '-9223372036854775809' at byte 1");
  EXPECT_EQ(errorText("[0.01e311]"), "not JSON: a number too large for a double, '0.01e311' at byte 1");
  EXPECT_EQ(errorText("[1 2]"), "not JSON: missing ',' or ']', found '2' at byte 3");
  EXPECT_EQ(errorText("{\"a\": 1 \"b\": 2}"), "not JSON: missing ',' or '}', found '\"' at byte 8");
  EXPECT_EQ(errorText("{\"a\" 1}"), "not JSON: missing ':', found '1' at byte 5");
  EXPECT_EQ(errorText("{\"a\": 1, }"), "not JSON: a member's name expected, found '}' at byte 9");
  EXPECT_EQ(errorText("{1: 2}"), "not JSON: a member's name expected, found '1' at byte 1");
  EXPECT_EQ(errorText("[1, ]"), "not JSON: a value expected, found ']' at byte 4");
  EXPECT_EQ(errorText("[1}"), "not JSON: missing ',' or ']', found '}' at byte 2");
  EXPECT_EQ(errorText("[\xff]"), "not JSON: a value expected, found '\\xff' at byte 1");
}

// Files up to torch 2.6 hold such tokens, which their reader lets pass.
TEST(JsonFault, BareNumbersComeLast) {
  EXPECT_EQ(errorText("[NaN, -Infinity]"), "not JSON: bare NaN at byte 1");
  EXPECT_EQ(errorText("[NaN, 01]"), "not JSON: leading zero in number '01' at byte 6");
  EXPECT_EQ(errorText("[Infinity, "), "not JSON: unexpected end at byte 11");
}

TEST(JsonFault, CountsLevelsAsTheParserDoes) {
  EXPECT_EQ(errorText("[[[1]]]", 3), "not JSON: nesting deeper than 3 levels at byte 3");
  EXPECT_FALSE(findJsonFault("[[1]]", 3));
  EXPECT_FALSE(findJsonFault("[[[]]]", 3));
  for (size_t depth : {kDepth - 1, kDepth, kDepth + 1}) {
    for (std::string_view inner : {"", "1"}) {
      std::string text = std::string(depth, '[') + std::string(inner) + std::string(depth, ']');
      simdjson::dom::parser parser;
      bool isRefused = parser.parse(simdjson::padded_string(text)).error() != simdjson::SUCCESS;
      EXPECT_EQ(findJsonFault(text, kDepth).has_value(), isRefused)
          << depth << " levels around '" << inner << "'";
    }
  }
}

TEST(JsonFault, LongInputNeedsNoStack) {
  std::string text(4'000'000, '[');
  EXPECT_EQ(findJsonFault(text, text.size())->offset, text.size());
}

TEST(JsonFault, FindsNoneInJson) {
  for (std::string_view text :
       {"{\"a\": [1, -2.5e3, true, false, null, "
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\xc3\xa9\"]}",
        "[18446744073709551615, -9223372036854775808, -0, 0.0, 1e-400, 0e999999999999999999999]",
        " \t\r\n[ ] ", "\"text\"", "3"}) {
    EXPECT_FALSE(findJsonFault(text, kDepth)) << text;
  }
  EXPECT_EQ(errorText("[]"), "not JSON: the parser's own words");
}

// Every prefix and every single wrong byte of a text: found to be a fault exactly if the parser refuses it.
TEST(JsonFault, AgreesWithTheParser) {
  const std::string_view text =
      "{\"a\": [1, -2.5e3, true, null, \"x\\n\\u00e9\\ud83d\\ude00\xc3\xa9\"], \"b\": {\"c\": {}, \"d\": "
      "[]}}";
  simdjson::dom::parser parser;
  auto compare = [&](const std::string& changed) {
    bool isRefused = parser.parse(changed).error() != simdjson::SUCCESS;
    std::optional<JsonFault> fault = findJsonFault(changed, kDepth);
    EXPECT_EQ(fault.has_value(), isRefused) << changed << ": " << (fault ? fault->what : "no fault");
    if (fault) {
      EXPECT_LE(fault->offset, changed.size());
    }
  };
  for (size_t i = 0; i < text.size(); ++i) {
    compare(std::string(text.substr(0, i)));
    for (char wrong : std::string_view("{}[]\":,0-.eEud8\\ \x01\xc3\xff", 19)) {
      std::string changed(text);
      changed[i] = wrong;
      compare(changed);
    }
  }
}

}  // namespace
}  // namespace edgefx::detail

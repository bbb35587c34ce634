#include "support/json_writer.h"

#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace edgefx::detail {
namespace {

std::string jsonText(std::string_view text) {
  JsonWriter writer;
  writer.string(text);
  return writer.take();
}

std::string numberText(double value) {
  JsonWriter writer;
  writer.number(value);
  return writer.take();
}

// The same text written byte by byte, as the specification of json.dumps says.
std::string quotedSlowly(std::string_view asciiText) {
  std::string out = "\"";
  for (const char c : asciiText) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7F) {
      constexpr std::string_view kLetters = "btn_fr";  // of 0x08 to 0x0D
      if (byte >= 0x08 && byte <= 0x0D && byte != 0x0B) {
        out += '\\';
        out += kLetters[byte - 0x08u];
      } else {
        const char* const hex = "0123456789abcdef";
        out += "\\u00";
        out += hex[byte >> 4];
        out += hex[byte & 15];
      }
    } else {
      out += c;
    }
  }
  return out + "\"";
}

TEST(JsonWriter, PlacesSeparatorsAsPythonDoes) {
  JsonWriter writer;
  writer.beginObject();
  writer.key("a");
  writer.integer(1);
  writer.key("b");
  writer.beginArray();
  writer.integer(-2);
  writer.string("x");
  writer.beginObject();
  writer.endObject();
  writer.beginArray();
  writer.endArray();
  writer.null();
  writer.boolean(true);
  writer.boolean(false);
  writer.endArray();
  writer.key("c");
  writer.beginObject();
  writer.key("d");
  writer.raw("{\"as_int\":7}");
  writer.endObject();
  writer.endObject();
  EXPECT_EQ(writer.take(),
            "{\"a\": 1, \"b\": [-2, \"x\", {}, [], null, true, false], \"c\": {\"d\": {\"as_int\":7}}}");
}

TEST(JsonWriter, IsEmptyAgainAfterTake) {
  JsonWriter writer;
  writer.beginArray();
  writer.integer(1);
  writer.endArray();
  EXPECT_EQ(writer.size(), 3u);
  EXPECT_EQ(writer.take(), "[1]");
  EXPECT_EQ(writer.size(), 0u);
  writer.string("again");
  EXPECT_EQ(writer.take(), "\"again\"");
}

TEST(JsonWriter, EscapesAsciiAsPythonDoes) {
  EXPECT_EQ(jsonText(""), "\"\"");
  EXPECT_EQ(jsonText("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
  EXPECT_EQ(jsonText("\n\r\t\b\f"), "\"\\n\\r\\t\\b\\f\"");
  EXPECT_EQ(jsonText(std::string_view("\0\x01\x0b\x1f ~\x7f", 7)),
            "\"\\u0000\\u0001\\u000b\\u001f ~\\u007f\"");
}

TEST(JsonWriter, EscapesNonAsciiAsUtf16) {
  EXPECT_EQ(jsonText("\xc2\x80\xc3\xa9\xdf\xbf"), "\"\\u0080\\u00e9\\u07ff\"");
  EXPECT_EQ(jsonText("\xe0\xa0\x80\xe2\x80\xa8\xe4\xb8\xad\xef\xbf\xbf"), "\"\\u0800\\u2028\\u4e2d\\uffff\"");
  EXPECT_EQ(jsonText("\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"),
            "\"\\ud800\\udc00\\ud83d\\ude00\\udbff\\udfff\"");
  EXPECT_EQ(jsonText("sch\xc3\xb6n, sehr sch\xc3\xb6n und lang genug"),
            "\"sch\\u00f6n, sehr sch\\u00f6n und lang genug\"");
}

TEST(JsonWriter, FindsEverySpecialByteAtEveryPosition) {
  for (size_t size = 1; size <= 40; ++size) {
    for (size_t at = 0; at < size; ++at) {
      for (int byte = 0; byte < 0x80; ++byte) {
        std::string text(size, 'x');
        text[at] = static_cast<char>(byte);
        ASSERT_EQ(jsonText(text), quotedSlowly(text)) << "byte " << byte << " at " << at << " of " << size;
      }
    }
  }
}

TEST(JsonWriter, WritesTextOfMixedSpecials) {
  std::string text;
  uint32_t state = 12345;
  for (int i = 0; i < 1500; ++i) {
    state = state * 1664525u + 1013904223u;
    text += static_cast<char>(state >> 24 & 0x7Fu);
    ASSERT_EQ(jsonText(std::string_view(text).substr(text.size() / 2)),
              quotedSlowly(std::string_view(text).substr(text.size() / 2)));
  }
}

TEST(JsonWriter, WritesLongTextOfEscapesOnly) {
  const std::string text(100000, '\x01');
  EXPECT_EQ(jsonText(text), quotedSlowly(text));
  std::string wide;
  std::string expected = "\"";
  for (int i = 0; i < 20000; ++i) {
    wide += "\xf0\x9f\x98\x80";
    expected += "\\ud83d\\ude00";
  }
  EXPECT_EQ(jsonText(wide), expected + "\"");
}

TEST(JsonWriter, EscapesKeysToo) {
  JsonWriter writer;
  writer.beginObject();
  writer.key("k\xc3\xa9y\"");
  writer.null();
  writer.endObject();
  EXPECT_EQ(writer.take(), "{\"k\\u00e9y\\\"\": null}");
}

TEST(JsonWriter, RefusesTextThatIsNotUtf8) {
  for (const std::string_view bad :
       {"\x80", "abc\xff", "\xc3", "\xc3(", "\xc0\xaf", "\xe2\x82", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xf0\x9f\x98", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
        "a text of many bytes, then \xe2\x82"}) {
    EXPECT_THROW(jsonText(bad), UsageError) << bad;
  }
  try {
    jsonText("abc\xff");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("offset 3"), std::string::npos) << error.what();
  }
}

TEST(JsonWriter, WritesNumbersAsPythonDoes) {
  EXPECT_EQ(numberText(1), "1.0");
  EXPECT_EQ(numberText(-0.0), "-0.0");
  EXPECT_EQ(numberText(0.1), "0.1");
  EXPECT_EQ(numberText(1e-5), "1e-05");
  EXPECT_EQ(numberText(1e16), "1e+16");
  EXPECT_EQ(numberText(-1.7976931348623157e308), "-1.7976931348623157e+308");
  EXPECT_EQ(numberText(std::numeric_limits<double>::infinity()), "\"Infinity\"");
  EXPECT_EQ(numberText(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
  EXPECT_EQ(numberText(std::numeric_limits<double>::quiet_NaN()), "\"NaN\"");
  JsonWriter writer;
  writer.beginArray();
  writer.integer(std::numeric_limits<int64_t>::max());
  writer.integer(std::numeric_limits<int64_t>::min());
  writer.endArray();
  EXPECT_EQ(writer.take(), "[9223372036854775807, -9223372036854775808]");
}

TEST(JsonWriter, GrowsThroughManyItems) {
  JsonWriter writer;
  std::string expected = "[";
  writer.beginArray();
  for (int i = 0; i < 50000; ++i) {
    writer.integer(i);
    expected += (i == 0 ? "" : ", ") + std::to_string(i);
  }
  writer.endArray();
  EXPECT_EQ(writer.take(), expected + "]");
}

TEST(JsonWriter, NestsDeeply) {
  constexpr size_t kDepth = 100000;
  JsonWriter writer;
  for (size_t i = 0; i < kDepth; ++i) writer.beginArray();
  for (size_t i = 0; i < kDepth; ++i) writer.endArray();
  EXPECT_EQ(writer.take(), std::string(kDepth, '[') + std::string(kDepth, ']'));
}

TEST(JsonWriter, RefusesWrongNesting) {
  JsonWriter writer;
  EXPECT_THROW(writer.endArray(), InternalError);
  writer.beginObject();
  EXPECT_THROW(writer.endArray(), InternalError);
  EXPECT_THROW(writer.take(), InternalError);
  writer.endObject();
  EXPECT_EQ(writer.take(), "{}");
}

TEST(QuoteBareNonFinite, QuotesValues) {
  EXPECT_EQ(quoteBareNonFinite("[NaN, Infinity,-Infinity]"), "[\"NaN\", \"Infinity\",\"-Infinity\"]");
  EXPECT_EQ(quoteBareNonFinite("{\"min\": -Infinity , \"max\": Infinity}"),
            "{\"min\": \"-Infinity\" , \"max\": \"Infinity\"}");
  EXPECT_EQ(quoteBareNonFinite("NaN"), "\"NaN\"");
  EXPECT_EQ(quoteBareNonFinite("-Infinity\n"), "\"-Infinity\"\n");
}

TEST(QuoteBareNonFinite, LeavesStringsAndOtherTokens) {
  for (const std::string_view text :
       {"{\"NaN\": \"Infinity, NaN\", \"a\\\"NaN\": \"\\\\\"}", "[1e5, -1, true, null, \"x, -Infinity\"]", "",
        "[\"\\\\\\\"\", \"NaN\"]", "[NaNa, aNaN, Infinity1, --Infinity, +Infinity, -NaN, Infinit, nan]",
        "{NaN : 1}", "\"not closed NaN", "\"not closed \\", "\xc3NaN", "[NaN\xff]"}) {
    EXPECT_EQ(quoteBareNonFinite(text), text);
  }
  EXPECT_EQ(quoteBareNonFinite("[\"\\\\\", NaN]"), "[\"\\\\\", \"NaN\"]");
  EXPECT_EQ(quoteBareNonFinite("[\"\\\"\", NaN]"), "[\"\\\"\", \"NaN\"]");
  EXPECT_EQ(quoteBareNonFinite(std::string_view("\0[NaN\0", 6)), std::string("\0[\"NaN\"\0", 8));
}

}  // namespace
}  // namespace edgefx::detail

#include "serialization/json_document.h"

#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <string>

namespace edgefx::detail {
namespace {

// Longer than what the parser gets buffers of large pages for.
std::string longText(const std::string& last) {
  std::string text = "[";
  while (text.size() < (size_t{5} << 20)) text += "\"a text of some length, again and again\", ";
  return text + last + "]";
}

size_t itemsIn(JsonValue list, std::string& last) {
  size_t count = 0;
  for (JsonValue item : list.get_array()) {
    ++count;
    last = item.is_string() ? std::string(std::string_view(item.get_string())) : "";
  }
  return count;
}

TEST(JsonDocument, LongTextsAreReadWhole) {
  JsonDocument document;
  std::string last;
  const size_t count = itemsIn(document.parse(longText("\"end\""), "model"), last);
  EXPECT_GT(count, 100'000u);
  EXPECT_EQ(last, "end");
}

TEST(JsonDocument, OneDocumentReadsLongAndShortTextsInTurn) {
  JsonDocument document;
  std::string last;
  const size_t first = itemsIn(document.parse(longText("\"one\""), "model"), last);
  EXPECT_EQ(itemsIn(document.parse("[\"short\"]", "model"), last), 1u);
  EXPECT_EQ(last, "short");
  EXPECT_EQ(itemsIn(document.parse(longText("\"two\""), "model"), last), first);
  EXPECT_EQ(last, "two");
}

TEST(JsonDocument, BareNanInALongTextIsAString) {
  JsonDocument document;
  std::string last;
  EXPECT_GT(itemsIn(document.parse(longText("NaN"), "model"), last), 100'000u);
  EXPECT_EQ(last, "NaN");
}

TEST(JsonDocument, AFaultInALongTextIsPlaced) {
  JsonDocument document;
  const std::string text = longText("01");
  try {
    document.parse(text, "model");
    FAIL() << "no fault was found";
  } catch (const ParseError& error) {
    const std::string place = "at byte " + std::to_string(text.size() - 3);
    EXPECT_NE(std::string(error.what()).find(place), std::string::npos) << error.what();
  }
  std::string last;
  EXPECT_EQ(itemsIn(document.parse("[\"fine\"]", "model"), last), 1u);
}

}  // namespace
}  // namespace edgefx::detail

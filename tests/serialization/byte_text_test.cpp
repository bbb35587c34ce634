#include "serialization/byte_text.h"

#include <gtest/gtest.h>

namespace edgefx::detail {
namespace {

TEST(ByteText, TellsUtf8FromOtherBytes) {
  EXPECT_TRUE(isUtf8(""));
  EXPECT_TRUE(isUtf8("n\xc3\xa4me \xf0\x9f\x98\x80"));
  EXPECT_FALSE(isUtf8("caf\xe9"));
  EXPECT_FALSE(isUtf8("cut \xc3"));
}

TEST(ByteText, ShowsControlAndForeignBytesAsHex) {
  EXPECT_EQ(printable("a\nb\xff n\xc3\xa4me"), "a\\x0ab\\xff n\xc3\xa4me");
}

TEST(ByteText, CutsLongText) {
  const std::string shown = printable("head" + std::string(1000, 'x') + "tail");
  EXPECT_LT(shown.size(), 300u);
  EXPECT_TRUE(shown.starts_with("head"));
  EXPECT_TRUE(shown.ends_with("tail"));
  EXPECT_NE(shown.find("808 bytes"), std::string::npos);
}

}  // namespace
}  // namespace edgefx::detail

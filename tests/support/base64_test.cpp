#include "support/base64.h"

#include <gtest/gtest.h>

#include <string>

namespace edgefx::detail {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  for (const auto& [bytes, text] :
       {std::pair("", ""), std::pair("f", "Zg=="), std::pair("fo", "Zm8="), std::pair("foo", "Zm9v"),
        std::pair("foob", "Zm9vYg=="), std::pair("fooba", "Zm9vYmE="), std::pair("foobar", "Zm9vYmFy")}) {
    EXPECT_EQ(base64Of(bytes), text);
    EXPECT_EQ(bytesOfBase64(text), bytes);
  }
  EXPECT_EQ(base64Of("\xfb\xff\xfe"), "+//+");
}

TEST(Base64, AllBytesComeBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i * 7);
    EXPECT_EQ(bytesOfBase64(base64Of(bytes)), bytes);
  }
}

TEST(Base64, OtherTextIsRefused) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Z g=", "Zm9-", "Zm9\n", "Zh==", "Zm9="}) {
    EXPECT_EQ(bytesOfBase64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace edgefx::detail

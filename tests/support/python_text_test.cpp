#include <edgefx/support/python_text.h>

#include <gtest/gtest.h>

#include <charconv>
#include <clocale>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace edgefx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T>
std::string repr(T value) {
  std::string out;
  appendRepr(out, value);
  return out;
}

std::string reprComplex(double real, double imaginary) {
  std::string out;
  appendComplexRepr(out, real, imaginary);
  return out;
}

std::string reprString(std::string_view text) {
  std::string out;
  appendReprString(out, text);
  return out;
}

TEST(PythonText, FloatsPrintAsPythonPrintsThem) {
  const struct {
    double value;
    const char* text;
  } cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-1.0, "-1.0"},
      {0.1, "0.1"},
      {0.5, "0.5"},
      {2.5, "2.5"},
      {100.0, "100.0"},
      {123456.789, "123456.789"},
      {1.0 / 3.0, "0.3333333333333333"},
      {0.1f, "0.10000000149011612"},
      {3.141592653589793, "3.141592653589793"},
      {0.001, "0.001"},
      {0.0001, "0.0001"},
      {0.00012345, "0.00012345"},
      {0.0001234567890123456, "0.0001234567890123456"},
      {0.00001, "1e-05"},
      {0.000012345, "1.2345e-05"},
      {9.999999999999999e-05, "9.999999999999999e-05"},
      {999999999999999.0, "999999999999999.0"},
      {999999999999999.9, "999999999999999.9"},
      {1e15, "1000000000000000.0"},
      {1234567890123456.0, "1234567890123456.0"},
      {9007199254740993.0, "9007199254740992.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {-1e16, "-1e+16"},
      {12345678901234567.0, "1.2345678901234568e+16"},
      {1e22, "1e+22"},
      {1e23, "1e+23"},
      {1e100, "1e+100"},
      {1.5e-100, "1.5e-100"},
      {5e-324, "5e-324"},
      {2.2250738585072014e-308, "2.2250738585072014e-308"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {9223372036854775808.0, "9.223372036854776e+18"},
      {-3.4028234663852886e38, "-3.4028234663852886e+38"},
      {kInfinity, "inf"},
      {-kInfinity, "-inf"},
      {kNan, "nan"},
      {-kNan, "nan"},
  };
  for (const auto& c : cases) EXPECT_EQ(repr(c.value), c.text);
}

TEST(PythonText, FloatsReadBackUnchanged) {
  std::mt19937_64 random(20240917);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (i % 2 == 0) value = static_cast<double>(static_cast<int64_t>(bits >> (i % 60))) / 1024.0;
    if (value != value) continue;
    const std::string text = repr(value);
    if (value - value != 0) continue;  // infinite
    double back = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(error, std::errc()) << text;
    ASSERT_EQ(end, text.data() + text.size()) << text;
    ASSERT_EQ(back, value) << text;
    ASSERT_NE(text.find_first_of(".e"), std::string::npos) << text;
  }
}

TEST(PythonText, IntegersPrintInDecimal) {
  EXPECT_EQ(repr(0), "0");
  EXPECT_EQ(repr(-7), "-7");
  EXPECT_EQ(repr(std::numeric_limits<int64_t>::max()), "9223372036854775807");
  EXPECT_EQ(repr(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
}

TEST(PythonText, ComplexNumbersPrintAsPythonPrintsThem) {
  EXPECT_EQ(reprComplex(1, 2), "(1+2j)");
  EXPECT_EQ(reprComplex(1, -2), "(1-2j)");
  EXPECT_EQ(reprComplex(0, -1.5), "-1.5j");
  EXPECT_EQ(reprComplex(0, 1), "1j");
  EXPECT_EQ(reprComplex(0, 0), "0j");
  EXPECT_EQ(reprComplex(0.0, -0.0), "-0j");
  EXPECT_EQ(reprComplex(-0.0, 0.0), "(-0+0j)");
  EXPECT_EQ(reprComplex(-0.0, -1), "(-0-1j)");
  EXPECT_EQ(reprComplex(1.5, 1e-5), "(1.5+1e-05j)");
  EXPECT_EQ(reprComplex(0, 1e16), "1e+16j");
  EXPECT_EQ(reprComplex(1e15, 1e16), "(1000000000000000+1e+16j)");
  EXPECT_EQ(reprComplex(1, kNan), "(1+nanj)");
  EXPECT_EQ(reprComplex(1, -kNan), "(1+nanj)");
  EXPECT_EQ(reprComplex(kNan, -kInfinity), "(nan-infj)");
  EXPECT_EQ(reprComplex(0, kInfinity), "infj");
}

TEST(PythonText, StringsChooseTheirQuotesAsPythonDoes) {
  EXPECT_EQ(reprString(""), "''");
  EXPECT_EQ(reprString("floor"), "'floor'");
  EXPECT_EQ(reprString("it's"), "\"it's\"");
  EXPECT_EQ(reprString("say \"x\""), "'say \"x\"'");
  EXPECT_EQ(reprString("it's \"x\""), "'it\\'s \"x\"'");
}

TEST(PythonText, StringsEscapeWhatCannotBePrinted) {
  EXPECT_EQ(reprString("a\nb\tc\rd\\e"), "'a\\nb\\tc\\rd\\\\e'");
  EXPECT_EQ(reprString(std::string_view("\0\x01\x1f\x7f", 4)), "'\\x00\\x01\\x1f\\x7f'");
  EXPECT_EQ(reprString("\xc2\x80\xc2\xa0\xc2\xad"), "'\\x80\\xa0\\xad'");
  EXPECT_EQ(reprString("\xe2\x80\x8b\xe2\x80\xa8\xe3\x80\x80\xef\xbb\xbf"), "'\\u200b\\u2028\\u3000\\ufeff'");
  EXPECT_EQ(reprString("\xee\x80\x80"), "'\\ue000'");
  EXPECT_EQ(reprString("\xf3\xa0\x80\x81\xf4\x8f\xbf\xbf"), "'\\U000e0001\\U0010ffff'");
}

TEST(PythonText, StringsKeepPrintableCharacters) {
  // U+00A1, e acute, U+20AC, U+4E2D, U+FFFD, U+1F600, variation selector U+E0100
  const std::string text =
      "\xc2\xa1\xc3\xa9\xe2\x82\xac\xe4\xb8\xad\xef\xbf\xbd\xf0\x9f\x98\x80\xf3\xa0\x84\x80";
  EXPECT_EQ(reprString(text), "'" + text + "'");
}

TEST(PythonText, StringsEscapeBytesThatAreNotUtf8) {
  EXPECT_EQ(reprString("a\xff"
                       "b"),
            "'a\\udcffb'");
  EXPECT_EQ(reprString("\xc3"), "'\\udcc3'");                        // cut short
  EXPECT_EQ(reprString("\xc0\xaf"), "'\\udcc0\\udcaf'");             // overlong
  EXPECT_EQ(reprString("\xed\xa0\x80"), "'\\udced\\udca0\\udc80'");  // surrogate
  EXPECT_EQ(reprString("\xf4\x90\x80\x80"), "'\\udcf4\\udc90\\udc80\\udc80'");
}

TEST(PythonText, AppendsToWhatIsThere) {
  std::string out = "x=";
  appendRepr(out, 0.5);
  out += ' ';
  appendRepr(out, int64_t{3});
  out += ' ';
  appendReprString(out, "s");
  EXPECT_EQ(out, "x=0.5 3 's'");
}

TEST(PythonText, IgnoresTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  EXPECT_EQ(repr(1234567.5), "1234567.5");
  EXPECT_EQ(reprComplex(0.5, 0.25), "(0.5+0.25j)");
  std::setlocale(LC_ALL, before.c_str());
}

}  // namespace
}  // namespace edgefx

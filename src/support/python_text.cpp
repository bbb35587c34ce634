#include <edgefx/support/python_text.h>

#include "support/float_repr.h"
#include "support/utf8.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>

namespace edgefx {
namespace detail {
namespace {

// repr switches to exponent form below and from these decimal exponents.
constexpr int kMinFixedExponent = -4;
constexpr int kMaxFixedExponent = 16;

// Whole numbers below this are exact as int64 and print all their digits.
constexpr double kPlainIntegerEnd = 1e15;

char* writeText(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

char* writeZeros(char* out, int count) {
  std::memset(out, '0', static_cast<size_t>(count));
  return out + count;
}

}  // namespace

char* writeFloatRepr(char* out, double value, bool addPointZero) {
  if (std::isnan(value)) return writeText(out, "nan");
  if (std::signbit(value)) {
    *out++ = '-';
    value = -value;
  }
  if (std::isinf(value)) return writeText(out, "inf");
  if (value < kPlainIntegerEnd && value == static_cast<double>(static_cast<int64_t>(value))) {
    out = std::to_chars(out, out + kFloatReprBytes - 1, static_cast<int64_t>(value)).ptr;
    return addPointZero ? writeText(out, ".0") : out;
  }

  // "d.ddde±XX" or "de±XX"
  char scientific[kFloatReprBytes];
  const char* const end =
      std::to_chars(scientific, scientific + sizeof scientific, value, std::chars_format::scientific).ptr;
  const char* const mark = std::find(static_cast<const char*>(scientific), end, 'e');
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);
  if (exponent < kMinFixedExponent || exponent >= kMaxFixedExponent) {
    return writeText(out, std::string_view(scientific, static_cast<size_t>(end - scientific)));
  }

  char digits[kFloatReprBytes];
  digits[0] = scientific[0];
  int count = 1;
  for (const char* p = scientific + 2; p < mark; ++p) digits[count++] = *p;
  const auto part = [&digits](int from, int to) {
    return std::string_view(digits + from, static_cast<size_t>(to - from));
  };
  if (exponent < 0) {
    out = writeText(out, "0.");
    out = writeZeros(out, -exponent - 1);
    return writeText(out, part(0, count));
  }
  const int whole = exponent + 1;
  if (count <= whole) {
    out = writeText(out, part(0, count));
    out = writeZeros(out, whole - count);
    return addPointZero ? writeText(out, ".0") : out;
  }
  out = writeText(out, part(0, whole));
  *out++ = '.';
  return writeText(out, part(whole, count));
}

namespace {

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// Characters that str.isprintable() refuses in every version of Unicode: control, format, separators other
// than the space, surrogates, private use, noncharacters and the planes that hold nothing. Sorted. Characters
// that are merely not assigned yet count as printable.
constexpr CodePointRange kUnprintable[] = {
    {0x00, 0x1F},       {0x7F, 0xA0},       {0xAD, 0xAD},       {0x600, 0x605},      {0x61C, 0x61C},
    {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},      {0x1680, 0x1680},
    {0x180E, 0x180E},   {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},    {0x3000, 0x3000},
    {0xD800, 0xF8FF},   {0xFDD0, 0xFDEF},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},    {0xFFFE, 0xFFFF},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},  {0x1D173, 0x1D17A},
    {0x1FFFE, 0x1FFFF}, {0x2FFFE, 0x2FFFF}, {0x3FFFE, 0xE00FF}, {0xE01F0, 0x10FFFF},
};

bool isPrintable(uint32_t codePoint) {
  const auto* range = std::lower_bound(std::begin(kUnprintable), std::end(kUnprintable), codePoint,
                                       [](const CodePointRange& r, uint32_t c) { return r.last < c; });
  return range == std::end(kUnprintable) || codePoint < range->first;
}

void appendEscape(std::string& out, uint32_t codePoint) {
  char escape[10] = {'\\'};
  char* end = escape + 1;
  if (codePoint <= 0xFF) {
    *end++ = 'x';
    end = writeHex(end, codePoint, 2);
  } else if (codePoint <= 0xFFFF) {
    *end++ = 'u';
    end = writeHex(end, codePoint, 4);
  } else {
    *end++ = 'U';
    end = writeHex(end, codePoint, 8);
  }
  out.append(escape, end);
}

}  // namespace
}  // namespace detail

void appendRepr(std::string& out, double value) {
  char text[detail::kFloatReprBytes];
  out.append(text, detail::writeFloatRepr(text, value));
}

void appendRepr(std::string& out, int64_t value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void appendComplexRepr(std::string& out, double real, double imaginary) {
  char text[2 * detail::kFloatReprBytes + 4];
  char* end = text;
  const bool isPureImaginary = real == 0.0 && !std::signbit(real);
  if (!isPureImaginary) {
    *end++ = '(';
    end = detail::writeFloatRepr(end, real, false);
    if (std::isnan(imaginary) || !std::signbit(imaginary)) *end++ = '+';
  }
  end = detail::writeFloatRepr(end, imaginary, false);
  *end++ = 'j';
  if (!isPureImaginary) *end++ = ')';
  out.append(text, end);
}

void appendReprString(std::string& out, std::string_view text) {
  const bool useDouble =
      text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = useDouble ? '"' : '\'';
  out.push_back(quote);
  size_t at = 0;
  while (at < text.size()) {
    size_t runEnd = at;
    while (runEnd < text.size()) {
      const auto c = static_cast<unsigned char>(text[runEnd]);
      if (c < 0x20 || c > 0x7E || c == '\\' || c == static_cast<unsigned char>(quote)) break;
      ++runEnd;
    }
    out.append(text.substr(at, runEnd - at));
    at = runEnd;
    if (at == text.size()) break;

    const detail::DecodedCharacter c = detail::decodeUtf8(text.substr(at));
    if (c.length == 0) {
      detail::appendEscape(out, 0xDC00u | static_cast<unsigned char>(text[at]));
      ++at;
      continue;
    }
    if (c.codePoint == '\n') {
      out.append("\\n");
    } else if (c.codePoint == '\t') {
      out.append("\\t");
    } else if (c.codePoint == '\r') {
      out.append("\\r");
    } else if (c.codePoint == '\\' || c.codePoint == static_cast<unsigned char>(quote)) {
      out.push_back('\\');
      out.push_back(text[at]);
    } else if (detail::isPrintable(c.codePoint)) {
      out.append(text.substr(at, c.length));
    } else {
      detail::appendEscape(out, c.codePoint);
    }
    at += c.length;
  }
  out.push_back(quote);
}

}  // namespace edgefx

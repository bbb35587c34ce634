#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace edgefx {

// Append the text that Python's repr() gives. None depends on the locale.

// Shortest digits that read back the same double: "1.0", "0.1", "1e-05", "1e+16", "-0.0", "inf", "nan".
void appendRepr(std::string& out, double value);
void appendRepr(std::string& out, int64_t value);
inline void appendRepr(std::string& out, int value) {
  appendRepr(out, static_cast<int64_t>(value));
}
void appendRepr(std::string& out, bool value) = delete;  // neither a number nor text: write True or False

// "(1+2j)", "-1.5j", "(-0-1j)", "1e+16j".
void appendComplexRepr(std::string& out, double real, double imaginary);

// repr(str) of UTF-8 text, with its quotes: single ones unless the text holds a single and no double quote.
// Printable characters stay as they are; control, format, space (other than ' ') and private characters
// become \n, \xa0, \u200b, \U000e0001. A byte that is not UTF-8 becomes \udcXX, as Python's surrogateescape
// gives it.
void appendReprString(std::string& out, std::string_view text);

}  // namespace edgefx

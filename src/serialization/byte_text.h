#pragma once

#include <string>
#include <string_view>

namespace edgefx::detail {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool isUtf8(std::string_view text);

// `text` made fit for a message: bytes outside well-formed printable UTF-8 as \xNN, long text cut in the
// middle.
std::string printable(std::string_view text);

}  // namespace edgefx::detail

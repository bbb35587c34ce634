#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Bytes as text of the standard alphabet, padded with '='.
std::string base64Of(std::string_view bytes);

// The bytes that base64Of would write so; none for any other text.
std::optional<std::string> bytesOfBase64(std::string_view text);

}  // namespace edgefx::detail

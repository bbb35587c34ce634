#pragma once

#include <edgefx/ir/meta.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Elements of small tensors as numbers.
namespace edgefx::detail {

// Bytes of a contiguous tensor without offset; nothing if it is not that, or the number does not fit.
std::optional<uint64_t> elementBytes(const TensorMeta& meta);

// Appends "1.0, 2.0" for the bytes of whole elements. False, with `out` in some state, for dtypes that have
// no such form, and for elements that it does not give back bit by bit.
bool appendElementTexts(std::string& out, Dtype dtype, std::string_view bytes);

// Appends the bytes of the element with that text. False if it is none of the dtype.
bool appendElementOf(std::string& bytes, Dtype dtype, std::string_view text);

}  // namespace edgefx::detail

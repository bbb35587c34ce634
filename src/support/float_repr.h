#pragma once

#include <cstddef>

namespace edgefx::detail {

inline constexpr size_t kFloatReprBytes = 32;  // room that writeFloatRepr may use

// Writes Python's repr(float) and returns the end. A whole number ends in ".0" if `addPointZero` is set;
// complex numbers are printed without. The sign of a nan is not written.
char* writeFloatRepr(char* out, double value, bool addPointZero = true);

}  // namespace edgefx::detail

#pragma once

namespace edgefx::detail {

// Holds every product of two int64 numbers.
__extension__ using WideInt = __int128;

}  // namespace edgefx::detail

#pragma once

#include <edgefx/support/error.h>

#include <filesystem>

namespace edgefx::detail {

// Returns what `work` returns; an Error of it passes through with the file named.
template <typename Work>
auto namingFile(const std::filesystem::path& path, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    Diagnostic known;
    known.file = path.string();
    error.fillIn(known);
    throw;
  }
}

}  // namespace edgefx::detail

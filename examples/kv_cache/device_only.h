#pragma once

#include <filesystem>

namespace kv_cache {

// Gives a device all that it can run of a small model, in both ways that there are for control flow, and
// shows and checks what becomes of the model. Writes kv_cache_whole.pt2 and kv_cache_branches.pt2.
void lowerForDevice(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace kv_cache

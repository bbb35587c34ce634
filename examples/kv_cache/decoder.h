#pragma once

#include "common/measure.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kv_cache {

// Lowers a decoder in three ways: its conds into delegates and the rest to oneDNN, what is in their branches
// into delegates and the rest to oneDNN, and all to oneDNN. Runs each for as many steps as PyTorch saved.
// Writes MODEL.whole.pt2, MODEL.branches.pt2 and MODEL.onednn.pt2.
std::vector<examples::Row> lowerDecoder(const std::filesystem::path& file, const std::string& expected,
                                        const std::filesystem::path& folder);

}  // namespace kv_cache

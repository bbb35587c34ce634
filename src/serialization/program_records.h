#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Which of a program's tables a payload config is of.
enum class PayloadTable : uint8_t { Weights, Constants };

// What holds a delegate, numbered over the whole archive. No model's own records are below it.
inline constexpr std::string_view kLoweredFolder = "data/edgefx_lowered/";

// Delegates inside the programs of delegates; more could not be taken apart without a deep stack.
inline constexpr size_t kDeepestDelegate = 32;

// Names of the records, without the root folder, that make one program.
struct ProgramRecords {
  std::string json;
  std::string weights;  // payload configs
  std::string constants;
  std::string inputs;
  std::string edge;  // of edgefx's own: what the model's JSON has no place for
  // Paths in the payload configs begin below "data/" and not below the table's folder.
  bool hasLongPaths = false;
};

inline ProgramRecords recordsOfModel(std::string_view name) {
  return {fmt::format("models/{}.json", name),
          fmt::format("data/weights/{}_weights_config.json", name),
          fmt::format("data/constants/{}_constants_config.json", name),
          fmt::format("data/sample_inputs/{}.pt", name),
          fmt::format("data/edgefx/{}.json", name),
          false};
}

inline std::string loweredRecord(size_t number, std::string_view name) {
  return fmt::format("{}{}/{}", kLoweredFolder, number, name);
}

inline ProgramRecords recordsOfLowered(size_t number) {
  return {loweredRecord(number, "program.json"),
          loweredRecord(number, "weights_config.json"),
          loweredRecord(number, "constants_config.json"),
          loweredRecord(number, "sample_inputs.pt"),
          loweredRecord(number, "edge.json"),
          true};
}

}  // namespace edgefx::detail

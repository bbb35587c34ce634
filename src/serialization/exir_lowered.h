#pragma once

#include <edgefx/program/lowered_module.h>

#include "serialization/load_caches.h"
#include "serialization/read_weights.h"
#include "serialization/upgrade_json.h"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace edgefx::detail {

// A delegate as ExecuTorch's programs hold it in place of an argument: JSON text of a LoweredBackendModule,
//
//   {"backend_id": ..., "processed_bytes": BASE64, "compile_specs": [{"key": ..., "value": BASE64}, ...],
//    "original_module": {an ExportedProgram}, "original_state_dict": BASE64, "original_constants": BASE64,
//    "named_data_store": TEXT}
//
// where the tables are what torch.save writes, and the last, absent if there are no named data, is JSON text
//
//   {"buffers": [BASE64, ...],
//    "pte_data": {KEY: {"buffer_index": 0, "alignment": 16}, ...},
//    "external_data": {TAG: {KEY: {...}, ...}, ...}}
//
// `nesting` is the number of delegates around it, itself included. Throws UnsupportedError if there are more
// than kDeepestExirDelegate, since the text of each grows by what it takes to quote it.
std::string exirLowered(const LoweredModule& module, size_t nesting);

inline constexpr size_t kDeepestExirDelegate = 8;

// Reads the delegates of a program of ExecuTorch's form and puts them into place.
class ExirDelegateReader {
 public:
  // `verify` is called for each delegate's program.
  ExirDelegateReader(LoadCaches& caches, WeightReader& weights,
                     std::function<void(const ExportedProgram&)> verify)
      : caches_(caches), weights_(weights), verify_(std::move(verify)) {}

  // `record` names the program in errors. Throws ParseError.
  void place(ExportedProgram& program, const std::vector<ExirDelegate>& delegates, std::string_view record);

 private:
  LoweredModuleRef read(std::string_view text, std::string_view record);
  ExportedProgram readProgram(const std::string& json, TensorTable stateDict, std::string_view record);

  LoadCaches& caches_;
  WeightReader& weights_;
  std::function<void(const ExportedProgram&)> verify_;
  size_t nesting_ = 0;
};

}  // namespace edgefx::detail

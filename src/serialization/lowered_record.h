#pragma once

#include <edgefx/program/lowered_module.h>

#include "serialization/json_reader.h"
#include "support/json_writer.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace edgefx::detail {

// The records that make a delegate of number K, below data/edgefx_lowered/K/: its payload, stored and aligned
// as weights are; its named data, one record each; those of its program (see program_records.h); and
// module.json:
//
//   {"backend_id": "xnn",
//    "compile_specs": [{"key": "k", "value": "<base64>"}, ...],
//    "debug_handle_map": [[7, [1, 2]], ["name", [3]], ...],
//    "named_data": [{"key": "k", "record": "0/data_0", "alignment": 16, "external_tag": ""}, ...]}
//
// `record` is below data/edgefx_lowered/.

// Writes the records of delegates but those of their programs.
class LoweredWriter {
 public:
  using Add = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;
  explicit LoweredWriter(Add add) : add_(std::move(add)) {}

  void write(const LoweredModule& module, size_t number);

 private:
  Add add_;
  std::map<std::pair<const std::byte*, size_t>, std::string> data_;  // looked up only, never iterated
};

// Writes the member "compile_specs" of the object at hand: a list of objects, values in base64.
void writeCompileSpecs(JsonWriter& json, const std::vector<CompileSpec>& specs);

// Reads module.json into all but payload and program. `bytesOf` gives the bytes of a record by its name,
// without the root folder; it throws if there is none. Throws ParseError.
void readLoweredRecord(JsonValue json, std::string_view record, LoweredModule& into,
                       const std::function<SharedBytes(const std::string& name)>& bytesOf);

}  // namespace edgefx::detail

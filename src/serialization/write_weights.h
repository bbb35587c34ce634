#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace edgefx::detail {

// Which of a program's tables a payload config is of.
enum class PayloadTable : uint8_t { Weights, Constants };

// Takes a record of the archive; the bytes are valid as long as the program lives.
using AddRecord = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;

// Names and writes the records that hold the tensors of one archive's programs; blob numbers run on from
// program to program.
class PayloadWriter {
 public:
  explicit PayloadWriter(AddRecord add) : add_(std::move(add)) {}

  // Hands over each storage once, whole and as it lies in memory, and returns the payload config, which says
  // where each tensor is. Throws UnsupportedError, naming the entry, for what a table cannot hold.
  std::string write(const ExportedProgram& program, PayloadTable table);

 private:
  std::string nextName(std::string_view folder, const std::string& prefix);

  AddRecord add_;
  std::map<std::string, uint64_t, std::less<>> next_;  // by prefix
};

}  // namespace edgefx::detail

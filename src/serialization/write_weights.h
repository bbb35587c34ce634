#pragma once

#include <edgefx/program/exported_program.h>
#include <edgefx/program/tensor_table.h>

#include "serialization/program_records.h"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace edgefx::detail {

// Takes a record of the archive; the bytes are valid as long as the program lives.
using AddRecord = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;

// Names and writes the records that hold the tensors of one archive's programs; blob numbers run on from
// program to program.
class PayloadWriter {
 public:
  explicit PayloadWriter(AddRecord add) : add_(std::move(add)) {}

  // Takes note of a program's storages. Call it for all programs first.
  void survey(const ExportedProgram& program);

  // Hands over each storage once, whole and as it lies in memory, and returns the payload config, which says
  // where each tensor is: below the table's folder, or with `hasLongPaths` below "data/", so that a program
  // can share records of either folder. Throws UnsupportedError, naming the entry, for what a table cannot
  // hold.
  std::string write(const ExportedProgram& program, PayloadTable table, bool hasLongPaths = false);

 private:
  // Tensors over one storage, of one dtype: readers give the bytes of a record one dtype.
  struct Group {
    const std::byte* address;
    Dtype dtype;
    bool operator==(const Group&) const = default;
  };
  struct GroupHash {
    size_t operator()(const Group& group) const {
      return std::hash<const void*>()(group.address) * 31 + static_cast<size_t>(group.dtype);
    }
  };
  struct Blob {
    std::span<const std::byte> bytes;  // the longest of the storages that begin at the address
    std::string record[2];             // by PayloadTable; empty if it is not written there
  };

  std::string nextName(std::string_view folder, const std::string& prefix);
  std::string writeOpaque(const StoredTensor& stored, PayloadTable table);
  const std::string& writeBlob(const Group& group, PayloadTable table, bool hasLongPaths);

  AddRecord add_;
  std::map<std::string, uint64_t, std::less<>> next_;  // by prefix
  std::unordered_map<Group, Blob, GroupHash> blobs_;   // looked up only, never iterated
};

}  // namespace edgefx::detail

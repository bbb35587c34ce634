#include "serialization/write_weights.h"

#include "serialization/write_values.h"
#include "support/fail.h"
#include "support/json_writer.h"
#include "support/strided_extent.h"

#include <map>
#include <vector>

namespace edgefx::detail {
namespace {

constexpr std::string_view kFolders[] = {"data/weights/", "data/constants/"};
constexpr std::string_view kTensorPrefixes[] = {"weight_", "tensor_"};

size_t indexOf(PayloadTable table) {
  return table == PayloadTable::Weights ? 0 : 1;
}

bool isObjectPrefix(std::string_view prefix) {
  return prefix == "custom_obj_" || prefix == "opaque_obj_";
}

std::vector<int64_t> plainNumbers(const std::vector<SymInt>& shape) {
  std::vector<int64_t> values;
  for (const SymInt& value : shape) {
    if (value.isSymbolic())
      fail<UnsupportedError>("a stored tensor has the symbolic size '{}'", value.text());
    values.push_back(value.value());
  }
  return values;
}

void checkExtent(const StoredTensor& stored) {
  const TensorMeta& meta = *stored.meta();
  if (meta.storageOffset.isSymbolic()) fail<UnsupportedError>("a stored tensor has a symbolic offset");
  // Tensors of the meta device are shapes without memory.
  if (meta.device.type == "meta" && stored.storage().empty()) return;
  uint64_t needed = storageBytesNeeded(plainNumbers(meta.sizes), plainNumbers(meta.strides),
                                       meta.storageOffset.value(), elementSize(meta.dtype));
  if (needed > stored.storage().size()) {
    fail<UsageError>("the recorded shape needs {} bytes of storage, which has {}", needed,
                     stored.storage().size());
  }
}

// Runs `use`; errors that pass through are told the entry's name.
template <typename Use>
void naming(const TensorTable::Entry& entry, Use&& use) {
  try {
    use();
  } catch (Error& error) {
    error.addNote(fmt::format("in entry '{}'", entry.name));
    throw;
  }
}

}  // namespace

void PayloadWriter::survey(const ExportedProgram& program) {
  for (const TensorTable* tensors : {&program.stateDict(), &program.constants()}) {
    for (const TensorTable::Entry& entry : *tensors) {
      const StoredTensor& stored = entry.value;
      if (stored.isOpaque() || stored.meta() == nullptr || stored.storage().empty()) continue;
      Blob& blob = blobs_[{stored.storage().data(), stored.meta()->dtype}];
      // Storages that begin at one address are views of one memory: the longest holds them all.
      if (stored.storage().size() > blob.bytes.size()) blob.bytes = stored.storage();
    }
  }
}

std::string PayloadWriter::nextName(std::string_view folder, const std::string& prefix) {
  return fmt::format("{}{}{}", folder, prefix, next_[prefix]++);
}

std::string PayloadWriter::writeOpaque(const StoredTensor& stored, PayloadTable table) {
  const bool isObject = stored.meta() == nullptr;
  const bool isWeights = table == PayloadTable::Weights;
  if (isObject && (isWeights || !isObjectPrefix(stored.opaquePrefix()))) {
    fail<UnsupportedError>("a {} cannot hold an object of the kind '{}'",
                           isWeights ? "state dict" : "table of constants", stored.opaquePrefix());
  }
  // A tensor moved from the state dict to the constants is numbered among those.
  std::string name =
      nextName(kFolders[indexOf(table)],
               isObject ? stored.opaquePrefix() : std::string(kTensorPrefixes[indexOf(table)]));
  add_(name, stored.opaqueRecord().bytes());
  return name;
}

const std::string& PayloadWriter::writeBlob(const Group& group, PayloadTable table, bool hasLongPaths) {
  Blob& blob = blobs_.at(group);
  std::string& record = blob.record[indexOf(table)];
  const std::string& other = blob.record[1 - indexOf(table)];
  if (record.empty() && hasLongPaths && !other.empty()) return other;
  if (record.empty()) {
    record = nextName(kFolders[indexOf(table)], std::string(kTensorPrefixes[indexOf(table)]));
    add_(record, blob.bytes);
  }
  return record;
}

std::string PayloadWriter::write(const ExportedProgram& program, PayloadTable table, bool hasLongPaths) {
  const bool isWeights = table == PayloadTable::Weights;
  const TensorTable& tensors = isWeights ? program.stateDict() : program.constants();
  const std::string_view folder = hasLongPaths ? "data/" : kFolders[indexOf(table)];

  // Opaque entries first, then the storages in order of first use, as torch numbers them.
  std::vector<std::string> records;
  for (const TensorTable::Entry& entry : tensors) {
    std::string& record = records.emplace_back();
    if (entry.value.isOpaque()) naming(entry, [&] { record = writeOpaque(entry.value, table); });
  }
  std::map<Dtype, std::string> empty;  // tensors without memory share one record of each dtype
  size_t index = 0;
  for (const TensorTable::Entry& entry : tensors) {
    const StoredTensor& stored = entry.value;
    std::string& record = records[index++];
    if (stored.isOpaque()) continue;
    naming(entry, [&] {
      if (stored.meta() == nullptr) fail<UsageError>("the entry is empty");
      checkExtent(stored);
    });
    const std::span<const std::byte> bytes = stored.storage();
    if (!bytes.empty()) {
      record = writeBlob({bytes.data(), stored.meta()->dtype}, table, hasLongPaths);
      continue;
    }
    std::string& shared = empty[stored.meta()->dtype];
    if (shared.empty()) {
      shared = nextName(kFolders[indexOf(table)], std::string(kTensorPrefixes[indexOf(table)]));
      add_(shared, {});
    }
    record = shared;
  }

  JsonWriter json;
  json.beginObject();
  json.key("config");
  json.beginObject();
  index = 0;
  for (const TensorTable::Entry& entry : tensors) {
    const StoredTensor& stored = entry.value;
    const std::string_view record = records[index++];
    json.key(entry.name);
    json.beginObject();
    json.key("path_name");
    json.string(record.substr(folder.size()));
    json.key("is_param");
    json.boolean(stored.isParameter);
    json.key("use_pickle");
    json.boolean(stored.isOpaque());
    json.key("tensor_meta");
    if (stored.meta() != nullptr) {
      openTensorMeta(json, *stored.meta());
      json.endObject();
    } else {
      json.null();
    }
    if (!program.unknownMembers.empty()) {
      auto found = program.unknownMembers.find(
          fmt::format("{}[{}]", isWeights ? "weights_config" : "constants_config", entry.name));
      if (found != program.unknownMembers.end() && !found->second.empty()) json.raw(found->second);
    }
    json.endObject();
  }
  json.endObject();
  json.endObject();
  return json.take();
}

}  // namespace edgefx::detail
